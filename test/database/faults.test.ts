// A database that fails at every operation and statement, with every kind of error. Nothing is half written. Nothing is
// counted that was not answered, unless a reply was lost. The next request is served.
// Runs on Node alone.
import process from "node:process";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { updateWorkspace } from "../actions.ts";
import { verifyBalanced } from "../balanced.ts";
import { failureOf } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import {
  adminToken,
  captureLog,
  createTenant,
  goodBody,
  managementOf,
  noon,
  openMemory,
  promptFile,
  readAnswer,
  serveContext,
  withManagement,
} from "../helpers.ts";
import type { Answer } from "../helpers.ts";
import { createFaultyClient, errors, secret } from "./faulty-client.ts";
import type { Fault, Outcome } from "./faulty-client.ts";

const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);

/** A service with a timeout in ms, on a database that fails on demand, and direct access to its content. */
async function createStage(protocol: "file" | "http", timeoutMs: number) {
  const memory = await openMemory();
  const { client, fail, seen } = createFaultyClient(memory, protocol);
  const database = openDatabase(client);
  const clock = () => noon;
  const admin = managementOf(memory, clock);
  const tenant = await createTenant(admin, 1e9);
  const { log, logged } = captureLog("error");
  const settings = { clock, log, faces: withManagement, maxBodyBytes: 4096 };
  const { fetch } = serveContext(database, settings, { timeoutMs });
  // Makes the first use of the database, which has more statements.
  await database.read({ sql: "select 1" });

  async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const Authorization = `Bearer ${path.startsWith("/admin") ? adminToken : tenant.key}`;
    const init = { method, headers: { Authorization, ...headers } };
    const request = new Request(
      `http://ledger.test${path}`,
      body === undefined ? init : { ...init, body: JSON.stringify(body) },
    );
    return readAnswer(await fetch(request));
  }

  /** The counts of usage, and the number of other rows. */
  const countAll = async (): Promise<Counts> => ({ ...(await memory.read({ sql: countSql }))[0] }) as Counts;

  return { ...tenant, send, countAll, admin, fail, seen, logged, close: () => memory.close() };
}

const tables = [
  "calls",
  "diagnoses",
  "idempotency_keys",
  "workspaces",
  "api_keys",
  "api_key_secrets",
  "prompts",
  "prompt_versions",
  "deployments",
];
const countSql = `select ${tables.map((table) => `(select count(*) from ${table}) as ${table}`)},
  (select coalesce(sum(reads), 0) from quota_usage) as reads, (select coalesce(sum(submits), 0) from quota_usage) as submits,
  (select sum(revision) from deployments) as revisions, (select position from audit_head) as changes`;

type Stage = Awaited<ReturnType<typeof createStage>>;

type Counts = Record<string, number>;

type Ask = {
  name: string;
  /** Its status when it succeeds, and what it then adds to the counts. */
  status: number;
  adds: Counts;
  ask(stage: Stage): Promise<Answer>;
};

let sent = 0;

const record = { calls: 1, diagnoses: 1, submits: 1 };
const submitTo = (deployId: string) => `/v1/diagnosis?deployId=${deployId}`;

/** Requests that the ledger decides. */
const asks: Ask[] = [
  {
    name: "GET",
    status: 200,
    adds: { calls: 1, reads: 1 },
    ask: ({ send, deployId }) => send("GET", `/v1/prompts?deployId=${deployId}`),
  },
  { name: "POST", status: 201, adds: record, ask: ({ send, deployId }) => send("POST", submitTo(deployId), goodBody) },
  {
    name: "POST under an Idempotency-Key",
    status: 201,
    adds: { ...record, idempotency_keys: 1 },
    ask: ({ send, deployId }) => send("POST", submitTo(deployId), goodBody, { "Idempotency-Key": `${sent++}` }),
  },
  { name: "POST of nothing", status: 400, adds: {}, ask: ({ send, deployId }) => send("POST", submitTo(deployId)) },
  { name: "GET of nothing", status: 404, adds: {}, ask: ({ send }) => send("GET", "/v1/prompts?deployId=dep_0") },
  { name: "GET /v1/usage", status: 200, adds: {}, ask: ({ send }) => send("GET", "/v1/usage") },
];

