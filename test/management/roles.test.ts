// Which role may do what: every operation with every role, for all workspaces and bound to one, on own, foreign and missing
// items, on protected and other deployments. The cases are made from the declarations of the operations.
// Runs on Node alone.
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { newId } from "../../src/common/ids.ts";
import type { AuditEntry } from "../../src/management/events/audit.ts";
import { ExportText } from "../../src/management/kernel/export.ts";
import { operations } from "../../src/management/index.ts";
import { protectedRole, roles } from "../../src/management/kernel/operation.ts";
import type { AnyOperation, Role } from "../../src/management/kernel/operation.ts";
import { insertInto } from "../../src/management/kernel/table.ts";
import { isOptional, nounOf } from "../../src/schema/struct.ts";
import { createTenant, createWorld, goodBody, noon, promptFile } from "../helpers.ts";
import type { Answer, World } from "../helpers.ts";
import { openSnapshot, takeSnapshot } from "../snapshots.ts";
import { dump, taken, toLines } from "./management.ts";

const test = suite("roles");

type Input = Record<string, unknown>;

/** An id for each noun that a member can name. */
type Named = Record<string, string>;

/** Input that operations require, besides ids. */
const others: Record<string, (deployId: string, isProtected: boolean) => Input> = {
  createWorkspace: () => ({ name: "x" }),
  deleteWorkspace: () => ({ confirm: "Acme" }),
  createToken: () => ({ name: "x", role: "viewer" }),
  addFeedback: () => ({ name: "x", value: true }),
  removeFeedback: () => ({ name: "x" }),
  importFeedback: () => ({ feedback: [{ record: "x", name: "x", value: true }] }),
  declareFeedback: () => ({ name: "x", kind: "boolean" }),
  undeclareFeedback: () => ({ name: "x" }),
  readFeedbackAgreement: () => ({ name: "x", authors: "a,b" }),
  createReview: () => ({ title: "x" }),
  createPrompt: () => promptFile,
  pushPrompt: () => ({ ...promptFile, title: "New" }),
  publishPrompt: (deploy) => ({ ...promptFile, title: "New", deploy }),
  applyPrompts: (_, isProtected) => {
    const deploy = [{ name: "production", version: 1, ifRevision: isProtected ? 3 : 2 }];
    return { prompts: [{ name: "greeting", ifLatest: 2, deploy }] };
  },
  renderPrompt: () => ({ version: 1, values: { name: "x" } }),
  diffVersions: () => ({ from: 1 }),
  getPromptVersion: () => ({ version: 1 }),
  createDeployment: () => ({ name: "x" }),
  promoteDeployment: () => ({ version: 1 }),
  setRollout: () => ({ version: 1, percent: 10 }),
  renameDeployment: () => ({ name: "x" }),
  readLiveVersion: () => ({ time: noon }),
  renamePrompt: () => ({ name: "x" }),
  deleteSession: () => ({ sessionId: "x" }),
  deleteWorkspaceSession: () => ({ sessionId: "x" }),
  showSession: () => ({ sessionId: "x" }),
  readUsage: () => ({ month: "2026-11" }),
  listRecordFigures: () => ({ ids: "diag_x" }),
  readCosts: () => ({ month: "2026-11" }),
  prune: () => ({ olderThanMs: 86_400_000 }),
  setPrice: () => ({ model: "x", input: "2", output: "1" }),
  setPrices: () => ({ prices: [] }),
  removePrice: () => ({ id: "price_x" }),
  createBudget: () => ({ amount: "50", per: "month" }),
  declineChangeRequest: () => ({ reason: "x" }),
  createWebhook: () => ({ url: "https://example.com/" }),
  resendWebhookDeliveries: () => ({ delivery: 1 }),
  createAlert: () => ({ condition: "records<1" }),
  updateAlert: () => ({ overMs: 3_600_000 }),
};

