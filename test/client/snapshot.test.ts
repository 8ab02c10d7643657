// The copy of the last prompts with which a process starts while the service is away.
// Runs on every runtime.
import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import process from "node:process";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { ServedPrompt } from "../../src/schema/shapes.ts";
import type { SnapshotStore } from "../../src/client/snapshot.ts";
import { createFolder, until } from "../conformance/processes.ts";
import { currentRuntime } from "../runtimes.ts";
import { createApiKey } from "../actions.ts";
import { createStage, fallback, reference, refused, up } from "./stage.ts";
import type { Stage } from "./stage.ts";
import type { Client } from "../../src/client/client.ts";

const test = suite(`client snapshots on ${currentRuntime}`);

const folder = await createFolder();
test.after(() => folder.remove());

/** What a client gives that starts while the service is away. */
async function startAway(stage: Stage, snapshot: string | SnapshotStore, url?: string): Promise<[string, number]> {
  stage.network = refused;
  const client = stage.connect({ snapshot, watch: false, retries: 0, url });
  const { source, version } = await client.prompt(reference, { fallback });
  stage.network = up;
  return [source, version];
}

/** A store in memory, as several processes may share it. */
function createStore(): SnapshotStore & { text: string; saves: number } {
  const store = {
    text: "",
    saves: 0,
    load: () => store.text,
    save(text: string) {
      store.text = text;
      store.saves++;
    },
  };
  return store;
}

/** The prompts of a snapshot by what was asked for, without the service and the key that their names begin with. */
function promptsIn(text: string): Record<string, ServedPrompt | undefined> {
  const { entries } = JSON.parse(text) as { entries: Record<string, { prompt?: ServedPrompt }> };
  return Object.fromEntries(
    Object.entries(entries).map(([name, { prompt }]) => [name.slice(name.lastIndexOf(" ") + 1), prompt]),
  );
}

const versionIn = (text: string, deployId: string) => promptsIn(text)[deployId]?.deploy.currentVersion;

const year = 31_536_000_000;

const ask = async (client: Client) => await client.prompt(reference);

test("a file has the last prompts for a process that starts while the service is away", async () => {
  const path = `${folder.path}/prompts.json`;
  const stage = await createStage({ snapshot: path });
  await stage.ask();
  await stage.promote();
  await stage.pass(16_500);
  await stage.client.close();
  assert.equal(await startAway(stage, path), ["snapshot", 2]);
  assert.is(promptsIn(await readFile(path, "utf8"))[reference]!.messages[1]!.content, "Version 2");
  // Nobody else reads it, and nothing is left of how it was written.
  assert.is((await stat(path)).mode & 0o777, 0o600);
  assert.equal((await readdir(folder.path)).filter((name) => name.endsWith(".part")), []);
  assert.not.match(await readFile(path, "utf8"), /pl_/);
});

test("a snapshot is for when the service is away: a process that starts asks it first", async () => {
  const store = createStore();
  const stage = await createStage({ snapshot: store });
  await stage.ask();
  await stage.promote();
  const { source, version } = await ask(stage.connect({ snapshot: store }));
  assert.equal([source, version], ["server", 2]);
});

test("a prompt out of a snapshot is exchanged for that of the service once that is back", async () => {
  const store = createStore();
  const first = await createStage({ snapshot: store });
  await ask(first.client);
  await until(() => store.saves > 0);
  await first.promote();
  first.network = refused;
  const client = first.connect({ snapshot: store, retries: 0 });
  assert.is((await ask(client)).source, "snapshot");
  first.network = up;
  await first.pass(16_500);
  const { source, version } = await ask(client);
  assert.equal([source, version], ["cache", 2]);
});

test("records of a prompt out of a snapshot name its version", async () => {
  const store = createStore();
  const stage = await createStage({ snapshot: store });
  await stage.ask();
  await until(() => store.saves > 0);
  await stage.promote();
  stage.network = refused;
  const client = stage.connect({ snapshot: store, retries: 0 });
  const prompt = await ask(client);
  assert.equal([prompt.source, prompt.version, prompt.deployId], ["snapshot", 1, stage.world.deployId]);
});

