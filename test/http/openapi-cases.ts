// Requests to each operation that the service describes, so that they get each of the responses described.
import { gzipSync } from "node:zlib";
import * as assert from "uvu/assert";
import { bounds } from "../../src/support/bounds.ts";
import { build } from "../../src/common/build.ts";
import { classifyErrors, isBusy } from "../../src/database/database.ts";
import type { Database } from "../../src/database/database.ts";
import { makeFeedbackToken } from "../../src/support/feedback-token.ts";
import { hashApiKey } from "../../src/common/ids.ts";
import { createApiKey } from "../actions.ts";
import { bearer, createTenant, createWorld, goodBody, noon, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { openSnapshot, takeSnapshot } from "../snapshots.ts";
import type { Sent } from "./openapi-contract.ts";
import { alertCases, makeAlerts } from "./openapi-alert-cases.ts";
import { budgetCases, makeBudgets } from "./openapi-budget-cases.ts";
import { approved, changeRequestCases, requestCases, rolledBack } from "./openapi-approval-cases.ts";
import { makeWebhooks, webhookCases } from "./openapi-webhook-cases.ts";

/** A world with everything that operations can show, on a database that can be made to fail. */
export async function openWorld(options: { bodyTimeout?: number } = {}) {
  const { facts, snapshot } = await (filled ??= fillWorld());
  const memory = await openSnapshot(snapshot);
  const state: { intercept?: () => Promise<never> } = {};
  const failing: Database = {
    ...memory,
    read: (statement) => state.intercept?.() ?? memory.read(statement),
    write: (statements) => state.intercept?.() ?? memory.write(statements),
  };
  const database = classifyErrors(
    failing,
    (error) => isBusy(error) ? "retryable" : (error as Error).message === "away" ? "unavailable" : undefined,
  );
  const world = await createWorld({ database, tenant: facts, servesMetrics: true, ...options });
  return Object.assign(world, { ...facts, state });
}

// Each world is a copy, as filling one takes many times as long.
let filled: ReturnType<typeof fillWorld> | undefined;

/** What is in a world, and a snapshot of its database. */
async function fillWorld() {
  const world = await createWorld();
  const tokens = { trace_id: "4bf92f35", token_usage: { prompt_tokens: 52, completion_tokens: 4 } };
  const times = { latency: 840.5, startAt: world.now - 900, endAt: world.now };
  await world.read();
  await world.submit();
  const { json } = await world.submit({
    ...{ ...goodBody, ...times, ...await endedRollout(world), additional_properties: tokens },
    ...{ id: "mine", other: [1] },
  });
  const { id: diagnosisId } = json as { id: string };
  await world.manage("POST", `/diagnoses/${diagnosisId}/feedback`, { name: "tone", value: "kind", author: "bob" });
  const rotation = { overlapMs: 3_600_000, expiresAt: world.now + 86_400_000 };
  const done: [path: string, body?: unknown][] = [
    ["/apply", { ...releaseSet(world), actor: "Ada", note: "Better" }],
    [`/deployments/${world.deployId}/rename`, { name: "live" }],
    [`/deployments/${world.deployId}/deactivate`],
    [`/deployments/${world.deployId}/activate`],
    [`/keys/${world.keyId}/rotate`, rotation],
  ];
  const statuses = [{ status: 1, name: "ok" }, { status: 0, name: "failed", isFailure: true }];
  assert.is((await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { statuses })).status, 200);
  for (const [path, body] of done) {
    const { status, text } = await world.manage("POST", path, body);
    assert.ok(status < 300, text);
  }
  await world.submit();
  const { workspaceId, key, keyId, promptId, deployId } = world;
  const facts = {
    ...{ workspaceId, key, keyId, promptId, deployId, diagnosisId },
    tokenId: await useToken(world),
    priceId: await makePrice(world),
    cachedPriceId: await makePrice(world, { provider: "x", ...wholePrice }),
    webhooks: await makeWebhooks(world),
    alerts: await makeAlerts(world),
    budgets: await makeBudgets(world),
  };
  await world.drain();
  return { facts, snapshot: await takeSnapshot(world.database) };
}

/** A rollout that ended, and its live version, as a record has them. */
async function endedRollout({ database, workspaceId, deployId }: World): Promise<object> {
  const of = [workspaceId, deployId];
  await database.write([{
    sql: `insert into rollouts
      (id, workspace_id, deployment_id, base_version, version, share, salt, note, started_at, started_by, ended_at, outcome)
      values ('ro_1', ?, ?, 1, 2, 500, 'salt', '', 0, '', 1, 'stopped')`,
    args: of,
  }]);
  return { rollout: "ro_1", promptVersion: 1 };
}

export type Opened = Awaited<ReturnType<typeof openWorld>>;
export type Ask = (world: Opened) => Sent | Promise<Sent>;

const declarations = {
  name: { type: "text", example: "Ada", description: "Who is greeted" },
  history: { type: "messages", example: [{ role: "user", content: "Hello" }], required: false },
};
const declared = { ...promptFile, declarations };

/** Adds so many rows to a table. Their columns are expressions of `n`. */
const addRows = ({ database }: World, table: string, count: number, columns: Record<string, string>) =>
  database.write([{
    sql: `insert into ${table} (${Object.keys(columns).join(", ")})
      with recursive i(n) as (select 1 union all select n + 1 from i where n < ${count})
      select ${Object.values(columns).join(", ")} from i`,
  }]);

const fillPrices = (world: World) => {
  const columns = { id: "'price_' || n", provider: "'*'", model: "'m' || n", input: "'1'", output: "'1'" };
  return addRows(world, "prices", bounds.prices, { ...columns, valid_from: "0", created_at: "0" });
};

/** A release set that pushes a version of the greeting and makes it live. */
const releaseSet = ({ workspaceId }: World) => {
  const deploy = [{ name: "production", ifRevision: 1 }];
  const greeting = { ...declared, title: "Hi", note: "Shorter", name: "greeting", ifLatest: 1, deploy };
  const origin = { commit: "0123abc", author: "Ada", repository: "https://git.test/shop", change: "!7" };
  return { workspaceId, prompts: [greeting], origin };
};

