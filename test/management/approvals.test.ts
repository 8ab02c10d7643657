// Approvals: who may request, approve, apply and see, and that what was approved is applied once, as it was seen.
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Refusal } from "../../src/common/errors.ts";
import type { AuditEntry } from "../../src/management/events/audit.ts";
import { approveChangeRequest } from "../../src/management/deployments/change-request-operations.ts";
import type { ChangeRequest } from "../../src/management/deployments/change-requests.ts";
import { runChecks } from "../../src/management/upkeep/checks.ts";
import { promoteDeployment } from "../../src/management/deployments/deployment-changes.ts";
import type { Deployment, DeploymentResult } from "../../src/management/deployments/deployments.ts";
import type { Event } from "../../src/management/events/events.ts";
import type { DeploymentChange } from "../../src/management/deployments/history.ts";
import { call } from "../actions.ts";
import { adminToken, createTenant, createWorld, noon, promptFile } from "../helpers.ts";
import type { Answer, World } from "../helpers.ts";
import { openSnapshot, takeSnapshot } from "../snapshots.ts";
import { approvals, approvalsOfProtection, changesOfAll, requestOf, setStage } from "./approval-table.ts";
import type { Cast, Person } from "./approval-table.ts";
import { readAll, refused, refusedAs, taken } from "./management.ts";

const test = suite("approvals");

const day = 86_400_000; // ms
const as = (token: string) => ({ Authorization: `Bearer ${token}` });

type Scene = {
  world: World;
  cast: Cast;
  by(person: Person, method: string, path: string, body?: object): Promise<Answer>;
  change(person: Person, action: string, body?: object): Promise<Answer>;
  decide(person: Person, id: string, verb: string, body?: object): Promise<Answer>;
  show(): Promise<Deployment>;
};

// Each scene is a copy, as making one takes many times as long.
const stages = new Map<string, ReturnType<typeof makeStage>>();

async function makeStage(stage: Parameters<typeof setStage>[1]) {
  const world = await createWorld();
  const cast = await setStage(world, stage, adminToken);
  const { workspaceId, key, keyId, promptId, deployId } = world;
  const tenant = { workspaceId, key, keyId, promptId, deployId };
  return { tenant, cast, snapshot: await takeSnapshot(world.database) };
}

async function openScene(stage: Parameters<typeof setStage>[1] = "plain"): Promise<Scene> {
  if (!stages.has(stage)) stages.set(stage, makeStage(stage));
  const { tenant, cast, snapshot } = await stages.get(stage)!;
  const world = await createWorld({ tenant, database: await openSnapshot(snapshot) });
  const by: Scene["by"] = (person, method, path, body) => world.manage(method, path, body, as(cast[person]));
  const { deployId } = world;
  return {
    ...{ world, cast, by },
    change: (person, action, body = {}) => by(person, "POST", `/deployments/${deployId}/${action}`, body),
    decide: (person, id, verb, body = {}) => by(person, "POST", `/changes/${id}/${verb}`, body),
    show: async () => taken(await world.manage("GET", `/deployments/${deployId}`)),
  };
}

/** The change request that an answer says was opened. */
function requested(answer: Answer): ChangeRequest {
  const { changed, request } = taken<DeploymentResult>(answer, 202);
  assert.is(changed, false);
  return request!;
}

const promote = async ({ change }: Scene, person: Person, body: object = {}): Promise<ChangeRequest> =>
  requested(await change(person, "promote", { version: 2, ...body }));
const find = async ({ world }: Scene, id: string): Promise<ChangeRequest> =>
  taken(await world.manage("GET", `/changes/${id}`));
const entries = (scene: Scene): Promise<AuditEntry[]> => readAll(scene.world, "/audit");
const history = ({ world }: Scene): Promise<DeploymentChange[]> =>
  readAll(world, `/deployments/${world.deployId}/history`);

async function verifyAudit({ world }: Scene): Promise<void> {
  const { audit } = taken<{ audit: { isIntact: boolean; rows: object[] } }>(await world.manage("GET", "/verify"));
  assert.equal([audit.isIntact, audit.rows], [true, []]);
}

