// Deployments: which version is live, how that changes, and what the history shows.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Deployment } from "../../src/management/deployments/deployments.ts";
import { findRollbackTargets } from "../../src/management/deployments/history.ts";
import type { DeploymentChange } from "../../src/management/deployments/history.ts";
import { promoteDeployment } from "../actions.ts";
import { createTenant, createWorld, noon, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { publish, readAll, refused, taken } from "./management.ts";

const test = suite("deployments");

type Result = Deployment & { changed: boolean };

const change = (world: World, action: string, body?: object, ifMatch?: string) =>
  world.manage(
    "POST",
    `/deployments/${world.deployId}/${action}`,
    body,
    ifMatch === undefined ? {} : { "If-Match": ifMatch },
  );

const show = (world: World) => world.manage("GET", `/deployments/${world.deployId}`);

const history = (world: World) => readAll<DeploymentChange>(world, `/deployments/${world.deployId}/history`);

const titles = ["Greeting", "Second", "Third"];

/** A world whose prompt has three versions. The first is live. */
async function createThree(): Promise<World> {
  const world = await createWorld({ monthlyLimit: 1e6 });
  for (const title of titles.slice(1)) {
    taken(await world.manage("POST", `/prompts/${world.promptId}/versions`, { ...promptFile, title }), 201);
  }
  return world;
}

/** The title and the name that are served. Undefined if nothing is served. */
async function served(world: World): Promise<[title: string, name: string] | undefined> {
  const { status, json } = await world.read(world.deployId);
  if (status === 404) return undefined;
  const { title, deploy } = json as { title: string; deploy: { name: string } };
  return [title, deploy.name];
}

test("a new deployment is active, has by default the newest version, and is served from the next request on", async () => {
  const world = await createThree();
  const make = async (body: object) =>
    taken<Deployment>(await world.manage("POST", `/workspaces/${world.workspaceId}/deployments`, body), 201);
  const { promptId, workspaceId } = world;
  const newest = await make({ name: "newest", promptId });
  const second = await make({ name: "second", promptId, version: 2, actor: "ann", note: "a second one" });
  const common = {
    workspaceId,
    promptId,
    isActive: true,
    rollout: null,
    isProtected: false,
    approvals: 0,
    revision: 1,
    createdAt: noon,
    archivedAt: null,
  };
  const named = (name: string) => ({ name, reference: `greeting@${name}` });
  assert.equal(newest, { id: newest.id, ...named("newest"), ...common, currentVersion: 3 });
  assert.equal(second, { id: second.id, ...named("second"), ...common, currentVersion: 2 });
  assert.is((await world.read(second.id)).status, 200);
  assert.equal(await history({ ...world, deployId: second.id }), [{
    revision: 1,
    action: "created",
    from: null,
    to: 2,
    source: "api",
    actor: "ann",
    note: "a second one",
    origin: null,
    createdAt: noon,
  }]);
});

test("a deployment needs a prompt and a version that exist", async () => {
  const world = await createWorld();
  const other = await createTenant(world.admin);
  const make = (body: object) =>
    world.manage("POST", `/workspaces/${world.workspaceId}/deployments`, { name: "x", ...body });
  refused(await make({}), 400, "Missing required field promptId");
  refused(await make({ promptId: "prompt_x" }), 404, "Prompt prompt_x not found");
  refused(await make({ promptId: other.promptId }), 404, `Prompt ${other.promptId} not found`);
  refused(await make({ promptId: world.promptId, version: 2 }), 404, `Version 2 of prompt ${world.promptId} not found`);
  refused(
    await make({ promptId: world.promptId, version: 0 }),
    400,
    "Field version must be an integer from 1 to 9007199254740991",
  );
  assert.is((await readAll(world, `/workspaces/${world.workspaceId}/deployments`)).length, 1);
});

const steps: [action: string, body: object, entry: object, served: [string, string] | undefined][] = [
  ["promote", { version: 3 }, { action: "promoted", from: 1, to: 3 }, ["Third", "production"]],
  ["promote", { version: 2 }, { action: "promoted", from: 3, to: 2 }, ["Second", "production"]],
  ["rollback", {}, { action: "rolled_back", from: 2, to: 3 }, ["Third", "production"]],
  ["deactivate", {}, { action: "deactivated", from: true, to: false }, undefined],
  ["rename", { name: "staging" }, { action: "renamed", from: "production", to: "staging" }, undefined],
  ["activate", {}, { action: "activated", from: false, to: true }, ["Third", "staging"]],
  ["rename", { name: "v2.0_a-b" }, { action: "renamed", from: "staging", to: "v2.0_a-b" }, ["Third", "v2.0_a-b"]],
  ["rollback", {}, { action: "rolled_back", from: 3, to: 1 }, ["Greeting", "v2.0_a-b"]],
];

test("every change is served from the next request on, and is in the history with actor, note, source and time", async () => {
  const world = await createThree();
  const entries: object[] = [
    {
      ...{ revision: 1, action: "created", from: null, to: 1, source: "command line", actor: "", note: "" },
      ...{ origin: null, createdAt: noon },
    },
  ];
  for (const [index, [action, body, entry, wanted]] of steps.entries()) {
    world.now = noon + index;
    await served(world);
    const why = { actor: `ann ${index}`, note: `because\nof ${index}` };
    const answer = await change(world, action, { ...body, ...why });
    const revision = index + 2;
    const { changed, references: _, ...deployment } = taken<Result & { references?: object }>(answer);
    assert.equal([changed, deployment.revision, answer.headers.get("ETag")], [true, revision, `"${revision}"`]);
    assert.equal(await served(world), wanted);
    const shown = await show(world);
    assert.equal([taken(shown), shown.headers.get("ETag")], [deployment, `"${revision}"`]);
    entries.unshift({ revision, ...entry, source: "api", ...why, origin: null, createdAt: world.now });
    assert.equal(await history(world), entries);
  }
  world.now++;
  await promoteDeployment(world.admin, world.deployId, { version: 2 });
  const [newest] = await history(world);
  assert.equal([newest!.source, newest!.to, newest!.actor, newest!.note], ["command line", 2, "", ""]);
});

for (
  const [action, body] of [["promote", { version: 1 }], ["activate", {}], ["rename", { name: "production" }]] as const
) {
  test(`a ${action} without effect changes nothing, and is not in the history`, async () => {
    const world = await createWorld();
    const before = [taken(await show(world)), await history(world)];
    for (const ifMatch of [undefined, '"1"', "*"]) {
      const answer = await change(world, action, { ...body, note: "again" }, ifMatch);
      assert.equal([taken<Result>(answer).changed, answer.headers.get("ETag")], [false, '"1"']);
    }
    refused(
      await change(world, action, body, '"2"'),
      412,
      `Deployment ${world.deployId} has changed: read it again and repeat`,
    );
    assert.equal([taken(await show(world)), await history(world)], before);
  });
}

test("deactivating twice changes nothing the second time", async () => {
  const world = await createWorld();
  assert.is(taken<Result>(await change(world, "deactivate")).changed, true);
  assert.is(taken<Result>(await change(world, "deactivate")).changed, false);
  assert.is((await history(world)).length, 2);
});

test("a version that the prompt does not have cannot be promoted, even if another prompt has it", async () => {
  const world = await createWorld();
  refused(await change(world, "promote", { version: 2 }), 404, `Version 2 of prompt ${world.promptId} not found`);
  refused(await change(world, "promote", {}), 400, "One of the fields version and from must be given");
  refused(await change(world, "promote"), 400, "One of the fields version and from must be given");
  assert.is((await history(world)).length, 1);
});

for (const [action, body] of steps.slice(0, 6)) {
  test(`${action} requires the current ETag in If-Match, or *, and refuses another one with 412: ${JSON.stringify(body)}`, async () => {
    const world = await createThree();
    // Gives each action something to change.
    for (const version of [2, 1]) await change(world, "promote", { version });
    if (action === "activate") await change(world, "deactivate");
    const current = (await show(world)).headers.get("ETag")!;
    const before = [taken(await show(world)), await history(world)];
    const error = `Deployment ${world.deployId} has changed: read it again and repeat`;
    for (const old of ['"1"', '"0"', '"999999999999999"']) refused(await change(world, action, body, old), 412, error);
    for (
      const malformed of [
        "",
        " ",
        "3",
        '"',
        `${current}, "9"`,
      ]
    ) {
      const answer = await change(world, action, body, malformed);
      refused(answer, 400, 'If-Match header must be an ETag such as "3"');
    }
    for (const another of [`W/${current}`, '"a"', '""', '"-1"', '"1.0"', '"03"', '"*"', '"0"', '"9999999999999999"']) {
      refused(await change(world, action, body, another), 412, error);
    }
    assert.equal([taken(await show(world)), await history(world)], before);
    const after = taken<Result>(await change(world, action, body, ` ${current} `));
    assert.is(after.changed, true);
    refused(await change(world, action, body, current), 412, error);
    taken(await change(world, "rename", { name: "any" }, "*"));
    assert.is((await history(world)).length, (before[1] as object[]).length + 2);
  });
}

test("of concurrent changes with the same ETag exactly one is made", async () => {
  const world = await createThree();
  const answers = await Promise.all([
    change(world, "promote", { version: 2 }, '"1"'),
    change(world, "promote", { version: 3 }, '"1"'),
    change(world, "rename", { name: "b" }, '"1"'),
    change(world, "deactivate", {}, '"1"'),
  ]);
  assert.equal(answers.map(({ status }) => status).sort(), [200, 412, 412, 412]);
  const entries = await history(world);
  assert.is(entries.length, 2);
  // Any of them may come first, and a rename also tells which references change.
  const accepted = answers.find(({ status }) => status === 200)!;
  const { changed, references: _, ...made } = taken<Result & { references?: unknown }>(accepted);
  assert.equal([changed, made], [true, taken(await show(world))]);
});

test("concurrent changes without an ETag are made one after the other", async () => {
  const world = await createThree();
  const names = ["a", "b", "c", "d"];
  const answers = await Promise.all(names.map((name) => change(world, "rename", { name })));
  assert.equal(answers.map((answer) => taken<Result>(answer).revision).sort(), [2, 3, 4, 5]);
  const entries = await history(world);
  for (const [index, { from }] of entries.slice(0, -1).entries()) {
    assert.is(from, index < 3 ? entries[index + 1]!.to : "production");
  }
});

test("of two concurrent rollbacks one goes back, and the other is refused as outdated or goes back one further", async () => {
  const world = await createThree();
  for (const version of [2, 3]) await change(world, "promote", { version });
  const statuses = (await Promise.all([change(world, "rollback"), change(world, "rollback")])).map(({ status }) =>
    status
  );
  const steps = statuses.filter((status) => status === 200).length;
  assert.ok(steps > 0 && statuses.every((status) => status === 200 || status === 412));
  assert.is(taken<Deployment>(await show(world)).currentVersion, 3 - steps);
});

test("a rollback needs an earlier version, but an outdated ETag is refused first", async () => {
  const world = await createThree();
  const error = "Deployment greeting@production has nothing before version 1 to go back to";
  refused(await change(world, "rollback"), 409, error);
  await change(world, "promote", { version: 2 });
  await change(world, "rollback");
  await change(world, "rename", { name: "b" });
  refused(
    await change(world, "rollback", {}, '"4"'),
    409,
    `${error.replace("production", "b")}. It has also served 2. To make one of them live, set version`,
  );
  refused(
    await change(world, "rollback", {}, '"3"'),
    412,
    `Deployment ${world.deployId} has changed: read it again and repeat`,
  );
  assert.is((await history(world)).length, 4);
});

test("rollbacks go back along a stack of promotions, whatever else changes in between", () => {
  const step = fc.constantFrom(1, 2, 3, "rollback", "rename");
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const history: Pick<DeploymentChange, "action" | "to">[] = [{ action: "created", to: 1 }];
      const stack = [1];
      for (const step of steps) {
        const to = step === "rollback" ? stack.at(-2) : step;
        if (typeof to === "string") history.push({ action: "renamed", to });
        if (typeof to !== "number" || to === stack.at(-1)) continue;
        history.push({ action: step === "rollback" ? "rolled_back" : "promoted", to });
        if (step === "rollback") stack.pop();
        else stack.push(to);
      }
      const { live, previous } = findRollbackTargets(history);
      assert.equal([live, previous], [stack.at(-1), stack.at(-2)]);
    }),
    { numRuns: 1000 },
  );
});