async function send(world: World, { method, path, input }: AnyOperation, values: Input, token: string) {
  const rest = new Map(Object.entries(values).filter(([name]) => name in input.schema));
  const target = path.replace(/{(\w+)}/g, (_, name: string) => {
    const value = String(rest.get(name));
    rest.delete(name);
    return encodeURIComponent(value);
  });
  const hasBody = method === "POST" || method === "PATCH";
  const query = new URLSearchParams([...rest].map(([name, value]) => [name, String(value)]));
  const headers = { Authorization: `Bearer ${token}` };
  return hasBody
    ? await world.manage(method, target, Object.fromEntries(rest), headers)
    : await world.manage(method, `${target}?${query}`, undefined, headers);
}

const makeToken = async (world: World, body: object) =>
  taken<{ id: string; token: string }>(await world.manage("POST", "/tokens", { name: "Ann", ...body }), 201);

/** One item of each noun that a workspace owns. */
async function namedOf(world: World): Promise<Named> {
  const { workspaceId, keyId, promptId, deployId } = world;
  taken(await world.manage("POST", `/prompts/${promptId}/versions`, { ...promptFile, title: "Second" }), 201);
  const rollout = await addRollout(world);
  const record = { ...goodBody, rollout, promptVersion: 1 };
  const { id: recordId } = taken<{ id: string }>(await world.submit(record, deployId, world.key), 201);
  taken(await world.manage("POST", `/deployments/${deployId}/promote`, { version: 2 }));
  const { id: tokenId } = await makeToken(world, { role: "viewer", workspaceId, owner: "ann@acme.com" });
  return {
    Workspace: workspaceId,
    "API key": keyId,
    Prompt: promptId,
    Deployment: deployId,
    Record: recordId,
    Token: tokenId,
    Review: taken<{ id: string }>(await world.manage("POST", `/workspaces/${workspaceId}/reviews`, { title: "x" })).id,
    Rollout: rollout,
    Webhook: await addWebhook(world),
    Alert: await addAlert(world),
    Budget: await addBudget(world),
    "Change request": await addRequest(world),
  };
}

/** A change request of the admin token, on a deployment of its own. */
async function addRequest({ manage, workspaceId }: World): Promise<string> {
  const body = { ...promptFile, name: "guarded", deploy: "production" };
  const { deployment: { id } } = taken<{ deployment: { id: string } }>(
    await manage("POST", `/workspaces/${workspaceId}/publish`, body),
    201,
  );
  taken(await manage("POST", `/deployments/${id}/protect`, { approvals: 1 }));
  return taken<{ request: { id: string } }>(await manage("POST", `/deployments/${id}/archive`), 202).request.id;
}

/** Makes the change requests those of a token, as only who made one withdraws it. */
const giveRequests = ({ database, workspaceId }: World, role: Role, isBound: boolean) =>
  database.write([{
    sql:
      "update change_requests set token_id = (select id from management_tokens where role = ? and workspace_id is ?)",
    args: [role, isBound ? workspaceId : null],
  }]);

/** A rollout that has ended, so that the deployment changes as it does without one. */
async function addRollout({ database, workspaceId, deployId }: World): Promise<string> {
  const rollout = {
    id: newId("ro", noon),
    workspaceId,
    deploymentId: deployId,
    baseVersion: 1,
    version: 2,
    share: 100,
  };
  const rest = { salt: "x", note: "", startedAt: noon, startedBy: "", endedAt: noon, outcome: "stopped" };
  await database.write([insertInto("rollouts", { ...rollout, ...rest })]);
  return rollout.id;
}

async function addWebhook({ manage, workspaceId }: World): Promise<string> {
  const webhook = { url: "https://example.com/", workspaceId };
  return taken<{ id: string }>(await manage("POST", "/webhooks", webhook), 201).id;
}

/** A muted one, so that each operation changes it. */
async function addAlert({ manage, workspaceId }: World): Promise<string> {
  const { id } = taken<{ id: string }>(
    await manage("POST", `/workspaces/${workspaceId}/alerts`, { condition: "records<1" }),
    201,
  );
  taken(await manage("POST", `/alerts/${id}/mute`));
  return id;
}

async function addBudget({ manage, workspaceId }: World): Promise<string> {
  const budget = { amount: "50", per: "month" };
  return taken<{ id: string }>(await manage("POST", `/workspaces/${workspaceId}/budgets`, budget), 201).id;
}