for (const [name, row] of Object.entries(changesOfAll)) {
  test(`who may ${name}`, async () => {
    const all = Object.entries(row.status) as [Person, number][];
    for (const [nth, [person, status]] of all.entries()) {
      // Of those who get the same answer, one shows it.
      if (!isFull && all.findIndex(([, other]) => other === status) < nth) continue;
      const scene = await openScene(row.stage), { world } = scene;
      const { path, body } = requestOf(world, row);
      const before = await scene.show(), count = (await entries(scene)).length;
      const answer = await scene.by(person, "POST", path, body);
      assert.is(answer.status, status, `${person}: ${answer.text}`);
      const now = await scene.show(), open = await readAll<ChangeRequest>(world, "/changes?state=open");
      if (status === 202) {
        assert.equal(now, before, person);
        assert.equal(open.map(({ deployId, revision }) => [deployId, revision]), [[world.deployId, before.revision]]);
        assert.match(answer.headers.get("Location")!, new RegExp(`changes/${open[0]!.id}$`));
        // What was requested is what an approval makes of it.
        const approver = person === "ada" ? "alan" : "ada";
        taken(await scene.decide(approver, open[0]!.id, "approve"));
        assert.is((await scene.show()).revision, before.revision + 1);
      } else {
        assert.equal(open, []);
        if (status === 200) assert.is(now.revision, before.revision + 1, person);
        else assert.equal([now, (await entries(scene)).length], [before, count]);
      }
      await verifyAudit(scene);
    }
  });
}

test("who may approve whose request", async () => {
  for (const [maker, approver, status] of approvals) {
    const scene = await openScene(), { id } = await promote(scene, maker);
    const answer = await scene.decide(approver, id, "approve");
    assert.is(answer.status, status, `${approver} approves what ${maker} requested: ${answer.text}`);
    assert.is((await scene.show()).currentVersion, status === 200 ? 2 : 1);
    assert.is((await find(scene, id)).state, status === 200 ? "applied" : "open");
  }
  for (const [maker, approver, status] of approvalsOfProtection) {
    const scene = await openScene(), { id } = requested(await scene.change(maker, "protect", { approvals: 0 }));
    assert.is((await scene.decide(approver, id, "approve")).status, status, `${approver} for ${maker}`);
    assert.is((await scene.show()).approvals, status === 200 ? 0 : 1);
  }
});

test("a request says what it is, and both names stand in the history, the audit log and the events", async () => {
  const scene = await openScene(), { world } = scene, { deployId, workspaceId, promptId } = world;
  const made = await promote(scene, "ann", { note: "Warmer" });
  const { id, contentHash, tokenId, ...rest } = made;
  assert.match(id, /^change_[0-9a-z]{26}$/);
  assert.match(contentHash!, /^[0-9a-f]{64}$/);
  assert.match(tokenId!, /^token_/);
  assert.equal(rest, {
    ...{ workspaceId, deployId, reference: "greeting@production", promptId, operation: "promoteDeployment" },
    ...{ input: { version: 2 }, fromState: "version 1", toState: "version 2", liveVersion: 1, version: 2, revision: 2 },
    ...{ note: "Warmer", source: "api", requestedBy: "ann", owner: "ann@acme.com", createdAt: noon },
    ...{ expiresAt: noon + 7 * day, state: "open" },
    ...{ decidedBy: null, deciderOwner: null, decidedAt: null, reason: null },
  });
  assert.equal(await find(scene, id), made);
  world.now += 1000;
  const applied = taken<ChangeRequest>(await scene.decide("bob", id, "approve", { note: "Reads well" }));
  const decision = { state: "applied", decidedBy: "bob", deciderOwner: "bob@acme.com", decidedAt: noon + 1000 };
  assert.equal(applied, { ...made, ...decision, reason: "Reads well" });
  assert.equal(await find(scene, id), applied);
  const [newest] = await history(scene);
  assert.equal(
    [newest!.action, newest!.actor, newest!.requestedBy, newest!.note, newest!.from, newest!.to],
    ["promoted", "bob", "ann", "Warmer", 1, 2],
  );
  const [end, promoted, opened] = await entries(scene);
  assert.equal(
    [end, promoted, opened].map((entry) => [entry!.action, entry!.actor, entry!.note]),
    [["change.applied", "bob", "Reads well"], ["deployment.promoted", "bob", "Warmer"], [
      "change.requested",
      "ann",
      "Warmer",
    ]],
  );
  const { request, requestedBy, approvedBy } = promoted!.after!;
  assert.equal({ request, requestedBy, approvedBy }, { request: id, requestedBy: "ann", approvedBy: "bob" });
  const { items } = taken<{ items: Event[] }>(await world.manage("GET", "/events?types=change.*"));
  assert.equal(
    items.map(({ type, subject, path }) => [type, subject, path]),
    ["change.requested", "change.applied"].map((type) => [
      type,
      { noun: "change", id, name: "greeting@production" },
      `${workspaceId}/changes/${id}`,
    ]),
  );
  await verifyAudit(scene);
});

