// Archiving hides an item from lists and refuses requests to it. Its name stays taken, and nothing is lost.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Deployment } from "../../src/management/deployments/deployments.ts";
import type { DeploymentChange } from "../../src/management/deployments/history.ts";
import { createWorld, noon, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { publish, readAll, refused, refusedAs, taken } from "./management.ts";

const test = suite("archive");

type Archived = { id: string; changed: boolean; archivedAt: number | null };

const act = async (world: World, path: string, action: "archive" | "unarchive", body: object = {}) =>
  taken<Archived>(await world.manage("POST", `${path}/${action}`, body));
const list = async (world: World, noun: string, query = "") =>
  (await readAll<{ id: string }>(world, `/workspaces/${world.workspaceId}/${noun}${query}`)).map(({ id }) => id);
const makeDeployment = async (world: World, name: string): Promise<Deployment> => {
  const body = { name, promptId: world.promptId };
  return taken<Deployment>(await world.manage("POST", `/workspaces/${world.workspaceId}/deployments`, body), 201);
};
const actionsOf = async (world: World, id: string) =>
  (await readAll<DeploymentChange>(world, `/deployments/${id}/history`))
    .map(({ action, from, to, actor, note }) => [action, from, to, actor, note]);

test("an archived deployment is hidden, refused and unchanged until it is unarchived", async () => {
  const world = await createWorld();
  const { deployId, workspaceId, promptId } = world;
  const path = `/deployments/${deployId}`;
  world.now = noon + 5;
  const why = { actor: "Ada", note: "Unused" };
  const archived = await act(world, path, "archive", why);
  assert.equal([archived.changed, archived.archivedAt], [true, noon + 5]);
  const again = await act(world, path, "archive");
  assert.equal([again.changed, again.archivedAt], [false, noon + 5]);
  assert.equal(await list(world, "deployments"), []);
  assert.equal(await list(world, "deployments", "?archived=false"), []);
  assert.equal(await list(world, "deployments", "?archived=true"), [deployId]);
  for (const call of [deployId, "greeting@production"]) {
    assert.equal([(await world.read(call)).status, (await world.submit(undefined, call)).status], [404, 404]);
  }
  refusedAs(
    409,
    "deployment_archived",
    await publish(world, { deploy: "production" }),
    await publish(world, { deploy: "production", name: "greeting" }),
    await publish(world, { deploy: deployId }),
    await world.manage("POST", `${path}/promote`, { version: 1 }),
  );
  const twin = { name: "production", promptId };
  refusedAs(409, "deployment_name_taken", await world.manage("POST", `/workspaces/${workspaceId}/deployments`, twin));
  refused(
    await world.manage("POST", `${path}/promote`, { version: 1 }),
    409,
    "Deployment greeting@production is archived. Unarchive it first",
  );
  const back = await act(world, path, "unarchive");
  assert.equal([back.changed, back.archivedAt], [true, null]);
  assert.is((await act(world, path, "unarchive")).changed, false);
  assert.is((await world.read()).status, 200);
  assert.equal(await list(world, "deployments"), [deployId]);
  assert.equal((await actionsOf(world, deployId)).slice(0, 2), [
    ["unarchived", true, false, "", ""],
    ["archived", false, true, "Ada", "Unused"],
  ]);
});

test("archiving a prompt archives its deployments, and unarchiving it restores them as they were", async () => {
  const world = await createWorld();
  const { deployId, promptId, workspaceId } = world;
  const own = await makeDeployment(world, "own");
  await act(world, `/deployments/${own.id}`, "archive");
  const path = `/prompts/${promptId}`;
  const archived = await act(world, path, "archive", { actor: "Ada" });
  assert.equal([archived.changed, archived.archivedAt], [true, noon]);
  assert.is((await act(world, path, "archive")).changed, false);
  assert.equal([await list(world, "prompts"), await list(world, "deployments")], [[], []]);
  assert.equal(await list(world, "prompts", "?archived=true"), [promptId]);
  assert.equal((await list(world, "deployments", "?archived=true")).sort(), [deployId, own.id].sort());
  assert.is((await world.read()).status, 404);
  refusedAs(
    409,
    "prompt_archived",
    await world.manage("POST", `${path}/versions`, { ...promptFile, title: "Two" }),
    await publish(world, { name: "greeting" }),
    await publish(world, { promptId }),
    await publish(world, { deploy: "new", promptId }),
    await world.manage("POST", `/workspaces/${workspaceId}/deployments`, { name: "new", promptId }),
  );
  refusedAs(409, "deployment_archived", await world.manage("POST", `/deployments/${deployId}/promote`, { version: 1 }));
  const made = await world.manage("POST", `/workspaces/${workspaceId}/prompts`, { ...promptFile, name: "greeting" });
  refusedAs(409, "prompt_name_taken", made);
  assert.is((await readAll(world, `${path}/versions`)).length, 1);
  // Unarchiving a deployment of an archived prompt leaves it archived.
  assert.is((await act(world, `/deployments/${own.id}`, "unarchive")).archivedAt, noon);
  await act(world, `/deployments/${own.id}`, "archive");
  const back = await act(world, path, "unarchive");
  assert.equal([back.changed, back.archivedAt], [true, null]);
  assert.is((await world.read()).status, 200);
  assert.is((await world.read(own.id)).status, 404);
  assert.equal(await list(world, "deployments"), [deployId]);
  assert.equal((await actionsOf(world, deployId)).map(([action]) => action), ["unarchived", "archived", "created"]);
  assert.equal((await actionsOf(world, own.id)).map(([action]) => action), [
    "archived",
    "unarchived",
    "archived",
    "created",
  ]);
});

test("an archived deployment cannot be promoted from", async () => {
  const world = await createWorld();
  const staging = await makeDeployment(world, "staging");
  await act(world, `/deployments/${staging.id}`, "archive");
  refusedAs(
    409,
    "deployment_archived",
    await world.manage("POST", `/deployments/${world.deployId}/promote`, { from: "staging" }),
  );
});

test("archiving requires the current ETag in If-Match", async () => {
  const world = await createWorld();
  const path = `/deployments/${world.deployId}`;
  assert.is((await world.manage("POST", `${path}/archive`, {}, { "If-Match": '"2"' })).status, 412);
  assert.is((await world.manage("POST", `${path}/archive`, {}, { "If-Match": '"1"' })).headers.get("ETag"), '"2"');
});

test.run();