const absent: Named = {
  Workspace: newId("ws", noon),
  "API key": newId("key", noon),
  Prompt: newId("prompt", noon),
  Deployment: newId("dep", noon),
  Record: `diag_${"0".repeat(26)}`,
  Token: newId("token", noon),
  Review: newId("review", noon),
  Rollout: newId("ro", noon),
  Webhook: newId("wh", noon),
  Alert: newId("alert", noon),
  Budget: newId("budget", noon),
  "Change request": newId("change", noon),
};

/** The input members that name something by an id. */
const namersOf = ({ input }: AnyOperation) =>
  Object.entries(input.schema).flatMap(([name, struct]) => {
    const noun = nounOf(struct) ?? "";
    return noun in absent ? [{ name, noun, isRequired: !isOptional(struct) }] : [];
  });

type Stage = { world: World; own: Named; foreign: Named; tokens: Record<"all" | "bound", Record<string, string>> };

/** Two workspaces with one of everything, and a token of each role for all workspaces and for the first. */
async function setStage(isProtected: boolean): Promise<Stage> {
  const { tenant, snapshot, ...made } = await (isProtected ? guarded ??= makeStage(true) : open ??= makeStage(false));
  return { ...made, world: await createWorld({ tenant, database: await openSnapshot(snapshot) }) };
}

// Each is a copy, as making one takes five times as long.
let open: ReturnType<typeof makeStage> | undefined, guarded: typeof open;

/** What a stage has, and a snapshot of its database. */
async function makeStage(isProtected: boolean) {
  const world = await createWorld();
  const own = await namedOf(world);
  const foreign = await namedOf({ ...world, ...await createTenant(world.admin, 1000, "Other") });
  const tokens: Stage["tokens"] = { all: {}, bound: {} };
  for (const role of roles) {
    tokens.all[role] = (await makeToken(world, { role })).token;
    if (role === "owner") continue;
    // Only the role owner rotates another person's token, so the admin is the person of the one to rotate.
    const whose = role === "admin" ? { owner: "ann@acme.com" } : {};
    tokens.bound[role] = (await makeToken(world, { role, workspaceId: world.workspaceId, ...whose })).token;
  }
  if (isProtected) {
    for (const id of [own.Deployment, foreign.Deployment]) {
      taken(await world.manage("POST", `/deployments/${id}/protect`));
    }
  }
  const price = "insert into prices (id, provider, model, input, output, valid_from, created_at) values ";
  await world.database.write([{ sql: `${price} ('price_x', '*', 'x', '1', '1', 0, 0)` }]);
  // The first use of a token is written to the database.
  for (const token of [...Object.values(tokens.all), ...Object.values(tokens.bound)]) {
    taken(await world.manage("GET", "/workspaces", undefined, { Authorization: `Bearer ${token}` }));
  }
  await world.drain();
  const { workspaceId, key, keyId, promptId, deployId } = world;
  const tenant = { workspaceId, key, keyId, promptId, deployId };
  return { tenant, own, foreign, tokens, snapshot: await takeSnapshot(world.database) };
}

/** The role that a call requires. */
function neededRole(
  { role, roleOverAll, guardsProtected }: AnyOperation,
  isOverAll: boolean,
  isProtected: boolean,
): Role {
  if (isOverAll && roleOverAll !== undefined) return roleOverAll;
  return guardsProtected && isProtected ? protectedRole : role;
}

/** Why a role is too little. If it would do for one workspace, that is said. */
function refusalOf(needed: string, isForAll: boolean, isBound: boolean) {
  const code = isForAll && isBound ? "all_workspaces_required" : "role_required";
  if (!isForAll) return { error: `This needs the role ${needed}`, code };
  const error = isBound
    ? "This token is for one workspace: for that one alone, set workspaceId"
    : `This needs the role ${needed} for all workspaces: for one alone, set workspaceId`;
  return { error, code };
}

/** In part, the role that a call requires, and the one below it. */
const rolesAround = (needed: Role): readonly Role[] =>
  isFull ? roles : roles.filter((_, rank) => [0, 1].includes(roles.indexOf(needed) - rank));

const mayAs = (role: Role, needed: Role) => roles.indexOf(role) >= roles.indexOf(needed);
const codeOf = ({ json }: Answer) => (json as { code?: string } | undefined)?.code;