test("of two approvals at once one applies it", async () => {
  const scene = await openScene(), { id } = await promote(scene, "ann");
  const people = ["bob", "robot", "robot2", "olga"] as const;
  const answers = await Promise.all(people.map((person) => scene.decide(person, id, "approve")));
  assert.equal(answers.map(({ status }) => status).sort(), [200, 409, 409, 409]);
  refusedAs(409, "change_request_closed", ...answers.filter(({ status }) => status === 409));
  assert.is((await scene.show()).revision, 3);
  const made = (await entries(scene)).filter(({ action }) => /promoted|applied/.test(action));
  assert.is(made.length, 2);
});

test("a change of the deployment between a request and its approval makes the request stale", async () => {
  const scene = await openScene("served");
  const { id } = requested(await scene.change("ann", "promote", { version: 1 }));
  // A rollback meanwhile is exempt, and says that it needed nobody.
  taken(await scene.change("bob", "rollback", { note: "Outage" }));
  const [change] = await history(scene);
  assert.equal([change!.action, change!.actor, change!.withoutApproval], ["rolled_back", "bob", true]);
  refused(await scene.decide("bob", id, "approve"), 409, `Change request ${id} is stale`);
  const { state, decidedBy } = await find(scene, id);
  assert.equal([state, decidedBy], ["stale", "bob"]);
  const { items } = taken<{ items: Event[] }>(
    await scene.world.manage("GET", "/events?types=change.stale,deployment.rolled_back"),
  );
  assert.equal(items.map(({ type, after }) => [type, after!.withoutApproval]), [
    ["deployment.rolled_back", true],
    ["change.stale", undefined],
  ]);
  await verifyAudit(scene);
});

test("the owner switches the rule off at once, which is an entry, and promotes at once then", async () => {
  const scene = await openScene(), { id } = await promote(scene, "ann");
  taken(await scene.change("olga", "protect", { approvals: 0 }));
  const [change] = await history(scene);
  assert.equal(
    [change!.action, change!.from, change!.to, change!.actor, change!.withoutApproval],
    ["approvals_changed", true, false, "olga", true],
  );
  assert.is((await find(scene, id)).state, "stale");
  assert.is(taken<DeploymentResult>(await scene.change("bob", "promote", { version: 2 })).changed, true);
  assert.is((await history(scene))[0]!.withoutApproval, undefined);
  await verifyAudit(scene);
});

test("a request expires after seven days, by the clock alone", async () => {
  const scene = await openScene(), { world } = scene, { id } = await promote(scene, "ann");
  world.now += 7 * day - 1;
  assert.is((await find(scene, id)).state, "open");
  world.now++;
  assert.is((await find(scene, id)).state, "expired");
  refused(await scene.decide("bob", id, "approve"), 409, `Change request ${id} is expired`);
  for (const verb of ["decline", "withdraw"]) {
    refusedAs(
      409,
      "change_request_closed",
      await scene.decide("ann", id, verb, verb === "decline" ? { reason: "x" } : {}),
    );
  }
  assert.equal((await readAll<ChangeRequest>(world, "/changes?state=expired")).map((each) => each.id), [id]);
  assert.equal(await readAll(world, "/changes?state=open"), []);
  assert.is((await scene.show()).currentVersion, 1);
  // Another person takes the place, and the log learns of it, before a check has found it.
  const next = await promote(scene, "bob");
  assert.equal((await entries(scene)).slice(0, 2).map(({ action, targetId }) => [action, targetId]), [
    ["change.requested", next.id],
    ["change.expired", id],
  ]);
  assert.is((await find(scene, id)).state, "expired");
  await verifyAudit(scene);
});