const publish = ({ send, workspaceId }: Stage, deploy: string) =>
  send("POST", `/admin/v1/workspaces/${workspaceId}/publish`, { ...promptFile, title: `${sent++}`, deploy });

const verification: Ask = {
  name: "verify",
  status: 200,
  adds: {},
  ask: ({ send }) => send("GET", "/admin/v1/verify"),
};

/** Requests that use the database without the ledger. */
const others: Ask[] = [
  verification,
  {
    name: "a new workspace",
    status: 201,
    adds: { workspaces: 1, changes: 1 },
    ask: ({ send }) => send("POST", "/admin/v1/workspaces", { name: "A" }),
  },
  {
    name: "a new key",
    status: 201,
    adds: { api_keys: 1, api_key_secrets: 1, changes: 1 },
    ask: ({ send, workspaceId }) => send("POST", `/admin/v1/workspaces/${workspaceId}/keys`, {}),
  },
  {
    name: "a published version",
    status: 200,
    adds: { prompt_versions: 1, revisions: 1, changes: 2 },
    ask: (stage) => publish(stage, stage.deployId),
  },
  {
    name: "a first publication",
    status: 201,
    adds: { prompts: 1, prompt_versions: 1, deployments: 1, revisions: 1, changes: 2 },
    ask: (stage) => publish(stage, `new-${sent++}`),
  },
  {
    name: "a new deployment",
    status: 201,
    adds: { deployments: 1, revisions: 1, changes: 1 },
    ask: ({ send, workspaceId, promptId }) =>
      send("POST", `/admin/v1/workspaces/${workspaceId}/deployments`, { name: `x-${sent++}`, promptId }),
  },
  {
    name: "another name",
    status: 200,
    adds: { revisions: 1, changes: 1 },
    ask: ({ send, deployId }) => send("POST", `/admin/v1/deployments/${deployId}/rename`, { name: `${sent++}` }),
  },
];

/** A 500 does not show its cause, which is in the log under its id. Management reports a lock as such. */
function isFailure({ logged }: Stage, { status, text, headers }: Answer, thrown: unknown): void {
  const { error } = JSON.parse(text);
  if (failureOf(thrown) === "retryable" && status === 503) return assert.is(error, "Database is busy");
  assert.equal([status, error], [500, "Internal server error"]);
  assert.not.ok(JSON.stringify([...headers]).includes(secret));
  const index = logged.findIndex((line) => JSON.parse(line).requestId === headers.get("X-Request-Id"));
  assert.ok(index >= 0);
  const { cause } = JSON.parse(logged.splice(index, 1)[0]!);
  assert.ok(String(cause).includes(thrown === undefined ? "undefined" : secret), `${cause} is logged`);
}

const plus = (counts: Counts, adds: Counts): Counts =>
  Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count + (adds[name] ?? 0)]));

function isOneOf(counts: Counts, ...wanted: Counts[]): void {
  const [found, ...texts] = [counts, ...wanted].map((one) => JSON.stringify(one));
  assert.ok(texts.includes(found!), `${found} is not among ${texts.join(" ")}`);
}

/** Sends a request that is to meet a fault. Returns whether it did, because it may have had fewer operations. */
async function meet(stage: Stage, { name, status, adds, ask }: Ask, fault: Fault, outcome: Outcome) {
  const about = `${name}, failing ${fault.operation}. ${fault.at}`;
  const before = await stage.countAll();
  stage.fail(fault);
  const answer = await ask(stage);
  const { failed } = stage.seen;
  stage.fail(undefined);
  const after = await stage.countAll();
  const isRefused = failed && (outcome === "refused" || outcome !== "retried" && answer.status === 500);
  assert.is(answer.status >= 400, isRefused || status >= 400, about);
  if (isRefused) {
    isFailure(stage, answer, fault.thrown);
    isOneOf(after, before, ...(fault.at === "after" ? [plus(before, adds)] : []));
  } else {
    assert.equal([answer.status, after, stage.logged], [status, plus(before, adds), []], about);
  }
  if (!failed || fault.at !== "before" || fault.operation > 0) return failed;
  const next = await ask(stage);
  assert.equal([next.status, await stage.countAll()], [status, plus(after, adds)], `the next after ${about}`);
  return true;
}

const failingOnce = (make: () => unknown) => (at: Fault["at"], operation: number): Fault => ({
  at,
  operation,
  thrown: make(),
  lasts: false,
});

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