test("a rollback can go to any version that was live, and the next one continues from there", async () => {
  const world = await createThree();
  const rollBack = async (version?: number) =>
    taken<Deployment>(await change(world, "rollback", version === undefined ? {} : { version })).currentVersion;
  const refuses = async (version: number | undefined, reason: string) =>
    refused(await change(world, "rollback", { version }), 409, `Deployment greeting@production ${reason}`);
  await refuses(2, "has not served version 2. Promote it instead");
  for (const version of [2, 3]) await change(world, "promote", { version });
  assert.is(await rollBack(1), 1);
  await refuses(
    undefined,
    "has nothing before version 1 to go back to. It has also served 3, 2. To make one of them live, set version",
  );
  assert.is(await rollBack(2), 2);
  assert.is(await rollBack(), 1);
  assert.equal((await history(world)).map(({ action, to }) => `${action} ${to}`).reverse(), [
    "created 1",
    "promoted 2",
    "promoted 3",
    "rolled_back 1",
    "rolled_back 2",
    "rolled_back 1",
  ]);
  assert.is(taken<Result>(await change(world, "rollback", { version: 1 })).changed, false);
});

type Publication = { id: string; version: number; isNew: boolean; deployment: Result };

test("publishing first creates the prompt and the deployment, and then new versions that are live", async () => {
  const world = await createWorld();
  const why = { actor: "ann", note: "Begun" };
  const first = await publish(world, { deploy: "new", ...why });
  const made = taken<Publication>(first, 201);
  assert.equal([made.version, made.isNew, made.deployment.revision, made.deployment.changed], [1, true, 1, true]);
  assert.is(first.headers.get("Location"), `../../deployments/${made.deployment.id}`);
  const own = { ...world, deployId: made.deployment.id };
  assert.equal(await served(own), ["Greeting", "new"]);

  const again = await publish(world, { deploy: "new", ...why });
  const same = taken<Publication>(again);
  assert.equal([same.id, same.version, same.isNew, same.deployment.changed], [made.id, 1, false, false]);
  assert.is(again.headers.get("Location"), null);

  for (
    const [deploy, title, version] of [["new", "Second", 2], [own.deployId, "Third", 3], [
      "new",
      "Greeting",
      4,
    ]] as const
  ) {
    const next = taken<Publication>(await publish(world, { deploy, title, ...why }));
    assert.equal([next.id, next.version, next.deployment.currentVersion], [made.id, version, version]);
    assert.equal(await served(own), [title, "new"]);
  }
  const entries = await history(own);
  assert.equal(entries.map(({ action, from, to }) => [action, from, to]), [
    ["promoted", 3, 4],
    ["promoted", 2, 3],
    ["promoted", 1, 2],
    ["created", null, 1],
  ]);
  for (const { actor, note, source } of entries) assert.equal({ actor, note, source }, { ...why, source: "api" });
});