const messages = [{ role: "user", content: [{ type: "text", text: "Hi {{name}}" }] }];
const content = { title: "Greeting", messages, declarations };
const otherContent = { title: "Greeting", messages: [{ role: "user", content: "Hi {{other}}" }] };

const ofWorkspace = ({ workspaceId }: World) => ({ path: { workspaceId } });
/** Looks for failures where no status counts as one. */
async function withoutFailures(world: World) {
  await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { statuses: [] });
  return { ...ofWorkspace(world), query: { failures: "true" } };
}
const thatWorkspace = ({ workspaceId }: World) => ({ path: { id: workspaceId } });
const thatKey = ({ keyId }: World) => ({ path: { id: keyId } });
/** Damages the records of a world, as a bad sector does. */
const damage = ({ database }: World) =>
  database.write([{ sql: "update diagnoses set document = document || cast(x'ff' as text)" }]);
const thatPrompt = ({ promptId }: World) => ({ path: { id: promptId } });
const thatDeployment = ({ deployId }: World) => ({ path: { id: deployId } });

/** The world with a rollout in progress. */
async function rolling(world: Opened): Promise<Opened> {
  await world.manage("POST", `/deployments/${world.deployId}/rollout`, { version: 1, percent: 50 });
  return world;
}
const ofDeployment = ({ deployId }: World) => ({ path: { deployId } });
const thatDiagnosis = ({ diagnosisId }: Opened) => ({ path: { id: diagnosisId } });

const onRecord = ({ diagnosisId }: Opened) => ({ path: { id: diagnosisId, name: "thumb" } });
/** Gives feedback with a key that may only read. */
async function asReader(world: Opened) {
  const key = await createApiKey(world.admin, world.workspaceId, { name: "reader", readOnly: true });
  return { ...onRecord(world), body: { value: true }, headers: bearer(key.key) };
}
async function withFeedbackToken({ key, now }: Opened) {
  const grant = { record: "later", names: ["thumb"], author: "", expires: now / 1000 + 60 };
  return { headers: bearer(await makeFeedbackToken(await hashApiKey(key), grant)) };
}
async function withOtherKind(world: Opened) {
  await world.manage("POST", `/diagnoses/${world.diagnosisId}/feedback`, { name: "thumb", value: 1 });
  return { ...onRecord(world), body: { value: true } };
}
const feedbackBody = (count: number) =>
  JSON.stringify({
    feedback: Array.from({ length: count }, (_, nth) => ({ record: "x", name: `n${nth}`, value: null })),
  });
/** Asks when the workspace has given as much feedback as it may in a minute. */
const tooMuch = (ask: Ask) => async (world: Opened) => {
  for (let nth = 0; nth < 30; nth++) {
    await world.send("/v1/feedback", { method: "POST", body: feedbackBody(50) });
  }
  return await ask(world);
};
const givesOnMany: Ask = () => ({ body: { feedback: [{ record: "later", name: "thumb", value: null }] } });
async function deletedDiagnosis(world: Opened) {
  await world.manage("DELETE", `/diagnoses/${world.diagnosisId}`);
  return thatDiagnosis(world);
}
/** A review of the world's records, of which the first is taken. */
async function afterTaking(world: Opened) {
  const path = `/workspaces/${world.workspaceId}/reviews`, { now } = world;
  const body = {
    title: "Weekly",
    order: "random",
    names: ["tone"],
    from: now - 1_000,
    status: "ok",
    feedback: "tone=kind",
  };
  const { id = "none" } = (await world.manage("POST", path, body)).json as { id?: string };
  const { record } = (await world.manage("POST", `/reviews/${id}/next`)).json as { record?: { recordId: string } };
  return { path: { id, recordId: record?.recordId ?? "none" } };
}
const thatReview = async (world: Opened) => ({ path: { id: (await afterTaking(world)).path.id } });
/** A record of a review that nobody has. */
async function afterReturn(world: Opened) {
  const { path } = await afterTaking(world);
  await world.manage("POST", `/reviews/${path.id}/records/${path.recordId}/return`);
  return { path };
}
async function afterSkipping(world: Opened) {
  const { path } = await afterTaking(world);
  await world.manage("POST", `/reviews/${path.id}/records/${path.recordId}/skip`);
  return { path };
}
/** A record of a review that was deleted. */
async function afterLosing(world: Opened) {
  const { path } = await afterTaking(world);
  await world.manage("DELETE", `/diagnoses/${path.recordId}`);
  return { path };
}
async function afterDeclaration(world: Opened) {
  await world.manage("POST", `/workspaces/${world.workspaceId}/feedback-names`, { name: "score", kind: "number" });
  return ofWorkspace(world);
}

/** Submits a record with feedback of every kind. */
async function giveEveryKind(world: Opened, body: object = goodBody): Promise<void> {
  const { id: record } = (await world.submit(body)).json as { id: string };
  const values = Object.entries({ thumb: true, score: 0.5, tone: "kind" });
  const feedback = values.map(([name, value]) => ({ record, name, value }));
  await world.manage("POST", `/workspaces/${world.workspaceId}/feedback`, { feedback });
}

const makeToken = async (world: World, body: object = {}) =>
  (await world.manage("POST", "/tokens", { name: "Ann", role: "admin", ...body })).json as {
    id: string;
    token: string;
  };
const withToken = async (world: World, body: object) => {
  const { token } = await makeToken(world, body);
  return { headers: { Authorization: `Bearer ${token}` } };
};
/** A reference that several workspaces have. */
async function makeAmbiguous({ admin, manage }: World): Promise<string> {
  const { deployId } = await createTenant(admin);
  await manage("POST", `/deployments/${deployId}/rename`, { name: "live" });
  return "greeting@live";
}
/** All that a price may have, and each member of its tiers in both ways. */
const wholePrice = {
  ...{ cachedInput: "0", cacheWrite: "2.5", cacheWriteHour: "4", unpricedMedia: ["audio"] },
  tiers: [
    { above: 200_000, input: "4", output: "12" },
    { hours: "01:00-04:00", input: "4", cachedInput: "0.4", cacheWrite: "5", cacheWriteHour: "8", output: "12" },
  ],
};
const makePrice = async ({ manage }: World, more: object = {}) =>
  ((await manage("POST", "/prices", { model: "gpt-4o", input: "2", output: "8", ...more })).json as { id: string }).id;