test("that a request has expired is one event, by the checks of each minute, however many services find it", async () => {
  const scene = await openScene(), { world } = scene, { id } = await promote(scene, "ann", { note: "Warmer" });
  const store = { database: world.database, clock: () => world.now };
  const check = async () => assert.equal(await runChecks({ store, isOver: () => false }), []);
  const expired = async () =>
    taken<{ items: Event[] }>(await world.manage("GET", "/events?types=change.expired")).items;
  world.now += 7 * day - 1;
  await check();
  assert.equal(await expired(), []);
  world.now++;
  await Promise.all([check(), check(), check()]);
  const [event, ...more] = await expired();
  assert.equal(more, []);
  assert.equal([event!.subject.id, event!.actor, event!.note], [
    ...[id, "upkeep", "Nobody approved version 1 → version 2 within 7 days"],
  ]);
  const { state, decidedBy, decidedAt } = await find(scene, id);
  assert.equal([state, decidedBy, decidedAt], ["expired", "upkeep", world.now]);
  refusedAs(409, "change_request_closed", await scene.decide("bob", id, "approve"));
  world.now += 1000;
  const next = await promote(scene, "bob");
  await check();
  assert.equal([(await find(scene, next.id)).state, (await expired()).length], ["open", 1]);
  await verifyAudit(scene);
});

test("the same request with another reason replaces the first one", async () => {
  const scene = await openScene(), first = await promote(scene, "ann");
  scene.world.now++;
  const second = await promote(scene, "ann", { note: "Warmer" });
  assert.equal([second.note, (await find(scene, first.id)).state], ["Warmer", "withdrawn"]);
  for (const body of [{}, { note: "Warmer" }]) assert.equal(await promote(scene, "annsPhone", body), second);
});

test("a deployment has one open request: its maker replaces it, repeats it, and nobody else may", async () => {
  const scene = await openScene(), first = await promote(scene, "ann");
  const count = (await entries(scene)).length;
  assert.equal(await promote(scene, "ann"), first, "the same again changes nothing");
  assert.equal(await promote(scene, "annsPhone"), first);
  assert.is((await entries(scene)).length, count);
  refused(
    await scene.change("bob", "promote", { version: 2 }),
    409,
    `ann@acme.com has already requested a change of greeting@production, ${first.id}: version 1 → version 2. ` +
      "Approve or decline that one first",
  );
  const second = requested(await scene.change("annsPhone", "rename", { name: "main" }));
  assert.is((await find(scene, first.id)).state, "withdrawn");
  refusedAs(409, "change_request_closed", await scene.decide("bob", first.id, "approve"));
  const renamed = taken<ChangeRequest>(await scene.decide("bob", second.id, "approve"));
  assert.is(renamed.reference, "greeting@main");
  assert.is((await find(scene, first.id)).reference, "greeting@main");
  await verifyAudit(scene);
});

test("a request is declined with a reason, and withdrawn by its maker alone", async () => {
  const scene = await openScene(), { id } = await promote(scene, "ann");
  for (const body of [{}, { reason: "" }, { reason: "  " }, { reason: "x".repeat(2001) }]) {
    assert.is((await scene.decide("bob", id, "decline", body)).status, 400);
  }
  assert.is((await scene.decide("ed", id, "decline", { reason: "No" })).status, 403);
  for (const other of ["bob", "robot", "olga", "operator"] as const) {
    refusedAs(409, "change_request_of_another", await scene.decide(other, id, "withdraw"));
  }
  const declined = taken<ChangeRequest>(await scene.decide("bob", id, "decline", { reason: "Too warm" }));
  assert.equal([declined.state, declined.decidedBy, declined.reason], ["declined", "bob", "Too warm"]);
  scene.world.now++;
  const next = await promote(scene, "ann");
  assert.is(taken<ChangeRequest>(await scene.decide("annsPhone", next.id, "withdraw")).state, "withdrawn");
  assert.equal((await readAll<ChangeRequest>(scene.world, "/changes")).map(({ state }) => state), [
    "withdrawn",
    "declined",
  ]);
  assert.is((await scene.show()).currentVersion, 1);
  await verifyAudit(scene);
});