test("publishing a prompt under a new name deploys that prompt", async () => {
  const world = await createWorld();
  const { id, isNew, version, deployment } = taken<Publication>(
    await publish(world, { deploy: "new", promptId: world.promptId }),
    201,
  );
  assert.equal([id, isNew, version, deployment.promptId], [world.promptId, false, 1, world.promptId]);
});

test("publishing refuses ambiguous targets", async () => {
  const world = await createWorld();
  const { id: other } = taken(await world.manage("POST", `/workspaces/${world.workspaceId}/prompts`, promptFile), 201);
  const served = `Deployment greeting@production serves another prompt: ${world.promptId}`;
  refused(await publish(world, { deploy: world.deployId, promptId: other }), 409, served);
  refused(await publish(world, { deploy: "greeting@production", name: "other" }), 409, served);
  refused(await publish(world, { deploy: "new", promptId: "prompt_x" }), 404, "Prompt prompt_x not found");
  refused(await publish(world, {}), 400, "One of the fields name, promptId and deploy must be given");
  const both = { name: "greeting", promptId: other };
  refused(await publish(world, both), 400, "Fields name and promptId exclude each other");
  // Two prompts each have a deployment of that name.
  const twin = taken<Publication>(await publish(world, { deploy: "production", promptId: other }), 201);
  const error = "Several deployments have that name: greeting-2@production, greeting@production. Give the prompt too";
  refused(await publish(world, { deploy: "production", title: "x" }), 409, error);
  taken(await publish(world, { deploy: twin.deployment.id, title: "x" }));
  assert.is((await readAll(world, `/workspaces/${world.workspaceId}/prompts`)).length, 2);
});