const newToken = async (world: World) => ({ path: { id: (await makeToken(world)).id } });
const thatToken = ({ tokenId }: Opened) => ({ path: { id: tokenId } });
/** A bound token that has been used and rotated. */
async function useToken(world: World): Promise<string> {
  const { workspaceId } = world;
  const { id, token } = await makeToken(world, { workspaceId, expiresAt: world.now + 1e9 });
  await world.manage("GET", "/tokens", undefined, { Authorization: `Bearer ${token}` });
  await world.manage("POST", `/tokens/${id}/rotate`, { overlapMs: 1000 });
  return id;
}
const named = ({ deployId }: World) => ({ query: { deployId } });
const submitting: Ask = (world) => ({ ...named(world), body: goodBody });
const paged = { limit: "1" };

const reading: Record<number, Ask[]> = {
  200: [
    named,
    (world) => ({ ...named(world), headers: { "If-None-Match": '"other"' } }),
    async (world) => ({ ...named(await rolling(world)), headers: { "Accept-Rollout": "1" } }),
    async (world) => ({ query: { ...named(await rolling(world)).query, key: "ann" } }),
    named,
  ],
  304: [(world) => ({ ...named(world), headers: { "If-None-Match": "*" } })],
};

const submits: Record<number, Ask[]> = {
  201: [
    submitting,
    (world) => ({ ...submitting(world), headers: { "Idempotency-Key": '"a"' } }) as Sent,
    (world) => ({ ...named(world), body: { ...goodBody, content: { output: "" }, latency: 0, anything: null } }),
  ],
  422: [
    async (world) => {
      await world.submit(goodBody, world.deployId, world.key, { "Idempotency-Key": "a" });
      return { ...named(world), body: { ...goodBody, status: 2 }, headers: { "Idempotency-Key": "a" } };
    },
  ],
};

const revisions: Record<number, Ask[]> = {
  200: [() => ({})],
  304: [() => ({ headers: { "If-None-Match": "*" } })],
};

const describing: Record<number, Ask[]> = {
  200: [() => ({})],
  // As from a client with an invalid Host header.
  400: [() => ({ url: "http://a b/openapi.json" })],
};

const description: Record<number, Ask[]> = {
  ...describing,
  // Others do not read what they have asked for.
  503: [
    async ({ fetch }) => {
      const ask = () => fetch(new Request("http://ledger.test/openapi.json"));
      await Promise.all(Array.from({ length: 1_001 }, ask));
      return {};
    },
  ],
};

const health: Record<number, Ask[]> = {
  ...describing,
  200: [
    () => ({}),
    () => {
      build.commit = "0123456789ab";
      return {};
    },
  ],
};

const readiness: Record<number, Ask[]> = {
  ...describing,
  503: [
    async (world) => {
      await world.drain();
      return {};
    },
  ],
};