test("processes that share a snapshot keep what is newer of each other, and what each has alone", async () => {
  const store = createStore();
  const stage = await createStage({ snapshot: store });
  const other = stage.connect({ snapshot: store });
  await ask(other);
  await stage.promote();
  await stage.client.prompt(stage.world.deployId);
  await stage.pass(16_500);
  await other.prompt(reference);
  await other.close();
  await stage.client.close();
  assert.equal([versionIn(store.text, reference), versionIn(store.text, stage.world.deployId)], [2, 2]);
});

test("it is saved after each change, and not otherwise", async () => {
  const store = createStore();
  const stage = await createStage({ snapshot: store });
  await Promise.all(Array.from({ length: 10 }, () => ask(stage.client)));
  await stage.pass(300_000);
  assert.is(store.saves, 1);
  await stage.promote();
  await stage.pass(16_500);
  assert.is(store.saves, 2);
});

test("names that the service does not know leave no trace, and nothing is saved for them", async () => {
  const store = createStore();
  const stage = await createStage({ snapshot: store, watch: false });
  await stage.ask();
  await stage.pass(2_000);
  const { text, saves } = store;
  for (let number = 0; number < 50; number++) await stage.client.prompt(`greeting@${number}`, { fallback });
  await stage.pass(2_000);
  assert.equal([store.text, store.saves], [text, saves]);
});

test("it has 1,000 prompts, those that were read last", async () => {
  const store = createStore();
  const stage = await createStage({ snapshot: store });
  await stage.ask();
  await stage.clock.settle();
  const [[name, entry]] = Object.entries(JSON.parse(store.text).entries) as [[string, { at: number }]];
  const old = Array.from({ length: 1_200 }, (_, age) => [`${name}${age}`, { ...entry, at: entry.at - age }]);
  store.text = JSON.stringify({ entries: Object.fromEntries(old) });
  await ask(stage.connect({ snapshot: store }));
  await stage.clock.settle();
  const names = Object.keys(promptsIn(store.text));
  assert.is(names.length, 1_000);
  assert.ok(names.includes(reference) && names.includes(`${reference}0`) && !names.includes(`${reference}1100`));
});

test("what a clock ahead has kept is replaced, and pushes nothing out", async () => {
  const store = createStore();
  const stage = await createStage({ snapshot: store });
  stage.clock.now += year;
  await stage.ask();
  await stage.clock.settle();
  const [[name, entry]] = Object.entries(JSON.parse(store.text).entries) as [[string, { at: number }]];
  const ahead = Array.from({ length: 1_000 }, (_, nth) => [`${name}${nth}`, { ...entry, at: entry.at + nth }]);
  store.text = JSON.stringify({ entries: Object.fromEntries([[name, entry], ...ahead]) });
  await stage.pass(-year);
  await stage.promote();
  await ask(stage.connect({ snapshot: store }));
  await stage.clock.settle();
  assert.equal([versionIn(store.text, reference), Object.keys(promptsIn(store.text)).length], [2, 1_000]);
  // So does the process that was ahead itself.
  await stage.promote();
  await stage.pass(16_500);
  assert.is(versionIn(store.text, reference), 3);
  assert.equal(await startAway(stage, store), ["snapshot", 3]);
});

test("keys that share a snapshot are told apart", async () => {
  const store = createStore();
  const stage = await createStage({ snapshot: store });
  await stage.ask();
  const { key: apiKey } = await createApiKey(stage.world.admin, stage.world.workspaceId, {
    name: "b",
    expiresAt: null,
  });
  stage.network = refused;
  const other = stage.connect({ snapshot: store, apiKey, watch: false, retries: 0 });
  assert.is((await other.prompt(reference, { fallback })).source, "fallback");
  stage.network = up;
  await stage.promote();
  await stage.pass(61_000);
  assert.equal((await ask(other)).version, 2);
  assert.equal(await startAway(stage, store), ["snapshot", 2]);
  assert.not.match(store.text, apiKey.slice(0, 12));
});