test("publishing to a name that another workspace uses creates a deployment in one's own", async () => {
  const world = await createWorld();
  const other = await createTenant(world.admin);
  await publish(world, { deploy: "live" });
  const { deployment } = taken<Publication>(await publish({ ...world, ...other }, { deploy: "live" }), 201);
  assert.equal([deployment.workspaceId, deployment.name], [other.workspaceId, "live"]);
});

test("publishing to an id that is no deployment of the workspace is a 404, and creates nothing", async () => {
  const world = await createWorld();
  const other = await createTenant(world.admin);
  for (const deploy of ["dep_typo", other.deployId]) {
    refused(await publish(world, { deploy }), 404, `Deployment ${deploy} not found`);
  }
  assert.is((await readAll(world, `/workspaces/${world.workspaceId}/prompts`)).length, 1);
});

test("publishing requires the current ETag in If-Match, and pushes nothing with another one", async () => {
  const world = await createWorld();
  const path = `/workspaces/${world.workspaceId}/publish`;
  const send = (deploy: string, title: string, tag: string) =>
    world.manage("POST", path, { ...promptFile, title, deploy }, { "If-Match": tag });
  const changed = (deploy: string) => `Deployment ${deploy} has changed: read it again and repeat`;
  refused(await send("production", "a", '"2"'), 412, changed("production"));
  refused(await send("new", "a", '"1"'), 412, changed("new"));
  assert.is((await readAll(world, `/prompts/${world.promptId}/versions`)).length, 1);
  taken(await send("production", "a", '"1"'));
  refused(await send("production", "b", '"1"'), 412, changed("production"));
  const pushed = await world.manage("POST", path, { ...promptFile, title: "c" }, { "If-Match": '"1"' });
  refused(pushed, 400, "If-Match header is only allowed when changing a deployment");
});

test("If-Match is refused by operations that change no deployment", async () => {
  const world = await createWorld();
  const answer = await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { name: "x" }, { "If-Match": '"1"' });
  refused(answer, 400, "If-Match header is only allowed when changing a deployment");
});

test("a promotion from another deployment makes the version live that is live there", async () => {
  const world = await createThree();
  const make = async (body: object) =>
    taken<Deployment>(await world.manage("POST", `/workspaces/${world.workspaceId}/deployments`, body), 201);
  const staging = await make({ name: "staging", promptId: world.promptId, version: 3 });
  for (const from of ["staging", staging.id, "greeting@staging"]) {
    const { currentVersion, changed } = taken<Result>(await change(world, "promote", { from }));
    assert.equal([currentVersion, changed], [3, true]);
    taken(await change(world, "promote", { version: 1 }));
  }
  refused(await change(world, "promote", { from: "none" }), 404, "Deployment none not found");
  const other = await createTenant(world.admin);
  refused(await change(world, "promote", { from: other.deployId }), 404, `Deployment ${other.deployId} not found`);
  const error = "One of the fields version and from must be given";
  for (const body of [{}, { version: 1, from: "staging" }]) refused(await change(world, "promote", body), 400, error);
});

test.run();