/** Requests to each operation by the status that they get. `spoil` makes those that are refused alike everywhere. */
export const cases: Record<string, Record<number, Ask[]>> = {
  readPrompt: reading,
  probePrompt: reading,
  submitDiagnosis: submits,
  submitDiagnosisToPrompts: submits,
  submitDiagnoses: {
    200: [
      ({ deployId }) => ({ body: { records: [{ deployId, ...goodBody }] } }),
      ({ deployId }) => {
        const record = { deployId, idempotencyKey: "b", ...goodBody, promptVersion: 1, other: 1 };
        return { body: { records: [record, { ...record, deployId: "dep_0" }] } };
      },
    ],
  },
  readRevisions: revisions,
  probeRevisions: revisions,
  readQuota: { 200: [() => ({})] },
  probeQuota: { 200: [() => ({})] },
  readRoot: describing,
  probeRoot: describing,
  describe: description,
  probeDescription: description,
  checkHealth: health,
  probeHealth: health,
  checkReadiness: readiness,
  probeReadiness: readiness,
  readMetrics: { ...describing, 200: [() => ({})] },
  probeMetrics: { ...describing, 200: [() => ({})] },

  createWorkspace: {
    201: [
      () => ({ body: { name: "Acme", statuses: [{ status: 1, name: "ok" }] } }),
      () => ({ body: { name: "Acme", monthlyLimit: 0, upgradeUrl: "https://acme.test/ü pgrade" } }),
    ],
  },
  listWorkspaces: {
    200: [
      () => ({}),
      async (world) => {
        await world.manage("POST", "/workspaces", { name: "Second" });
        return { query: paged };
      },
    ],
  },
  getWorkspace: { 200: [thatWorkspace] },
  updateWorkspace: {
    200: [
      thatWorkspace,
      (world) => ({ ...thatWorkspace(world), body: { upgradeUrl: null } }),
      (world) => ({ ...thatWorkspace(world), body: { statuses: [{ status: 1, name: "ok" }] } }),
    ],
  },
  deleteWorkspace: {
    200: [({ workspaceId }) => ({ path: { id: workspaceId }, query: { confirm: "Acme" } })],
    409: [({ workspaceId }) => ({ path: { id: workspaceId }, query: { confirm: "Other" } })],
  },
  listDeletedWorkspaces: {
    403: [
      async (world) => {
        const { workspaceId } = await createTenant(world.admin);
        return withToken(world, { role: "viewer", workspaceId });
      },
    ],
    200: [
      async ({ workspaceId, manage }) => {
        await manage("DELETE", `/workspaces/${workspaceId}?confirm=Acme`);
        return { query: { limit: "1" } };
      },
    ],
  },
  createApiKey: {
    201: [
      ofWorkspace,
      (world) => ({ ...ofWorkspace(world), body: { name: "CI", expiresAt: world.now + 1, readOnly: true } }),
      (world) => ({ ...ofWorkspace(world), body: { submitOnly: true, deployId: world.deployId } }),
    ],
    400: [(world) => ({ ...ofWorkspace(world), body: { readOnly: true, submitOnly: true } })],
    409: [async (world) => {
      const columns = { id: "'key_' || n", workspace_id: `'${world.workspaceId}'`, name: "''", prefix: "''" };
      await addRows(world, "api_keys", bounds.keys, { ...columns, created_at: "0" });
      return ofWorkspace(world);
    }],
  },
  listApiKeys: { 200: [ofWorkspace] },
  getApiKey: { 200: [thatKey] },
  revokeApiKey: { 200: [thatKey] },
  rotateApiKey: {
    200: [thatKey, (world) => ({ ...thatKey(world), body: { overlapMs: 1000, expiresAt: null } })],
    409: [
      async (world) => {
        await world.manage("POST", `/keys/${world.keyId}/revoke`);
        return thatKey(world);
      },
    ],
  },

  createToken: {
    201: [
      () => ({ body: { name: "Ann", role: "owner" } }),
      ({ workspaceId, now }) => ({ body: { name: "Ann", role: "viewer", workspaceId, expiresAt: now + 1 } }),
    ],
    404: [() => ({ body: { name: "Ann", role: "viewer", workspaceId: "nothing" } })],
    409: [async (world) => {
      const columns = { id: "'token_' || n", name: "''", role: "'viewer'", prefix: "''", created_at: "0" };
      await addRows(world, "management_tokens", bounds.tokens, columns);
      return { body: { name: "Ann", role: "viewer" } };
    }],
  },
  listTokens: {
    200: [
      async (world) => {
        await makeToken(world);
        return {};
      },
      () => ({ query: paged }),
    ],
  },
  getToken: { 200: [newToken, thatToken] },
  revokeToken: { 200: [newToken, thatToken] },
  rotateToken: {
    200: [
      newToken,
      (world) => ({ ...thatToken(world), body: { overlapMs: 1000, expiresAt: null } }),
    ],
    409: [
      async (world) => {
        await world.manage("POST", `/tokens/${world.tokenId}/revoke`);
        return thatToken(world);
      },
    ],
  },

  giveFeedback: {
    200: [
      (world) => ({ ...onRecord(world), body: { value: true, comment: "Yes", author: "ann", source: "reviewer" } }),
      () => ({ path: { id: "later", name: "score" }, body: { value: -0.5 } }),
    ],
    403: [asReader],
    404: [() => ({ path: { id: `diag_${"0".repeat(26)}`, name: "thumb" }, body: { value: true } })],
    409: [withOtherKind],
    429: [tooMuch((world) => ({ ...onRecord(world), body: { value: true } }))],
  },
  withdrawFeedback: {
    200: [(world) => ({ ...onRecord(world), query: { author: "ann" } })],
    400: [(world) => ({ ...onRecord(world), query: { author: "a\n" } })],
    403: [asReader],
    404: [() => ({ path: { id: `diag_${"0".repeat(26)}`, name: "thumb" } })],
    429: [tooMuch(onRecord)],
  },
  giveFeedbackOnMany: {
    200: [
      ({ diagnosisId, deployId }) => ({
        body: {
          feedback: [
            { record: diagnosisId, name: "thumb", value: true },
            { record: "later", name: "thumb", value: null },
            { sessionId: "nothing", deployId, name: "thumb", value: true },
          ],
        },
      }),
    ],
    403: [async (world) => ({ ...await givesOnMany(world), ...await withFeedbackToken(world) })],
    429: [tooMuch(givesOnMany)],
  },
  showFeedback: {
    200: [
      async (world) => {
        for (const value of [true, false]) {
          await world.manage("POST", `/diagnoses/${world.diagnosisId}/feedback`, { name: "thumb", value });
        }
        return thatDiagnosis(world);
      },
    ],
    410: [deletedDiagnosis],
  },
  addFeedback: {
    200: [(world) => ({ ...thatDiagnosis(world), body: { name: "tone", value: "kind", comment: "Yes" } })],
    409: [
      async (world) => {
        await world.manage("POST", `/diagnoses/${world.diagnosisId}/feedback`, { name: "thumb", value: 1 });
        return { ...thatDiagnosis(world), body: { name: "thumb", value: true } };
      },
    ],
  },
  removeFeedback: { 200: [(world) => ({ ...thatDiagnosis(world), query: { name: "thumb", author: "ann" } })] },
  importFeedback: {
    200: [
      (world) => ({
        ...ofWorkspace(world),
        body: {
          feedback: [
            { record: world.diagnosisId, name: "thumb", value: true },
            { record: `diag_${"0".repeat(26)}`, name: "thumb", value: true },
          ],
        },
      }),
    ],
    413: [(world) => ({ ...ofWorkspace(world), body: { padding: "x".repeat(5 * 1024 * 1024) } })],
  },
  readFeedbackAgreement: {
    200: [
      (world) => ({ ...ofWorkspace(world), query: { name: "score", authors: "ann,bob" } }),
      async (world) => ({ ...await afterDeclaration(world), query: { name: "score", authors: "ann,bob" } }),
    ],
    409: [
      async (world) => {
        const { path, query } = await withoutFailures(world);
        return { path, query: { ...query, name: "score", authors: "ann,bob" } };
      },
    ],
  },
  listFeedbackNames: { 200: [ofWorkspace, afterDeclaration] },
  declareFeedback: {
    200: [
      (world) => ({ ...ofWorkspace(world), body: { name: "tone", kind: "label", labels: ["kind", "curt"] } }),
      (world) => ({ ...ofWorkspace(world), body: { name: "x", kind: "number", minimum: 0, better: "higher" } }),
    ],
    409: [
      async (world) => ({ ...await afterDeclaration(world), body: { name: "score", kind: "boolean" } }),
    ],
  },
  undeclareFeedback: {
    200: [async (world) => ({ ...await afterDeclaration(world), query: { name: "score" } })],
  },

  createReview: {
    200: [
      (world) => ({ ...ofWorkspace(world), body: { title: "All" } }),
      (world) => ({
        ...ofWorkspace(world),
        body: { title: "Some", records: 1, order: "random", seed: 7, names: ["tone"], withoutOwn: true, status: "ok" },
      }),
    ],
    409: [(world) => ({ ...ofWorkspace(world), body: { title: "None", model: "none" } })],
  },
  listReviews: {
    200: [ofWorkspace, async (world) => (await afterTaking(world), ofWorkspace(world))],
  },
  showReview: {
    200: [thatReview, async (world) => ({ path: { id: (await afterSkipping(world)).path.id } })],
  },
  deleteReview: { 200: [thatReview] },
  takeReviewRecord: {
    200: [thatReview, async (world) => ({ path: { id: (await afterSkipping(world)).path.id } })],
  },
  showReviewRecord: { 200: [afterTaking, afterReturn, afterSkipping], 410: [afterLosing] },
  finishReviewRecord: { 200: [afterTaking], 409: [afterReturn], 410: [afterLosing] },
  skipReviewRecord: { 200: [afterTaking], 409: [afterReturn], 410: [afterLosing] },
  returnReviewRecord: {
    200: [afterTaking, afterSkipping],
    409: [async (world) => ({ ...await afterTaking(world), body: { actor: "Bob" } })],
    410: [afterLosing],
  },

  createPrompt: {
    201: [(world) => ({ ...ofWorkspace(world), body: { ...content, llmConfig: {}, note: "First", name: "a/b" } })],
    409: [(world) => ({ ...ofWorkspace(world), body: { ...content, name: "greeting" } })],
  },
  pushPrompt: {
    201: [(world) => ({ ...thatPrompt(world), body: content })],
    200: [(world) => ({ ...thatPrompt(world), body: { ...declared, title: "Hi" } })],
    412: [(world) => ({ ...thatPrompt(world), body: { ...content, ifLatest: 99 } })],
  },
  publishPrompt: {
    202: requestCases.publishPrompt!,
    201: [
      (world) => ({ ...ofWorkspace(world), body: { ...content, deploy: "staging", actor: "CI" } }),
      (world) => ({ ...ofWorkspace(world), body: { ...otherContent, name: "greeting" } }),
    ],
    200: [
      (world) => ({ ...ofWorkspace(world), body: { ...otherContent, deploy: world.deployId, force: true } }),
      (world) => ({ ...ofWorkspace(world), body: { ...content, deploy: world.deployId } }),
      async (world) => {
        const body = { ...content, deploy: "staging" };
        await world.manage("POST", `/workspaces/${world.workspaceId}/publish`, body);
        return { ...ofWorkspace(world), body };
      },
    ],
    409: [(world) => ({ ...ofWorkspace(world), body: { ...content, messages: [], deploy: "live" } })],
  },
  applyPrompts: {
    202: requestCases.applyPrompts!,
    200: [
      async ({ workspaceId, promptId, manage }) => {
        const { json: prompts } = await manage("GET", `/workspaces/${workspaceId}/prompts`);
        const { json: deployments } = await manage("GET", `/workspaces/${workspaceId}/deployments`);
        const itemsOf = (json: unknown) => (json as { items: Record<string, never>[] }).items;
        const { name, latestVersion } = itemsOf(prompts).find(({ id }) => id === promptId)!;
        const ifDeployments = itemsOf(deployments).filter((each) => each.promptId === promptId)
          .map(({ name, revision }) => ({ name, revision }));
        return { body: { workspaceId, prompts: [{ name, ifLatest: latestVersion, archive: true, ifDeployments }] } };
      },
      ({ workspaceId }) => ({ body: { workspaceId, prompts: [] } }),
      ({ workspaceId }) => {
        const deploy = [{ name: "new", ifRevision: null }];
        return { body: { workspaceId, prompts: [{ ...otherContent, name: "greeting", ifLatest: 2, deploy }] } };
      },
    ],
    404: [() => ({ body: { workspaceId: "nothing", prompts: [] } })],
    409: [({ workspaceId }) => ({ body: { workspaceId, prompts: [{ name: "new", ifLatest: null }] } })],
    412: [(world) => ({ body: releaseSet(world) })],
    413: [() => ({ body: { padding: "x".repeat(17 * 1024 * 1024) } })],
  },
  listPromptContents: {
    200: [ofWorkspace, (world) => ({ ...ofWorkspace(world), query: { ...paged, versions: "all" } })],
  },
  listPrompts: { 200: [ofWorkspace, (world) => ({ ...ofWorkspace(world), query: { archived: "true" } })] },
  renamePrompt: {
    200: [
      (world) => ({ ...thatPrompt(world), body: { name: "support/assistant" } }),
      ({ workspaceId }) => ({ path: { id: "greeting" }, body: { name: "greeting", workspaceId } }),
    ],
    409: [
      async (world) => {
        await world.manage("POST", `/workspaces/${world.workspaceId}/prompts`, { ...content, name: "taken" });
        return { ...thatPrompt(world), body: { name: "taken" } };
      },
    ],
  },
  archivePrompt: { 200: [(world) => ({ ...thatPrompt(world), body: { actor: "Ada", note: "Unused" } })] },
  unarchivePrompt: { 200: [thatPrompt] },
  getPrompt: { 200: [thatPrompt] },
  listPromptVersions: { 200: [thatPrompt, (world) => ({ ...thatPrompt(world), query: { ...paged, cursor: "3" } })] },
  getPromptVersion: { 200: [({ promptId }) => ({ path: { id: promptId, version: "2" } })] },
  renderPrompt: {
    200: [(world) => ({ ...thatPrompt(world), body: { version: 1, values: { name: "Ada" } } })],
    409: [(world) => ({ ...thatPrompt(world), body: { values: {} } })],
  },
  diffVersions: {
    200: [
      (world) => ({ ...thatPrompt(world), query: { from: "1" } }),
      (world) => ({ ...thatPrompt(world), query: { from: "1", to: "1" } }),
    ],
  },

  createDeployment: {
    201: [
      (world) => ({ ...ofWorkspace(world), body: { name: "b", promptId: world.promptId, version: 1, note: "Try" } }),
    ],
    409: [(world) => ({ ...ofWorkspace(world), body: { name: "live", promptId: world.promptId } })],
  },
  listDeployments: {
    200: [ofWorkspace, async (world) => ({ ...ofWorkspace(await rolling(world)), query: { archived: "true" } })],
  },
  getDeployment: { 200: [async (world) => thatDeployment(await rolling(world))] },
  promoteDeployment: {
    202: requestCases.promoteDeployment!,
    200: [
      (world) => ({ ...thatDeployment(world), body: { version: 1 }, headers: { "If-Match": '"5"' } }),
      (world) => ({ ...thatDeployment(world), body: { version: 2 }, headers: { "If-Match": "*" } }),
      (world) => ({ ...thatDeployment(world), body: { from: "live" } }),
    ],
  },
  rollBackDeployment: {
    200: [thatDeployment],
    409: [
      async (world) => {
        const { workspaceId, promptId } = world;
        const { json } = await world.manage("POST", `/workspaces/${workspaceId}/deployments`, {
          name: "new",
          promptId,
        });
        return { path: { id: (json as { id: string }).id } };
      },
    ],
  },
  activateDeployment: { 200: [thatDeployment], 202: requestCases.activateDeployment! },
  deactivateDeployment: { 200: [(world) => ({ ...thatDeployment(world), body: { actor: "", note: "Broken" } })] },
  renameDeployment: {
    200: [(world) => ({ ...thatDeployment(world), body: { name: "main" } })],
    202: requestCases.renameDeployment!,
  },
  archiveDeployment: { 200: [thatDeployment], 202: requestCases.archiveDeployment! },
  unarchiveDeployment: { 200: [thatDeployment], 202: requestCases.unarchiveDeployment! },
  protectDeployment: { 200: [thatDeployment], 202: requestCases.protectDeployment! },
  unprotectDeployment: { 200: [thatDeployment], 202: requestCases.unprotectDeployment! },
  readLiveVersion: {
    200: [
      ...[0, noon].map((time) => (world: World) => ({ ...thatDeployment(world), query: { time: `${time}` } })),
      ...[approved, rolledBack, thatDeployment].map((make) => async (world: World) => ({
        ...await make(world),
        query: { time: `${noon + 1e9}` },
      })),
    ],
  },
  setRollout: {
    200: [(world) => ({ ...thatDeployment(world), body: { version: 1, percent: 0.1, note: "Shorter" } })],
    202: requestCases.setRollout!,
  },
  stopRollout: { 200: [thatDeployment] },
  listRollouts: { 200: [async (world) => thatDeployment(await rolling(world))] },
  readRolloutStats: {
    200: [
      async (world) => {
        const { deployId, submit, manage } = world;
        await manage("POST", `/deployments/${deployId}/activate`);
        const { currentVersion } = (await manage("GET", `/deployments/${deployId}`)).json as { currentVersion: number };
        const body = { version: currentVersion === 1 ? 2 : 1, percent: 50 };
        const { json } = await manage("POST", `/deployments/${deployId}/rollout`, body);
        const { rollout: { id: rollout } } = json as { rollout: { id: string } };
        for (let nth = 0; nth < 70; nth++) {
          const { json } = await submit({
            ...goodBody,
            rollout,
            promptVersion: nth % 2 ? currentVersion : body.version,
            latency: nth,
            cost: 0.5,
          });
          const { id } = json as { id: string };
          await manage("POST", `/diagnoses/${id}/feedback`, { name: "tone", value: nth % 3 === 0 ? "kind" : "curt" });
        }
        return { path: { id: deployId, rollout }, query: { difference: "1.5" } };
      },
      ({ deployId }) => ({ path: { id: deployId, rollout: "ro_1" } }),
    ],
  },
  listDeploymentChanges: {
    200: [
      async (world) => thatDeployment(await rolling(world)),
      rolledBack,
      (world) => ({ ...thatDeployment(world), query: paged }),
    ],
  },

  listRecordFigures: {
    200: [
      async (world) => {
        const { json } = await world.submit({ ...goodBody, model: "gpt-4o", cost: 0.5 });
        return { ...ofWorkspace(world), query: { ids: (json as { id: string }).id } };
      },
      async (world) => {
        const { workspaceId, database } = world;
        await database.write([{ sql: "update prompt_versions set llm_config = '{}'" }]);
        const additional_properties = { prompt_tokens: 3, completion_tokens: 2 };
        const { json } = await world.submit({ ...goodBody, additional_properties });
        return { path: { workspaceId }, query: { ids: (json as { id: string }).id } };
      },
      (world) => ({ ...ofWorkspace(world), query: { ids: "diag_x" } }),
    ],
  },
  listWorkspaceDiagnoses: {
    200: [
      ofWorkspace,
      async (world) => {
        await damage(world);
        return ofWorkspace(world);
      },
      (world) => ({ ...ofWorkspace(world), query: { ...paged, deployId: world.deployId, order: "oldest" } }),
    ],
    409: [withoutFailures],
  },
  listDiagnoses: {
    200: [
      ofDeployment,
      async (world) => {
        await damage(world);
        return ofDeployment(world);
      },
      (world) => ({
        ...ofDeployment(world),
        query: {
          sessionId: "session-1",
          status: "1",
          promptVersion: "1",
          from: "0",
          to: "1798761600000",
          text: "hello",
        },
      }),
      (world) => ({
        ...ofDeployment(world),
        query: {
          ...{ failures: "true", keyId: world.keyId, model: "gpt-4o", slowerThan: "1", moreTokensThan: "1" },
          ...{ costlierThan: "0.1", where: "trace_id=4bf92f35", order: "oldest" },
        },
      }),
    ],
  },
  exportWorkspaceDiagnoses: {
    200: [
      ofWorkspace,
      (world) => ({ ...ofWorkspace(world), query: { format: "csv", deployId: world.deployId } }),
      (world) => ({ ...ofWorkspace(world), query: { format: "promptfoo" } }),
    ],
    409: [withoutFailures],
  },
  exportDiagnoses: {
    200: [ofDeployment, (world) => ({ ...ofDeployment(world), query: { format: "csv", promptVersion: "1" } })],
  },
  getDiagnosis: {
    200: [
      thatDiagnosis,
      async (world) => {
        await damage(world);
        return thatDiagnosis(world);
      },
      thatDiagnosis,
    ],
    410: [
      async (world) => {
        await world.manage("DELETE", `/diagnoses/${world.diagnosisId}`);
        return thatDiagnosis(world);
      },
    ],
  },
  deleteDiagnosis: { 200: [thatDiagnosis] },
  deleteSession: { 200: [(world) => ({ ...ofDeployment(world), query: { sessionId: "session-1" } })] },
  readWorkspaceStats: {
    200: [
      ofWorkspace,
      async (world) => {
        await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { statuses: [{ status: 1, name: "ok" }] });
        await world.submit({ ...goodBody, latency: 5, cost: 0.25, additional_properties: { prompt_tokens: 7 } });
        return { ...ofWorkspace(world), query: { interval: "day", deployId: world.deployId } };
      },
      async (world) => {
        await giveEveryKind(world);
        return { ...ofWorkspace(world), query: { interval: "hour", splitAt: String(world.now) } };
      },
      (world) => ({ ...ofWorkspace(world), query: { splitAt: String(world.now + 1) } }),
    ],
    409: [withoutFailures],
  },
  readStats: {
    200: [
      ofDeployment,
      (world) => ({ ...ofDeployment(world), query: { promptVersion: "2", from: "1" } }),
      async (world) => {
        await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { statuses: [{ status: 1, name: "ok" }] });
        await world.submit({ ...goodBody, latency: 5, cost: 0.25, additional_properties: { prompt_tokens: 7 } });
        return { ...ofDeployment(world), query: { interval: "week" } };
      },
      (world) => ({ ...ofDeployment(world), query: { interval: "hour", status: "1", costlierThan: "9" } }),
      (world) => ({ ...ofDeployment(world), query: { interval: "day" } }),
    ],
  },
  listSessions: {
    200: [
      ofWorkspace,
      async (world) => {
        const statuses = [{ status: 1, name: "ok" }];
        await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { statuses });
        await world.submit({ ...goodBody, sessionId: "second", cost: 0.5 });
        const { deployId } = world;
        return { ...ofWorkspace(world), query: { ...paged, deployId, from: "0", to: "1798761600000" } };
      },
      (world) => ({ ...ofWorkspace(world), query: { sessionId: "session-1" } }),
    ],
    409: [withoutFailures],
  },
  showSession: {
    200: [
      async (world) => {
        const child = { ...goodBody, additional_properties: { parent_id: world.diagnosisId }, latency: 1, startAt: 1 };
        await world.submit({ ...child, endAt: 2 });
        return { ...ofWorkspace(world), query: { sessionId: "session-1" } };
      },
      async (world) => {
        await damage(world);
        return { ...ofWorkspace(world), query: { sessionId: "session-1" } };
      },
      (world) => ({ ...ofWorkspace(world), query: { ...paged, sessionId: "session-1" } }),
    ],
  },
  deleteWorkspaceSession: { 200: [(world) => ({ ...ofWorkspace(world), query: { sessionId: "session-1" } })] },
  compareStats: {
    200: [
      ({ deployId }) => ({ query: { a: deployId, b: deployId } }),
      async (world) => {
        const body = (nth: number) => ({
          ...goodBody,
          promptVersion: 1 + nth % 2,
          latency: nth,
          cost: nth,
          additional_properties: { prompt_tokens: nth },
        });
        for (let nth = 0; nth < 60; nth++) await giveEveryKind(world, body(nth));
        const { workspaceId } = world;
        return { query: { a: "greeting@live", aVersion: "1", b: "greeting@live", bVersion: "2", workspaceId } };
      },
      (world) => ({ query: { a: world.deployId, b: world.deployId, aVersion: "9", from: "0", model: "gpt-4o" } }),
    ],
    404: [({ deployId }) => ({ query: { a: "nothing", b: deployId } })],
    409: [async (world) => ({ query: { a: await makeAmbiguous(world), b: world.deployId } })],
  },
  listAuditEntries: {
    200: [
      () => ({ query: paged }),
      ({ workspaceId, deployId }) => ({
        query: { workspaceId, target: deployId, action: "deployment", actor: "", from: "0", to: "1798761600000" },
      }),
    ],
    404: [() => ({ query: { workspaceId: "ws_none" } })],
  },
  listEvents: {
    200: [
      () => ({ query: { limit: "2" } }),
      ({ workspaceId }) => ({ query: { workspaceId, types: "deployment.*", after: "1", wait: "0" } }),
    ],
    404: [() => ({ query: { workspaceId: "ws_none" } })],
  },
  exportAuditEntries: {
    200: [() => ({ query: { action: "deployment.created" } })],
    404: [() => ({ query: { workspaceId: "ws_none" } })],
  },
  listCalls: {
    200: [
      ofWorkspace,
      ({ workspaceId, keyId, deployId }) => ({
        path: { workspaceId },
        query: {
          ...paged,
          keyId,
          deployId,
          promptVersion: "1",
          rollout: "ro_1",
          operation: "submit",
          from: "0",
          to: "1798761600000",
        },
      }),
    ],
  },
  listMonths: { 200: [ofWorkspace] },
  readUsage: {
    200: ["1000-01", "2026-11"].map((month) => ({ workspaceId }) => ({ path: { workspaceId, month } })),
  },
  readCosts: {
    200: [
      async (world) => {
        const { workspaceId, database } = world;
        await world.submit({ ...goodBody, model: "gpt-4o", cost: 0.5 });
        await database.write([{ sql: "update prompt_versions set llm_config = '{}'" }]);
        return { path: { workspaceId, month: "2026-11" } };
      },
      ({ workspaceId }) => ({ path: { workspaceId, month: "1000-01" } }),
    ],
  },
  prune: {
    200: [
      (world) => {
        world.now += 100 * 86_400_000;
        return { body: { olderThanMs: 86_400_000 } };
      },
      ({ workspaceId }) => ({ body: { olderThanMs: 86_400_000, workspaceId } }),
    ],
    404: [() => ({ body: { olderThanMs: 86_400_000, workspaceId: "nothing" } })],
  },
  setPrice: {
    200: [
      () => ({ body: { model: "gpt-4o*", input: "2.5", output: "10" } }),
      ({ now }) => ({
        body: { ...wholePrice, model: "gpt-4o", provider: "openai", input: "2.5", output: "10", validFrom: now },
      }),
    ],
    409: [async (world) => {
      await fillPrices(world);
      return { body: { model: "new", input: "2.5", output: "10" } };
    }],
  },
  setPrices: {
    200: [
      () => ({ body: { prices: [{ model: "gpt-4o", input: "2.5", output: "10" }] } }),
      () => ({
        body: {
          prices: [{ model: "gpt-5", input: "2", output: "9", tiers: [{ above: 200_000, input: "4", output: "12" }] }],
        },
      }),
    ],
    409: [async (world) => {
      await fillPrices(world);
      return { body: { prices: [{ model: "new", input: "2.5", output: "10" }] } };
    }],
  },
  listPrices: {
    200: [
      () => ({}),
      async (world) => {
        await makePrice(world, { model: "other" });
        return { query: paged };
      },
    ],
  },
  removePrice: {
    200: [
      ({ priceId }) => ({ path: { id: priceId } }),
      ({ cachedPriceId }) => ({ path: { id: cachedPriceId } }),
    ],
  },
  ...budgetCases,
  ...webhookCases,
  ...alertCases,
  ...changeRequestCases,
  listChangeRequests: {
    ...changeRequestCases.listChangeRequests,
    409: [async (world) => ({ query: { deployId: await makeAmbiguous(world) } })],
  },
  reindex: { 200: [() => ({})] },
  verify: {
    200: [
      () => ({}),
      async (world) => {
        await damage(world);
        await world.database.write([{ sql: "insert into feedback values (9000, 'thumb', '', 1, '', 'user', 1, 2)" }]);
        return {};
      },
      async ({ database, deployId }) => {
        await database.write([
          { sql: "drop trigger if exists audit_log_no_update" },
          { sql: "update deployments set revision = 9 where id = ?", args: [deployId] },
          { sql: "update prompts set archived_at = 1" },
        ]);
        return {};
      },
      ({ workspaceId }) => ({ query: { workspaceId } }),
    ],
    403: [(world) => withToken(world, { role: "admin" })],
  },
};

