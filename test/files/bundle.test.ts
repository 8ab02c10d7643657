// Bundles of prompts, as clients take them for their snapshot.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { jsonText } from "../../src/common/json-text.ts";
import { toBundle } from "../../src/files/bundle.ts";
import type { BundledPrompt } from "../../src/files/bundle.ts";
import { setDeploymentActive } from "../actions.ts";
import { createStage, reference, refused, up } from "../client/stage.ts";
import type { Stage } from "../client/stage.ts";

const test = suite("bundles");

const bundled = (text: string, of: Partial<BundledPrompt> = {}): BundledPrompt => ({
  reference,
  content: {
    title: "Greeting",
    description: "",
    messages: jsonText(JSON.stringify([{ role: "system", content: text }])),
    llmConfig: jsonText('{"temperature":1.0,"seed":12345678901234567890}'),
  },
  version: 0,
  id: "greeting",
  deployId: reference,
  workspace: { id: "", name: "Acme" },
  ...of,
});

/** A store that begins with a bundle. */
function storeOf(...prompts: BundledPrompt[]) {
  const store = {
    text: toBundle(prompts),
    load: () => store.text,
    save: (text: string) => void (store.text = text),
  };
  return store;
}

/** What a client has that starts while the service is away. */
async function readAway(stage: Stage, snapshot: ReturnType<typeof storeOf>, deployId = reference) {
  stage.network = refused;
  const client = stage.connect({ snapshot, watch: false, retries: 0 });
  const prompt = await client.prompt(deployId).catch(({ code }) => code as string);
  stage.network = up;
  return typeof prompt === "string" ? prompt : [prompt.source, prompt.version, prompt.messages[0]!.content];
}

test("serves a client by reference and by id that has never reached its service, whatever that and its key are", async () => {
  const stage = await createStage();
  const { deployId } = stage.world;
  const snapshot = storeOf(bundled("Hello {{name}}", { version: 7, deployId }));
  for (const name of [reference, deployId]) {
    assert.equal(await readAway(stage, snapshot, name), ["snapshot", 7, "Hello {{name}}"]);
  }
  assert.is(await readAway(stage, snapshot, "greeting@staging"), "unreachable");
  const other = stage.connect({
    snapshot,
    url: "https://other.test",
    apiKey: null,
    fetch: refused as never,
    retries: 0,
  });
  const prompt = await other.prompt(reference);
  assert.equal([prompt.deployId, prompt.title, prompt.llmConfig.temperature], [deployId, "Greeting", 1]);
  assert.equal(prompt.fill({ name: "Ada" }), [{ role: "system", content: "Hello Ada" }]);
});

test("keeps the configuration as it was written", () => {
  assert.match(toBundle([bundled("")]), '"llmConfig":{"temperature":1.0,"seed":12345678901234567890}');
});

test("what the service gives is newer, for later starts too", async () => {
  const stage = await createStage();
  const snapshot = storeOf(bundled("Bundled", { version: 9 }));
  const client = stage.connect({ snapshot });
  assert.is((await client.prompt(reference)).source, "server");
  await client.close();
  assert.equal(await readAway(stage, snapshot), ["snapshot", 1, "Greet {{name}}"]);
});

test("a prompt that the service has switched off does not come back from a bundle", async () => {
  const stage = await createStage();
  const snapshot = storeOf(bundled("Bundled"));
  await setDeploymentActive(stage.world.admin, stage.world.deployId, false);
  const client = stage.connect({ snapshot });
  client.on("error", () => {});
  assert.is(await client.prompt(reference).catch(({ code }) => code), "deployment_not_found");
  await client.close();
  assert.is(await readAway(stage, snapshot), "unreachable");
});

test("a bundle of more prompts than a snapshot has stays whole when the client saves", async () => {
  const stage = await createStage();
  const many = Array.from(
    { length: 1_500 },
    (_, nth) => bundled(`${nth}`, { reference: `p${nth}@a`, deployId: `${nth}` }),
  );
  const snapshot = storeOf(...many);
  const client = stage.connect({ snapshot });
  await client.prompt(reference);
  await client.close();
  for (const nth of [0, 1_499]) assert.equal(await readAway(stage, snapshot, `p${nth}@a`), ["snapshot", 0, `${nth}`]);
  assert.equal(await readAway(stage, snapshot), ["snapshot", 1, "Greet {{name}}"]);
});

test("records of a bundle from files name no version, and others name theirs", async () => {
  const stage = await createStage();
  await stage.promote();
  const submitted: unknown[] = [];
  for (const version of [0, 1]) {
    stage.network = refused;
    const client = stage.connect({
      snapshot: storeOf(bundled("Bundled", { version })),
      retries: 0,
      mask: (record) => (submitted.push(record.promptVersion), record),
    });
    const prompt = await client.prompt(reference);
    stage.network = up;
    prompt.call().done({ status: 1, output: "Hi" });
    assert.equal(await client.close(), { sent: 1, dropped: 0, failed: 0 });
  }
  assert.equal(submitted, [undefined, 1]);
  // Without a version, a record counts for the live one.
  const { json } = await stage.world.manage("GET", `/deployments/${stage.world.deployId}/diagnoses`);
  const { items } = json as { items: { promptVersion: number }[] };
  assert.equal(items.map(({ promptVersion }) => promptVersion).sort(), [1, 2]);
});

test.run();