/** The items of a list, or of an export. */
const listed = ({ output }: AnyOperation, { json, text }: Answer) =>
  (output === ExportText ? toLines(text) : (json as { items: object[] }).items) as {
    id: string;
    workspaceId?: string;
  }[];

/** Gives a function that reads the content of a database as text, and reads it again only after a change. */
function createReader(world: World, ...except: string[]): () => Promise<string> {
  let known = -1, text = "";
  return async () => {
    const [row] = await world.database.read({ sql: "select total_changes() as changes" });
    const changes = Number(row!.changes);
    if (changes !== known) text = await dump(world, ...except);
    known = changes;
    return text;
  };
}

/** Feedback has a history of its own, and reviews say who has done what. */
const createCatalogReader = (world: World) =>
  createReader(
    world,
    "audit_log",
    "audit_head",
    "changed_blocks",
    "feedback",
    "feedback_counts",
    "feedback_histories",
    "feedback_names",
    "feedback_words",
    "sqlite_sequence", // the last number of feedback_words
    "waiting_feedback",
    "waiting_counts",
    "review_records",
    "webhook_deliveries",
  );

/** What only those may do who have taken a record. */
const needsTaking = ["finishReviewRecord", "skipReviewRecord", "returnReviewRecord"];

/** The newest entry of the audit log. */
const newestEntry = async (world: World) =>
  taken<{ items: AuditEntry[] }>(await world.manage("GET", "/audit?limit=1")).items[0];

for (const operation of operations) {
  const namers = namersOf(operation);
  const required = namers.filter(({ isRequired }) => isRequired);
  const variants = namers.length === required.length ? [namers] : [namers, required];
  // In part, only where protection changes the role.
  for (const isProtected of isFull || operation.guardsProtected ? [false, true] : [false]) {
    for (const members of variants) {
      const isOverAll = members.length === 0;
      const needed = neededRole(operation, isOverAll, isProtected);
      const names = members.map(({ name }) => name).join(" and ") || "nothing";
      test(`${operation.id} that names ${names}${isProtected ? ", protected" : ""}, by every role`, async () => {
        const { world, own, foreign, tokens } = await setStage(isProtected);
        const inputOf = (...named: Named[]) => ({
          ...others[operation.id]?.(own.Deployment!, isProtected),
          ...Object.fromEntries(members.map(({ name, noun }, nth) => [name, (named[nth] ?? own)[noun]])),
        });
        const readContent = createReader(world), readCatalog = createCatalogReader(world);
        const before = await readContent();
        const before404 = (answer: Answer, named: Named) =>
          [answer.status, Object.values(named).reduce((text, id) => text.replaceAll(id, "?"), answer.text)] as const;
        for (const role of rolesAround(needed)) {
          const who = [tokens.all[role]!, ...(role === "owner" ? [] : [tokens.bound[role]!])];
          if (!mayAs(role, needed)) {
            for (const token of who) {
              const answer = await send(world, operation, inputOf(), token);
              const isEnough = mayAs(role, operation.role);
              const isForAll = isEnough && isOverAll && operation.roleOverAll !== undefined;
              const isForPart = isEnough && isProtected && !isForAll;
              const purpose = isForPart ? " to change greeting@production, which is protected" : "";
              const said = isEnough ? `${needed}${purpose}` : operation.role;
              const expected = refusalOf(said, isForAll, token === tokens.bound[role]);
              const field = expected.error.endsWith("set workspaceId")
                ? "workspaceId"
                : isForPart && operation.id === "applyPrompts"
                ? "prompts[0]"
                : undefined;
              const { field: at, ...others } = answer.json as { field?: string };
              assert.equal([answer.status, others, at], [403, expected, field], role);
            }
          }
          if (role === "owner" || !mayAs(role, operation.role)) continue;
          const bound = tokens.bound[role]!;
          for (const [nth] of members.entries()) {
            const inputFor = (named: Named) => inputOf(...members.map((_, other) => other === nth ? named : own));
            const other = before404(await send(world, operation, inputFor(foreign), bound), foreign);
            assert.is(other[0], 404, `${role}: ${members[nth]!.name} ${other[1]}`);
            assert.equal(other, before404(await send(world, operation, inputFor(absent), bound), absent));
          }
          if (isOverAll && !operation.isScoped && mayAs(role, needed)) {
            const answer = await send(world, operation, inputOf(), bound);
            assert.equal([answer.status, codeOf(answer)], [403, "all_workspaces_required"], role);
          }
        }
        assert.is(await readContent(), before);
        // Every role that may do it does it. The least role is first, because the others may find its changes made.
        for (const role of rolesAround(needed).filter((role) => mayAs(role, needed))) {
          const isRefused = role === "owner" || isOverAll && !operation.isScoped;
          const token = isRefused ? tokens.all[role]! : tokens.bound[role]!;
          if (needsTaking.includes(operation.id)) {
            taken(await world.manage("POST", `/reviews/${own.Review}/next`, {}, { Authorization: `Bearer ${token}` }));
          }
          if (operation.id === "withdrawChangeRequest") await giveRequests(world, role, !isRefused);
          const newest = await newestEntry(world), catalog = await readCatalog();
          const answer = await send(world, operation, inputOf(), token);
          const isFirst = role === needed;
          assert.ok(isFirst ? answer.status < 300 : ![401, 403].includes(answer.status), `${role}: ${answer.text}`);
          if (await readCatalog() !== catalog) {
            const entry = await newestEntry(world);
            assert.ok(entry!.position > newest!.position, "a change is in the audit log");
            assert.equal([entry!.actor, entry!.tokenId?.slice(0, 6)], ["Ann", "token_"]);
          }
          if (!isRefused && isOverAll && operation.method === "GET") {
            // Prices hold for all workspaces.
            const items = listed(operation, answer).filter(({ id }) => id !== "price_x");
            assert.ok(items.every(({ id, workspaceId = id }) => workspaceId === world.workspaceId));
          }
          if (operation.id === "deleteWorkspace") break;
        }
      });
    }
  }
}

