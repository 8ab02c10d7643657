// A client and a real service while a rollout is in progress: what is served, recorded and kept.
import * as assert from "uvu/assert";
import type { Client } from "../../src/client/client.ts";
import { forAiSdk } from "../../src/client/ai-sdk/settings.ts";
import type { SnapshotStore } from "../../src/client/snapshot.ts";
import { stringify } from "../../src/common/json-text.ts";
import { bucketOf, isInRollout } from "../../src/common/rollout.ts";
import { setRollout, stopRollout } from "../../src/management/deployments/rollout-operations.ts";
import { readRolloutStats } from "../../src/management/records/rollout-stats.ts";
import { call, listDiagnoses, promoteDeployment, pushPrompt } from "../actions.ts";
import { verifyBalanced } from "../balanced.ts";
import { promptFile, toPrompt } from "../helpers.ts";
import { suite } from "../suite.ts";
import { createStage, reference, refused, up } from "./stage.ts";
import type { Stage } from "./stage.ts";

const test = suite("client rollouts");

const users = Array.from({ length: 40 }, (_, nth) => `user-${nth}`);

/** A stage whose prompt has a second version, which is not live. */
async function createCandidate(options: Parameters<typeof createStage>[0] = {}): Promise<Stage> {
  const stage = await createStage(options);
  const messages = [...promptFile.messages, { role: "user", content: "Shorter" }];
  await pushPrompt(stage.world.admin, stage.world.promptId, toPrompt({ ...promptFile, messages }));
  return stage;
}

const roll = ({ world }: Stage, percent: number) =>
  call(setRollout, world.admin, { id: world.deployId, version: 2, percent });

/** The versions that the users get. */
async function versionsOf(client: Client): Promise<number[]> {
  const prompts = await Promise.all(users.map((key) => client.prompt(reference, { key })));
  return prompts.map(({ version }) => version);
}

test("each step arrives within 15 s for one read, and nobody is moved back while the share is raised", async () => {
  const stage = await createCandidate();
  const got = [await versionsOf(stage.client)];
  // The first step comes between the first read and the first look.
  for (const percent of [10, 50, 90]) {
    await roll(stage, percent);
    await stage.pass(15_000);
    got.push(await versionsOf(stage.client));
  }
  assert.ok(got[0]!.every((version) => version === 1));
  for (const [nth, versions] of got.entries()) {
    if (nth > 0) assert.ok(versions.every((version, user) => version >= got[nth - 1]![user]!), `step ${nth}`);
  }
  assert.ok(got[2]!.includes(1) && got[2]!.includes(2));
  assert.is(stage.client.stats().reads, 4);
  await call(stopRollout, stage.world.admin, { id: stage.world.deployId });
  await stage.pass(15_000);
  assert.equal(await versionsOf(stage.client), got[0]);
});

test("the client and the service choose alike, and records count for the version that was used", async () => {
  const stage = await createCandidate();
  const { rollout } = await roll(stage, 50);
  const { world } = stage;
  const read = await world.send(`/v1/prompts?deployId=${world.deployId}`, {
    headers: { Authorization: `Bearer ${world.key}`, "Accept-Rollout": "1" },
  });
  const { salt } = (read.json as { rollout: { salt: string } }).rollout;
  const expected: unknown[][] = [];
  for (const key of users) {
    const prompt = await stage.client.prompt(reference, { sessionId: key });
    assert.is(prompt.version, isInRollout(await bucketOf(world.deployId, salt, key), 500) ? 2 : 1);
    assert.is(prompt.messages.length, promptFile.messages.length + prompt.version - 1);
    prompt.call().done({ status: 1, output: "Hello" });
    expected.push([key, prompt.version, rollout!.id]);
  }
  // A call that began before a promotion counts for what it used.
  await promoteDeployment(world.admin, world.deployId, { version: 2 });
  await stage.pass(2_000);
  const stored = await listDiagnoses(world.admin, { deployId: world.deployId });
  const shown = stored.map((record) => {
    const { sessionId, promptVersion, rollout: id } = JSON.parse(stringify(record));
    return [sessionId, promptVersion, id];
  });
  assert.equal(shown.sort(), expected.sort());
  await verifyBalanced(world.admin);
});

test("a snapshot that was kept during a rollout chooses as before", async () => {
  let text = "";
  const snapshot: SnapshotStore = { load: () => text, save: (saved) => void (text = saved) };
  const stage = await createCandidate({ snapshot });
  await roll(stage, 50);
  const before = await versionsOf(stage.client);
  await stage.clock.settle();
  stage.network = refused;
  const other = stage.connect({ snapshot, watch: false, retries: 0 });
  const first = await other.prompt(reference);
  assert.is(first.source, "snapshot");
  assert.equal(await versionsOf(other), before);
});

test("the AI SDK gets the session and the rollout of a prompt with its arguments", async () => {
  const stage = await createCandidate();
  const { rollout } = await roll(stage, 100);
  const prompt = await stage.client.prompt(reference, { sessionId: "order-4711" });
  const { version, rollout: id, sessionId } = forAiSdk(prompt, { name: "Ada" }).providerOptions.promptledger;
  assert.equal([version, id, sessionId], [2, rollout!.id, "order-4711"]);
});

test("a record whose answer was lost is stored once, for the version that was used, after its rollout has ended", async () => {
  const stage = await createCandidate();
  const { rollout } = await roll(stage, 100);
  const prompt = await stage.client.prompt(reference, { key: "ann" });
  stage.network = async (request, pass) => {
    await pass();
    return await refused(request, pass);
  };
  prompt.call().done({ status: 1, output: "Hello" });
  await stage.pass(1_100);
  const inCandidate = async () => {
    const { base, candidate } = await call(readRolloutStats, stage.world.admin, {
      id: stage.world.deployId,
      rollout: rollout!.id,
    });
    return [base.records, candidate.records];
  };
  assert.equal(await inCandidate(), [0, 1]);
  await call(stopRollout, stage.world.admin, { id: stage.world.deployId });
  await roll(stage, 0.1);
  stage.network = up;
  await stage.pass(60_000);
  assert.equal(await inCandidate(), [0, 1]);
  assert.is(stage.client.stats().sent, 1);
  assert.equal(stage.sent().filter((name) => name === "batch"), ["batch", "batch"]);
  await verifyBalanced(stage.world.admin);
});

test.run();