export type Operation = { method: string; path: string };
export const hasBody = ({ method }: Operation) => ["POST", "PATCH", "PUT"].includes(method);
const isManagement = ({ path }: Operation) => path.startsWith("/admin/");

const nothing = (values: Record<string, string> = {}) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, /id$/i.test(name) ? "nothing" : value]));

const wrongToken = { Authorization: "Bearer of news" };

// Both only refuse, before they read what a request asks for. So they can serve all operations.
let limited: Promise<Opened> | undefined, impatient: Promise<Opened> | undefined;

/** The world where an operation gets a status whose request `spoil` makes, if that takes another world than usual. */
export async function worldFor(status: number, operation: Operation): Promise<Opened | undefined> {
  if (status === 408) return await (impatient ??= openWorld({ bodyTimeout: 20 }));
  return status === 429 && isManagement(operation) ? await (limited ??= openLimited()) : undefined;
}

/** A world where management has refused too many requests. */
async function openLimited(): Promise<Opened> {
  const world = await openWorld();
  for (let nth = 0; nth < 30; nth++) await world.manage("GET", "/verify", undefined, wrongToken);
  return world;
}

/** Turns a valid request into a refused one, by the status that it then gets. */
export const spoil: Record<number, (good: Sent, operation: Operation, world: Opened) => Sent | Promise<Sent>> = {
  400: (good, operation) =>
    hasBody(operation) ? { ...good, body: { unexpected: true } } : { ...good, query: { unexpected: "1" } },
  401: (good) => ({ ...good, headers: wrongToken }),
  // A key that may not do this, or a token with the least role.
  403: async (good, operation, { workspaceId, manage }) => {
    if (isManagement(operation)) {
      const { json } = await manage("POST", "/tokens", { name: "Ann", role: "viewer" });
      return { ...good, headers: { Authorization: `Bearer ${(json as { token: string }).token}` } };
    }
    const power = hasBody(operation) ? { readOnly: true } : { submitOnly: true };
    const { json } = await manage("POST", `/workspaces/${workspaceId}/keys`, power);
    return { ...good, headers: { Authorization: `Bearer ${(json as { key: string }).key}` } };
  },
  404: (good) => ({ ...good, path: nothing(good.path), query: nothing(good.query) }),
  408: (good) => ({ ...good, body: new ReadableStream() }),
  // Another workspace has items of the same names.
  409: async (good, _, { admin, manage }) => {
    const { deployId } = await createTenant(admin);
    await manage("POST", `/deployments/${deployId}/rename`, { name: "live" });
    const references: Record<string, string> = { prompt: "greeting", dep: "greeting@live" };
    const toReference = (id: string) => references[id.split("_")[0]!] ?? id;
    return {
      ...good,
      path: Object.fromEntries(Object.entries(good.path ?? {}).map(([name, id]) => [name, toReference(id)])),
    };
  },
  412: (good) => ({ ...good, headers: { "If-Match": '"99"' } }),
  413: (good) => ({ ...good, body: { padding: "x".repeat(5000) } }),
  415: (good) => ({
    ...good,
    headers: { ...good.headers, "Content-Encoding": "gzip" },
    body: new Uint8Array(gzipSync(JSON.stringify(good.body ?? {}))),
  }),
  // In management, worldFor has sent too many before.
  429: async (good, operation, { workspaceId, manage }) => {
    if (isManagement(operation)) return { ...good, headers: wrongToken };
    await manage("PATCH", `/workspaces/${workspaceId}`, { monthlyLimit: 0 });
    return good;
  },
  500: (good, _, { state }) => {
    state.intercept = () => Promise.reject(new Error("disk on fire"));
    return good;
  },
  503: (good, _, { state }) => {
    state.intercept = () => Promise.reject(Object.assign(new Error("locked"), { code: "SQLITE_BUSY" }));
    return good;
  },
};