test("a bound token looks up names in its workspace", async () => {
  const { world, own, foreign, tokens } = await setStage(false);
  const headers = { Authorization: `Bearer ${tokens.bound.viewer}` };
  const get = (path: string) => world.manage("GET", path, undefined, headers);
  assert.is((await world.manage("GET", "/deployments/greeting@production")).status, 409);
  assert.is(taken(await get("/deployments/greeting@production")).id, own.Deployment);
  assert.is(taken(await get("/prompts/greeting")).id, own.Prompt);
  assert.is((await get(`/prompts/greeting?workspaceId=${foreign.Workspace}`)).status, 404);
  await world.manage("POST", `/prompts/${foreign.Prompt}/rename`, { name: "theirs" });
  assert.is((await get("/prompts/theirs")).status, 404);
  assert.is((await get("/deployments/theirs@production")).status, 404);
});

test("a publication cannot reach a deployment of another workspace", async () => {
  const { world, own, foreign, tokens } = await setStage(false);
  const before = await dump(world);
  const headers = { Authorization: `Bearer ${tokens.bound.admin}` };
  await world.manage("POST", `/prompts/${foreign.Prompt}/rename`, { name: "theirs" });
  const renamed = await dump(world);
  assert.is.not(renamed, before);
  for (const deploy of [foreign.Deployment, "theirs@production"]) {
    const body = { ...promptFile, title: "New", deploy };
    const answer = await world.manage("POST", `/workspaces/${own.Workspace}/publish`, body, headers);
    assert.is(answer.status, 404, answer.text);
  }
  assert.is(await dump(world), renamed);
});

test("a deployment shows whether it is protected", async () => {
  const world = await createWorld();
  const path = `/deployments/${world.deployId}`;
  const isProtected = async () => taken(await world.manage("GET", path)).isProtected;
  const change = async (verb: string) => {
    const { isProtected, changed, revision } = taken(await world.manage("POST", `${path}/${verb}`));
    return [isProtected, changed, revision];
  };
  assert.is(await isProtected(), false);
  assert.equal([await change("protect"), await change("protect")], [[true, true, 2], [true, false, 2]]);
  assert.is(await isProtected(), true);
  assert.equal(await change("unprotect"), [false, true, 3]);
});

test.run();
