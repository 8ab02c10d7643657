// Names of prompts and deployments: their rules, their uniqueness, and their use in place of ids.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Deployment } from "../../src/management/deployments/deployments.ts";
import type { Prompt } from "../../src/management/prompts/prompts.ts";
import * as v from "../../src/management/kernel/values.ts";
import { createTenant, createWorld, goodBody, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { readAll, refused, refusedAs, taken } from "./management.ts";

const test = suite("names");

const inPath = encodeURIComponent;

const makePrompt = (world: World, body: object) =>
  world.manage("POST", `/workspaces/${world.workspaceId}/prompts`, { ...promptFile, ...body });
const makeDeployment = (world: World, body: object) =>
  world.manage("POST", `/workspaces/${world.workspaceId}/deployments`, { promptId: world.promptId, ...body });

const segments = ["a", "0", "_", "-", "a.b", ".a", "..a", "...", "a..", "x".repeat(99)];
const noSegments = ["", ".", "..", "A", "ä", "a b", "a@b", "a\n", "a%2fb"];

test("a name has lower-case letters, digits, ., _ and -, for a prompt in segments, none of which is . or ..", () => {
  for (const segment of segments) {
    assert.ok(v.deploymentName.is(segment), segment);
    for (const name of [segment, `${segment}/a`, `a/${segment}/a`]) assert.ok(v.promptName.is(name), name);
    assert.not.ok(v.deploymentName.is(`${segment}/a`), segment);
  }
  for (const segment of noSegments) {
    assert.not.ok(v.deploymentName.is(segment), segment);
    for (const name of [segment, `${segment}/a`, `a/${segment}`]) assert.not.ok(v.promptName.is(name), name);
  }
  assert.equal([v.promptName.is("x".repeat(200)), v.promptName.is("x".repeat(201))], [true, false]);
  assert.equal([v.deploymentName.is("x".repeat(99)), v.deploymentName.is("x".repeat(100))], [true, false]);
});

test("an invalid name is a 400 that says what a name must be", async () => {
  const world = await createWorld();
  const prompt =
    "lower-case letters, digits, ., _ and - in segments separated by /, none of them . or .., at most 200 characters";
  const deployment = "lower-case letters, digits, ., _ and -, but not . or .., at most 99 characters";
  refused(await makePrompt(world, { name: "Support" }), 400, `Field name must be ${prompt}`);
  refused(await makeDeployment(world, { name: "a/b" }), 400, `Field name must be ${deployment}`);
  const body = { ...promptFile, deploy: "A b" };
  const answer = await world.manage("POST", `/workspaces/${world.workspaceId}/publish`, body);
  refused(answer, 400, `Field deploy must be ${deployment}`);
});

test("a prompt without a name is named after its title, with a number if that is taken", async () => {
  const world = await createWorld();
  const named = async (title: string) => taken<Prompt>(await makePrompt(world, { title }), 201).name;
  assert.equal(
    [await named("Greeting"), await named("Greeting"), await named("Say: “Hi”!"), await named("你好")],
    ["greeting-2", "greeting-3", "say-hi", "prompt"],
  );
});

test("a prompt's name is unique in its workspace, and a deployment's in its prompt, even for concurrent requests", async () => {
  const world = await createWorld();
  const prompts = await Promise.all([1, 2, 3].map(() => makePrompt(world, { name: "a/b" })));
  assert.equal(prompts.map(({ status }) => status).sort(), [201, 409, 409]);
  refusedAs(409, "prompt_name_taken", await makePrompt(world, { name: "a/b" }));
  const deployments = await Promise.all([1, 2, 3].map(() => makeDeployment(world, { name: "a" })));
  assert.equal(deployments.map(({ status }) => status).sort(), [201, 409, 409]);
  refusedAs(409, "deployment_name_taken", await makeDeployment(world, { name: "a" }));
  const rename = `/deployments/${world.deployId}/rename`;
  refusedAs(409, "deployment_name_taken", await world.manage("POST", rename, { name: "a" }));
  refusedAs(409, "prompt_name_taken", await world.manage("POST", `/prompts/${world.promptId}/rename`, { name: "a/b" }));
  const other = { ...world, ...await createTenant(world.admin) };
  assert.is((await makePrompt(other, { name: "a/b" })).status, 201);
  assert.is((await makeDeployment(other, { name: "a" })).status, 201);
});

test("the name of a prompt and the reference of a deployment work in place of their ids", async () => {
  const world = await createWorld();
  const { workspaceId, promptId, deployId } = world;
  const prompt = "support/assistant", deployment = `${prompt}@production`;
  taken(await world.manage("POST", `/prompts/${promptId}/rename`, { name: prompt }));
  await world.submit(goodBody);
  const paths = (prompt: string, deployment: string) => [
    `/prompts/${prompt}`,
    `/prompts/${prompt}/versions`,
    `/prompts/${prompt}/versions/1`,
    `/prompts/${prompt}/diff?from=1`,
    `/deployments/${deployment}`,
    `/deployments/${deployment}/history`,
    `/deployments/${deployment}/diagnoses`,
    `/deployments/${deployment}/diagnoses/export`,
    `/deployments/${deployment}/stats`,
  ];
  const byName = paths(inPath(prompt), inPath(deployment));
  for (const [index, path] of paths(promptId, deployId).entries()) {
    const { status, text } = await world.manage("GET", path);
    const named = await world.manage("GET", byName[index]!);
    assert.equal([named.status, named.text], [status, text]);
    const scoped = `${byName[index]}${path.includes("?") ? "&" : "?"}workspaceId=`;
    assert.is((await world.manage("GET", `${scoped}${workspaceId}`)).text, text);
    refused(
      await world.manage("GET", `${scoped}ws_0`),
      404,
      path.startsWith("/prompts") ? `Prompt ${prompt} not found` : `Deployment ${deployment} not found`,
    );
  }
  const calls = await readAll<object>(world, `/workspaces/${workspaceId}/calls?deployId=${inPath(deployment)}`);
  assert.is(calls.length, 1);
  taken(await world.manage("POST", `/prompts/${inPath(prompt)}/versions`, { ...promptFile, title: "Two" }), 201);
  taken(await world.manage("POST", `/prompts/${inPath(prompt)}/render`, { values: { name: "Ada" }, workspaceId }));
  const second = taken<Deployment>(await makeDeployment(world, { name: "b", promptId: prompt }), 201);
  assert.equal([second.promptId, second.reference], [promptId, `${prompt}@b`]);
  for (const action of ["promote", "rollback", "deactivate", "activate", "archive", "unarchive"]) {
    const body = action === "promote" ? { version: 2 } : {};
    taken(await world.manage("POST", `/deployments/${inPath(deployment)}/${action}`, body));
  }
  const deleted = await world.manage("DELETE", `/deployments/${inPath(deployment)}/diagnoses?sessionId=session-1`);
  assert.equal(taken(deleted), { deleted: 1 });
});

test("a name that several workspaces have needs workspaceId, and an id must be in that workspace", async () => {
  const world = await createWorld();
  const other = await createTenant(world.admin);
  for (const path of ["/prompts/greeting", `/deployments/${inPath("greeting@production")}`]) {
    refusedAs(409, "ambiguous_reference", await world.manage("GET", path));
    for (const { workspaceId, promptId, deployId } of [world, other]) {
      const { id } = taken<{ id: string }>(await world.manage("GET", `${path}?workspaceId=${workspaceId}`));
      assert.ok([promptId, deployId].includes(id as never));
    }
  }
  const elsewhere = `workspaceId=${other.workspaceId}`;
  const { promptId, deployId } = world;
  refused(await world.manage("GET", `/prompts/${promptId}?${elsewhere}`), 404, `Prompt ${promptId} not found`);
  refused(await world.manage("GET", `/deployments/${deployId}?${elsewhere}`), 404, `Deployment ${deployId} not found`);
  // Within one workspace a name is not ambiguous.
  taken(await makeDeployment(world, { name: "b", promptId: "greeting" }), 201);
});

test("an id takes precedence over a name that equals it", async () => {
  const world = await createWorld();
  taken(await makePrompt(world, { name: world.promptId }), 201);
  assert.is(taken<Prompt>(await world.manage("GET", `/prompts/${world.promptId}`)).id, world.promptId);
  const scoped = await world.manage("GET", `/prompts/${world.promptId}?workspaceId=${world.workspaceId}`);
  assert.is(taken<Prompt>(scoped).id, world.promptId);
});

test("a rename returns the references that changed, and the old ones are no longer found", async () => {
  const world = await createWorld();
  const { promptId, deployId } = world;
  await makeDeployment(world, { name: "staging" });
  const prompt = await world.manage("POST", `/prompts/${promptId}/rename`, { name: "support/assistant" });
  const renamed = taken<Prompt & { references: object; changed: boolean }>(prompt);
  assert.equal([renamed.id, renamed.name, renamed.changed], [promptId, "support/assistant", true]);
  assert.equal(renamed.references, [
    { from: "greeting@production", to: "support/assistant@production" },
    { from: "greeting@staging", to: "support/assistant@staging" },
  ]);
  const deployment = await world.manage("POST", `/deployments/${deployId}/rename`, { name: "live" });
  const references = [{ from: "support/assistant@production", to: "support/assistant@live" }];
  assert.equal(taken(deployment).references, references);
  const again = await world.manage("POST", `/prompts/${promptId}/rename`, { name: "support/assistant" });
  assert.equal([taken(again).changed, taken(again).references], [false, []]);
  for (const old of ["greeting@production", "support/assistant@production"]) {
    refused(await world.manage("GET", `/deployments/${inPath(old)}`), 404, `Deployment ${old} not found`);
    assert.is((await world.read(inPath(old))).status, 404);
  }
  refused(await world.manage("GET", "/prompts/greeting"), 404, "Prompt greeting not found");
  assert.is((await world.read(inPath("support/assistant@live"))).status, 200);
  assert.is((await world.read(deployId)).status, 200);
});

test.run();