test("what waits for whom", async () => {
  const scene = await openScene(), { id } = await promote(scene, "ann");
  const waits = async (person: Person) =>
    taken<{ items: ChangeRequest[] }>(await scene.by(person, "GET", "/changes?waiting=true")).items.map((each) =>
      each.id
    );
  for (const person of ["vic", "ed", "ann", "annsPhone"] as const) assert.equal(await waits(person), [], person);
  for (const person of ["bob", "robot", "olga", "operator"] as const) assert.equal(await waits(person), [id], person);
  taken(await scene.decide("ann", id, "withdraw"));
  await promote(scene, "operator");
  assert.equal([await waits("operator"), (await waits("bob")).length], [[], 1]);
});

test("no request waits for its maker, however their tokens write the same person", async () => {
  for (const [owner, same] of [["ÄNN@acme.com", "änn@acme.com"], [" ann@acme.com ", "ＡＮＮ@acme.com"]] as const) {
    const scene = await openScene(), { world } = scene;
    const [made, other] = await Promise.all([owner, same].map(async (owner) => {
      const body = { name: "Ann", role: "publisher", owner };
      return as(taken<{ token: string }>(await world.manage("POST", "/tokens", body), 201).token);
    }));
    const path = `/deployments/${world.deployId}/promote`;
    const { id } = requested(await world.manage("POST", path, { version: 2 }, made));
    const waiting = await world.manage("GET", "/changes?waiting=true", undefined, other);
    assert.equal(taken<{ items: object[] }>(waiting).items, []);
    refusedAs(409, "own_change_request", await world.manage("POST", `/changes/${id}/approve`, {}, other));
  }
});

test("a request of a token that was revoked is not approved", async () => {
  const scene = await openScene(), { id, tokenId } = await promote(scene, "ann");
  taken(await scene.by("ada", "POST", `/tokens/${tokenId}/revoke`));
  refusedAs(409, "change_request_revoked", await scene.decide("bob", id, "approve"));
  const waiting = taken<{ items: object[] }>(await scene.by("bob", "GET", "/changes?waiting=true"));
  assert.equal(waiting.items, [], "it waits for nobody");
  // Her other token is the same person, who requests the same again and gets another request.
  scene.world.now++;
  const again = await promote(scene, "annsPhone");
  assert.is.not(again.id, id);
  assert.is((await find(scene, id)).state, "withdrawn");
  taken(await scene.decide("bob", again.id, "approve"));
  await verifyAudit(scene);
});

test("a token of another workspace sees nothing of a request", async () => {
  const scene = await openScene(), { world } = scene, { id } = await promote(scene, "ann");
  const { workspaceId } = await createTenant(world.admin, 1000, "Other");
  const made = await world.manage("POST", "/tokens", { name: "Eve", role: "admin", workspaceId });
  const { token } = taken<{ token: string }>(made, 201);
  const eve = (method: string, path: string, body?: object) => world.manage(method, path, body, as(token));
  assert.equal(taken<{ items: object[] }>(await eve("GET", "/changes")).items, []);
  refused(await eve("GET", `/changes/${id}`), 404, `Change request ${id} not found`);
  for (const [verb, body] of [["approve", {}], ["decline", { reason: "x" }], ["withdraw", {}]] as const) {
    refused(await eve("POST", `/changes/${id}/${verb}`, body), 404, `Change request ${id} not found`);
  }
});

test("a publication and a release set publish their versions, and request the promotions", async () => {
  const scene = await openScene(), { world } = scene;
  const published = await scene.by("ann", "POST", `/workspaces/${world.workspaceId}/publish`, {
    ...{ ...promptFile, title: "Third", deploy: world.deployId, note: "Shorter" },
  });
  const { version, isNew, deployment } = taken<{ version: number; isNew: boolean; deployment: DeploymentResult }>(
    published,
    202,
  );
  assert.equal([version, isNew, deployment.currentVersion, deployment.changed], [3, true, 1, false]);
  const { id, version: wanted, note } = deployment.request!;
  assert.equal([wanted, note], [3, "Shorter"]);
  taken(await scene.decide("bob", id, "approve"));
  assert.is((await scene.show()).currentVersion, 3);
  const origin = { commit: "a".repeat(40), author: "Ann" };
  const set = {
    workspaceId: world.workspaceId,
    origin,
    prompts: [{
      name: "greeting",
      ...promptFile,
      title: "Fourth",
      ifLatest: 3,
      deploy: [{ name: "production", ifRevision: 3 }],
    }],
  };
  const applied = taken<{ changes: number; prompts: { deployments: DeploymentResult[] }[] }>(
    await scene.by("ann", "POST", "/apply", set),
    202,
  );
  const [result] = applied.prompts[0]!.deployments;
  assert.equal([applied.changes, result!.currentVersion, result!.request!.version], [2, 3, 4]);
  taken(await scene.decide("bob", result!.request!.id, "approve"));
  assert.is((await scene.show()).currentVersion, 4);
  // The commit stays with the change, whoever approves it.
  const [change] = await readAll<DeploymentChange>(world, `/deployments/${world.deployId}/history`);
  assert.equal(change!.origin, origin);
  await verifyAudit(scene);
});