const changes = isFull ? 300 : 0; // more than a page of a verification

// In part, each statement still meets some of the errors.
const each = isFull ? 1 : 32;
let met = 0;
const isMet = () => met++ % each === 0;

for (const protocol of ["file", "http"] as const) {
  const test = suite(`faults of a ${protocol === "file" ? "file" : "server"}`);
  test.before(() => void process.on("unhandledRejection", note));
  test.after(() => void process.off("unhandledRejection", note));
  // Each test has one of its own: a verification reads all that was ever changed in it.
  const onStage = (run: (stage: Stage) => Promise<void>) => async () => {
    const stage = await createStage(protocol, 600_000);
    await run(stage);
    stage.close();
  };
  // Its requests give up after two attempts or so, at once, and never while they wait for others.
  const hasty = await createStage(protocol, 3);
  const { setInterval } = globalThis;
  test.after.each(() => void Object.assign(globalThis, { setInterval }));

  for (const { name, make, ...outcomes } of errors) {
    const outcome = outcomes[protocol];
    if (outcome === undefined) continue;
    const once = failingOnce(make);

    test(
      `a request that meets ${name} is ${outcome}, whichever statement meets it`,
      onStage(async (stage) => {
        for (const ask of asks) {
          for (const at of ["before", "after"] as const) assert.ok(await meet(stage, ask, once(at, 0), outcome));
          const { statements } = stage.seen;
          // A read has five statements, a submit six, and one with an idempotency key eight. Looking up a key has one.
          assert.ok(statements >= (Object.keys(ask.adds).length === 0 ? 1 : 5));
          if (ask.status < 300) {
            for (const at of upTo(statements).filter(isMet)) assert.ok(await meet(stage, ask, once(at, 0), outcome));
          }
        }
        await verifyBalanced(stage.admin);
      }),
    );

    test(
      `a request without the ledger that meets ${name} is refused, whichever operation meets it`,
      onStage(async (stage) => {
        for (const ask of others.filter(isMet)) {
          let operation = 0;
          while (await meet(stage, ask, once("before", operation), "refused")) operation++;
          assert.ok(operation > 0);
        }
        await verifyBalanced(stage.admin);
      }),
    );

    if (outcome !== "retried") continue;
    test(`concurrent requests that meet ${name} repeatedly are refused, and counted at most once`, async () => {
      // After a stall, the sweep over what waits would come first.
      Object.assign(globalThis, { setInterval: () => undefined });
      for (const at of ["before", "after"] as const) {
        const before = await hasty.countAll();
        const thrown = make();
        hasty.fail({ at, operation: 0, thrown, lasts: true });
        const answers = await Promise.all(asks.map(({ ask }) => ask(hasty)));
        hasty.fail(undefined);
        for (const answer of answers) isFailure(hasty, answer, thrown);
        const { reads, diagnoses, ...counts } = await hasty.countAll();
        if (at !== "after") assert.equal({ ...counts, reads, diagnoses }, before);
        assert.ok(reads! <= before.reads! + 1 && diagnoses! <= before.diagnoses! + 2);
        await verifyBalanced(hasty.admin);
        for (const { ask, status } of asks) assert.is((await ask(hasty)).status, status);
      }
    });
  }

  test(
    "a request without the ledger fails as a whole, whichever statement fails",
    onStage(async (stage) => {
      const once = failingOnce(() => new Error(secret));
      for (const ask of isFull ? others : others.slice(1, 4)) {
        for (let operation = 0; await meet(stage, ask, once("before", operation), "refused"); operation++) {
          for (const at of ["after", ...upTo(stage.seen.statements).filter(isMet)] as const) {
            assert.ok(await meet(stage, ask, once(at, operation), "refused"));
          }
        }
      }
      for (let nth = 0; nth < changes; nth++) await updateWorkspace(stage.admin, stage.workspaceId, { name: `${nth}` });
      for (let operation = 0; await meet(stage, verification, once("before", operation), "refused");) operation++;
      await verifyBalanced(stage.admin);
    }),
  );

  test("no rejection was left unhandled", async () => {
    await new Promise((resolve) => setTimeout(resolve));
    assert.equal(unhandled, []);
  });

  test.run();
}
