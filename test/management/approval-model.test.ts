// Random histories of a deployment that needs approvals, against a model of a few lines: what was approved is applied once, as it
// was requested, or never.
// Runs on Node alone.
import fc from "fast-check";
import * as assert from "uvu/assert";
import type { ChangeRequest } from "../../src/management/deployments/change-requests.ts";
import type { Deployment } from "../../src/management/deployments/deployments.ts";
import { adminToken, createWorld, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { openSnapshot, takeSnapshot } from "../snapshots.ts";
import { isFull, suite } from "../suite.ts";
import { setStage } from "./approval-table.ts";
import type { Cast, Person } from "./approval-table.ts";
import { readAll, taken } from "./management.ts";

const test = suite("approvals against a model");

const day = 86_400_000; // ms

type Actor = "ann" | "annsPhone" | "bob" | "robot" | "olga";
type Wanted = { kind: "promote"; version: number } | { kind: "activate" };
type Request = { maker: Actor; wanted: Wanted; until: number; state: string };
type Model = {
  live: number;
  served: Set<number>;
  isActive: boolean;
  needsApproval: boolean;
  revision: number;
  now: number;
  /** In the order in which they were made. The ids are those of the service. */
  requests: (Request & { id?: string | undefined })[];
};
type Real = { world: World; cast: Cast };

const personOf = (actor: Actor) => actor === "annsPhone" ? "ann" : actor;
const openIn = ({ requests, now }: Model) => requests.find(({ state, until }) => state === "open" && now < until);

/** A change that the deployment has had. What was open comes to nothing, unless it is what was applied. */
function change(model: Model, applied: Partial<Pick<Model, "live" | "isActive" | "needsApproval">>): void {
  Object.assign(model, applied);
  model.served.add(model.live);
  model.revision++;
  for (const request of model.requests) {
    if (request.state === "open") request.state = model.now < request.until ? "stale" : "expired";
  }
}

const apply = (model: Model, wanted: Wanted): void =>
  change(model, wanted.kind === "promote" ? { live: wanted.version } : { isActive: true });

/** What somebody gets who asks for a change, and what it does to the model. */
function ask(model: Model, maker: Actor, wanted: Wanted): number {
  if (wanted.kind === "promote" ? model.live === wanted.version : model.isActive) return 200;
  if (!model.needsApproval) {
    apply(model, wanted);
    return 200;
  }
  const open = openIn(model);
  if (open !== undefined && personOf(open.maker) !== personOf(maker)) return 409;
  if (open !== undefined && JSON.stringify(open.wanted) === JSON.stringify(wanted)) return 202;
  for (const request of model.requests) {
    if (request.state === "open") request.state = model.now < request.until ? "withdrawn" : "expired";
  }
  model.requests.push({ maker, wanted, until: model.now + 7 * day, state: "open" });
  return 202;
}

/** What somebody gets who approves the newest request. */
function approve(model: Model, actor: Actor): number {
  const request = model.requests.at(-1)!;
  if (openIn(model) !== request || personOf(request.maker) === personOf(actor)) return 409;
  request.state = "applied";
  apply(model, request.wanted);
  return 200;
}

type Step = { said: string; run(model: Model, real: Real): Promise<void> };

const send = async ({ world, cast }: Real, actor: Person, path: string, body: object = {}): Promise<number> =>
  (await world.manage("POST", path, body, { Authorization: `Bearer ${cast[actor]}` })).status;
const onDeployment = (real: Real, actor: Person, action: string, body: object = {}): Promise<number> =>
  send(real, actor, `/deployments/${real.world.deployId}/${action}`, body);
const decide = (model: Model, real: Real, actor: Actor, verb: string, body: object = {}): Promise<number> =>
  send(real, actor, `/changes/${model.requests.at(-1)!.id}/${verb}`, body);

const actors = fc.constantFrom<Actor>("ann", "annsPhone", "bob", "robot", "olga");
const versions = fc.integer({ min: 1, max: 3 });

const step = (said: string, run: Step["run"]): Step => ({ said, run });

const steps: fc.Arbitrary<Step>[] = [
  ...Array.from(
    { length: 4 },
    () =>
      fc.tuple(actors, versions).map(([actor, version]) =>
        step(`${actor} promotes ${version}`, async (model, real) => {
          const expected = ask(model, actor, { kind: "promote", version });
          assert.is(await onDeployment(real, actor, "promote", { version }), expected);
        })
      ),
  ),
  actors.map((actor) =>
    step(`${actor} activates`, async (model, real) => {
      assert.is(await onDeployment(real, actor, "activate"), ask(model, actor, { kind: "activate" }));
    })
  ),
  actors.map((actor) =>
    step(`${actor} deactivates`, async (model, real) => {
      if (model.isActive) change(model, { isActive: false });
      assert.is(await onDeployment(real, actor, "deactivate"), 200);
    })
  ),
  fc.tuple(actors, versions).map(([actor, version]) =>
    step(`${actor} rolls back to ${version}`, async (model, real) => {
      const isKnown = model.served.has(version);
      if (isKnown && model.live !== version) change(model, { live: version });
      assert.is(await onDeployment(real, actor, "rollback", { version }), isKnown ? 200 : 409);
    })
  ),
  fc.boolean().map((isOn) =>
    step(`olga switches the rule ${isOn ? "on" : "off"}`, async (model, real) => {
      if (model.needsApproval !== isOn) change(model, { needsApproval: isOn });
      assert.is(await onDeployment(real, "olga", "protect", { approvals: Number(isOn) }), 200);
    })
  ),
  ...Array.from({ length: 3 }, () =>
    actors.map((actor) =>
      step(`${actor} approves`, async (model, real) => {
        if (model.requests.length > 0) assert.is(await decide(model, real, actor, "approve"), approve(model, actor));
      })
    )),
  fc.tuple(actors, actors).map((both) =>
    step(`${both.join(" and ")} approve at once`, async (model, real) => {
      if (model.requests.length === 0) return;
      const mayAny = both.some((actor) => personOf(actor) !== personOf(model.requests.at(-1)!.maker));
      const expected = openIn(model) === model.requests.at(-1) && mayAny ? 1 : 0;
      const statuses = await Promise.all(both.map((actor) => decide(model, real, actor, "approve")));
      both.forEach((actor) => approve(model, actor));
      assert.is(statuses.filter((status) => status === 200).length, expected, statuses.join());
    })
  ),
  fc.tuple(actors, actors, versions).map(([actor, other, version]) =>
    step(`${actor} approves while ${other} rolls back to ${version}`, async (model, real) => {
      if (model.requests.length === 0 || !model.served.has(version) || model.live === version) return;
      const request = model.requests.at(-1)!, wasOpen = openIn(model) === request;
      const [approved, back] = await Promise.all([
        decide(model, real, actor, "approve"),
        onDeployment(real, other, "rollback", { version }),
      ]);
      assert.is(back, 200);
      if (approved === 200) assert.ok(wasOpen && personOf(actor) !== personOf(request.maker));
      // An approval that succeeded came first, since the rollback makes the request stale.
      if (approved === 200) approve(model, actor);
      if (model.live !== version) change(model, { live: version });
    })
  ),
  actors.map((actor) =>
    step(`${actor} declines`, async (model, real) => {
      if (model.requests.length === 0) return;
      const request = model.requests.at(-1)!, isOpen = openIn(model) === request;
      assert.is(await decide(model, real, actor, "decline", { reason: "No" }), isOpen ? 200 : 409);
      if (isOpen) request.state = "declined";
    })
  ),
  actors.map((actor) =>
    step(`${actor} withdraws`, async (model, real) => {
      if (model.requests.length === 0) return;
      const request = model.requests.at(-1)!;
      const may = openIn(model) === request && personOf(actor) === personOf(request.maker);
      assert.is(await decide(model, real, actor, "withdraw"), may ? 200 : 409);
      if (may) request.state = "withdrawn";
    })
  ),
  fc.integer({ min: 1, max: 5 }).map((days) =>
    step(`${days} days pass`, (model, { world }) => {
      model.now += days * day;
      world.now = model.now;
      return Promise.resolve();
    })
  ),
];

/** Fails unless the service is as the model is. */
async function compare(model: Model, { world }: Real): Promise<void> {
  const { currentVersion, isActive, approvals, revision } = taken<Deployment>(
    await world.manage("GET", `/deployments/${world.deployId}`),
  );
  assert.equal([currentVersion, isActive, approvals, revision], [
    ...[model.live, model.isActive, Number(model.needsApproval), model.revision],
  ]);
  const found = (await readAll<ChangeRequest>(world, "/changes")).reverse();
  for (const [nth, request] of model.requests.entries()) request.id ??= found[nth]?.id;
  assert.equal(
    found.map(({ id, state }) => [id, state]),
    model.requests.map(({ id, state, until }) => [id, state === "open" && model.now >= until ? "expired" : state]),
  );
}

async function makeStage() {
  const world = await createWorld();
  const cast = await setStage(world, "plain", adminToken);
  taken(await world.manage("POST", `/prompts/${world.promptId}/versions`, { ...promptFile, title: "Third" }), 201);
  const { workspaceId, key, keyId, promptId, deployId } = world;
  const tenant = { workspaceId, key, keyId, promptId, deployId };
  return { tenant, cast, snapshot: await takeSnapshot(world.database) };
}

test("every history leaves what the model says, and the audit log agrees", async () => {
  const { tenant, cast, snapshot } = await makeStage();
  const history = fc.array(fc.oneof(...steps), { minLength: 10, maxLength: isFull ? 60 : 30, size: "max" });
  const property = fc.asyncProperty(history, async (all) => {
    const world = await createWorld({ tenant, database: await openSnapshot(snapshot) });
    const real = { world, cast },
      model: Model = {
        ...{ live: 1, served: new Set([1]), isActive: true, needsApproval: true, revision: 2 },
        ...{ now: world.now, requests: [] },
      };
    const done: string[] = [];
    for (const { said, run } of all) {
      done.push(said);
      try {
        await run(model, real);
        await compare(model, real);
      } catch (error) {
        throw new Error(`after ${done.join(", ")}: ${(error as Error).message}`, { cause: error });
      }
      // The ids of requests sort by time.
      world.now = ++model.now;
    }
    const { audit } = taken<{ audit: { isIntact: boolean; rows: object[] } }>(await world.manage("GET", "/verify"));
    assert.equal([audit.isIntact, audit.rows], [true, []]);
  });
  await fc.assert(property, { numRuns: isFull ? 150 : 20 });
});

test.run();