test("the prompt of a deployment that needs approvals is renamed and archived only without it", async () => {
  const scene = await openScene(), { world } = scene;
  refused(
    await world.manage("POST", `/prompts/${world.promptId}/rename`, { name: "hello" }),
    409,
    "Changes of greeting@production need an approval. Rename that deployment alone, or switch the rule off",
  );
  const { id } = requested(await scene.change("ann", "archive"));
  taken(await scene.decide("bob", id, "approve"));
  taken(await world.manage("POST", `/prompts/${world.promptId}/archive`));
  assert.is((await scene.show()).archivedAt, noon);
  await verifyAudit(scene);
});

test("an approval applies a rollout with the reason of its maker", async () => {
  const scene = await openScene(), { world } = scene;
  const { id, toState } = requested(
    await scene.change("ann", "rollout", {
      version: 2,
      percent: 10,
      guard: "failures=+2%",
      certain: 95,
      note: "Slowly",
    }),
  );
  assert.is(toState, "2 at 10 %, guarded by failures=+2% at 95 %");
  taken(await scene.decide("operator", id, "approve", { actor: "night shift" }));
  const [rollout] = await readAll<Record<string, unknown>>(world, `/deployments/${world.deployId}/rollouts`);
  const { version, percent, guard, certain, note, startedBy } = rollout!;
  assert.equal({ version, percent, guard, certain, note, startedBy }, {
    ...{ version: 2, percent: 10, guard: "failures=+2%", certain: 95, note: "Slowly", startedBy: "night shift" },
  });
});

test("the admin token and code that embeds the service are one person, whatever name they give", async () => {
  const scene = await openScene(), { world } = scene, { deployId: id } = world;
  const own = (id: string) => world.manage("POST", `/changes/${id}/approve`, { actor: "someone else" });
  const { request } = await call(promoteDeployment, world.admin, { id, version: 2, actor: "build" });
  assert.equal([request!.requestedBy, request!.source, request!.owner], ["build", world.admin.caller.source, null]);
  refusedAs(409, "own_change_request", await own(request!.id));
  taken(await scene.decide("operator", request!.id, "withdraw"));
  const { id: other } = await promote(scene, "operator", { actor: "ann" });
  const refusal = await call(approveChangeRequest, world.admin, { id: other }).catch((error: unknown) => error);
  assert.is((refusal as Refusal).code, "own_change_request");
  const { id: hers } = await promote(scene, "operator", { actor: "ann", version: 2 });
  taken(await scene.decide("ann", hers, "approve"));
});

test("an approval refuses another content than was requested", async () => {
  const scene = await openScene(), { id } = await promote(scene, "ann");
  await scene.world.database.write([{ sql: "update prompt_versions set messages = '[]' where version = 2" }]);
  refusedAs(409, "change_request_stale", await scene.decide("bob", id, "approve"));
  assert.is((await scene.show()).currentVersion, 1);
});

test("an approval refuses another revision, even where nothing has ended the request", async () => {
  const scene = await openScene(), { id } = await promote(scene, "ann");
  await scene.world.database.write([{ sql: "update deployments set revision = revision + 1" }]);
  refusedAs(409, "change_request_stale", await scene.decide("bob", id, "approve"));
  assert.is((await scene.show()).currentVersion, 1);
});

test("what no longer can be done is refused to who approves it, and the request stays open", async () => {
  const scene = await openScene(), { world } = scene;
  const { id } = requested(await scene.change("ann", "rename", { name: "main" }));
  const body = { name: "main", promptId: world.promptId };
  taken(await world.manage("POST", `/workspaces/${world.workspaceId}/deployments`, body), 201);
  refusedAs(409, "deployment_name_taken", await scene.decide("bob", id, "approve"));
  assert.is((await find(scene, id)).state, "open");
});

test.run();