test("of processes that save at the same moment each saves its prompts with the next change, or when it is closed", async () => {
  const store = createStore();
  const releases: (() => void)[] = [];
  // Both have loaded when the first one saves.
  const atOnce: SnapshotStore = {
    load: async () => {
      const { text } = store;
      if (releases.length < 2) await new Promise<void>((resolve) => void releases.push(resolve));
      return text;
    },
    save: store.save,
  };
  const stage = await createStage({ snapshot: atOnce });
  const other = stage.connect({ snapshot: atOnce });
  await stage.ask();
  await other.prompt(stage.world.deployId);
  await stage.clock.settle();
  releases.forEach((release) => release());
  await stage.clock.settle();
  assert.is(Object.keys(promptsIn(store.text)).length, 1);
  await stage.client.close();
  await other.close();
  assert.equal([versionIn(store.text, reference), versionIn(store.text, stage.world.deployId)], [1, 1]);
});

test("the snapshot of another service is not used", async () => {
  const store = createStore();
  const stage = await createStage({ snapshot: store, url: "https://ledger.example.com" });
  await stage.ask();
  await until(() => store.saves > 0);
  assert.equal(await startAway(stage, store, "https://staging.example.com"), ["fallback", 0]);
  assert.equal(await startAway(stage, store, "https://ledger.example.com"), ["snapshot", 1]);
});

for (
  const [name, text] of [
    ["an empty file", ""],
    ["half a file", '{"entries":{"'],
    ["JSON of something else", "[1,2]"],
    ["null", "null"],
    [
      "a prompt that is none",
      JSON.stringify({
        entries: { [reference]: { at: 1, prompt: {} }, [`http://promptledger.invalid  ${reference}`]: 1 },
      }),
    ],
  ]
) {
  test(`${name} is no snapshot, and is replaced by one`, async () => {
    const store = { ...createStore(), text };
    store.load = () => store.text;
    store.save = (text) => void (store.text = text!);
    const stage = await createStage({ snapshot: store });
    assert.equal(await startAway(stage, store), ["fallback", 0]);
    await stage.ask();
    await stage.clock.settle();
    assert.is(promptsIn(store.text!)[reference]!.title, "Greeting");
  });
}

test("a store that fails is told, and nothing else fails", async () => {
  const failing: SnapshotStore = {
    load: () => Promise.reject(new Error("no load")),
    save() {
      throw new Error("no save");
    },
  };
  const stage = await createStage({ snapshot: failing });
  assert.equal(await stage.ask(), ["server", 1]);
  await stage.clock.settle();
  assert.equal(
    stage.told().map((event) => event.event === "error" && [event.error.code, event.error.message]),
    [["snapshot_failed", "Error: no load"], ["snapshot_failed", "Error: no save"]],
  );
  assert.equal(await startAway(stage, failing), ["fallback", 0]);
});

test("close() tells that the snapshot could not be saved", async () => {
  let fail = () => {};
  const stage = await createStage({
    snapshot: { load: () => null, save: () => new Promise((_, reject) => fail = () => reject(new Error("no space"))) },
  });
  await stage.ask();
  await stage.clock.settle();
  const closed = stage.client.close();
  await stage.clock.settle();
  fail();
  await stage.pass(5_000);
  await closed;
  assert.equal(stage.told().map((event) => event.event === "error" && event.error.message), ["Error: no space"]);
});

test("a store that hangs is waited for no longer than the service", async () => {
  const stage = await createStage({ snapshot: { load: () => new Promise(() => {}), save: () => {} }, retries: 0 });
  stage.network = refused;
  const asked = stage.ask(true);
  await stage.pass(3_000);
  assert.equal(await asked, ["fallback", 0]);
  const closed = stage.client.close();
  await stage.pass(5_000);
  assert.equal(await closed, { sent: 0, dropped: 0, failed: 0 });
});

test("a file that cannot be written is told", async () => {
  const stage = await createStage({ snapshot: `${folder.path}/missing/prompts.json` });
  assert.equal(await stage.ask(), ["server", 1]);
  await until(() => stage.told().some((event) => event.event === "error" && event.error.code === "snapshot_failed"));
});

// Root may read and write everything.
if (process.getuid?.() !== 0) {
  test("a file that cannot be read is replaced", async () => {
    await mkdir(`${folder.path}/closed`);
    const path = `${folder.path}/closed/prompts.json`;
    await writeFile(path, "{}");
    await chmod(path, 0o000);
    const stage = await createStage({ snapshot: path });
    await stage.ask();
    await stage.client.close();
    assert.equal(await startAway(stage, path), ["snapshot", 1]);
  });
}

test.run();
