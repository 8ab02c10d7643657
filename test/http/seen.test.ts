// What operators see of requests: log lines, ids, probes and metrics.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { build } from "../../src/common/build.ts";
import type { Database } from "../../src/database/database.ts";
import { heldBody } from "../held-body.ts";
import {
  adminToken,
  bearer,
  captureLog,
  createTenant,
  createWorld,
  goodBody,
  openMemory,
  serveContext,
} from "../helpers.ts";
import type { World } from "../helpers.ts";

const test = suite("what an operator sees");

const { log: silentLog } = captureLog("error");

/** The new lines of the log as objects, without times and durations. */
function takeLines({ logged }: World): Record<string, unknown>[] {
  return logged.splice(0).map((line) => {
    const { time: _, ms, ...event } = JSON.parse(line);
    assert.type(ms, "number");
    return event;
  });
}

test("a request is one log line, with its id, route, status and the ids that it names", async () => {
  const world = await createWorld({ logLevel: "info" });
  const { workspaceId, keyId, deployId } = world;
  const known = { workspaceId, keyId, deployId, groupSize: 1 };
  const line = { level: "info", message: "Request", requestId: "test" };
  await world.read();
  await world.submit();
  await world.send("/v1/usage");
  assert.equal(takeLines(world), [
    { ...line, method: "GET", route: "/v1/prompts", status: 200, ...known },
    { ...line, method: "POST", route: "/v1/diagnosis", status: 201, ...known },
    { ...line, method: "GET", route: "/v1/usage", status: 200, workspaceId, keyId },
  ]);
});

test("requests that share a transaction log how many they were", async () => {
  const world = await createWorld({ logLevel: "info" });
  // From here on the hash of the key is cached, so that concurrent requests share a group.
  await world.send("/v1/usage");
  takeLines(world);
  await Promise.all([world.read(), world.read(), world.read()]);
  assert.equal(takeLines(world).map(({ groupSize }) => groupSize), [3, 3, 3]);
});

test("the line of a refusal has its kind, and the ids of the key if it is known", async () => {
  const world = await createWorld({ logLevel: "info", monthlyLimit: 0 });
  const { workspaceId, keyId } = world;
  const other = await createTenant(world.admin, 1, "Other");
  await world.send("/nowhere");
  await world.send("/v1/diagnosis");
  await world.send("/v1/prompts?deployId=d", { headers: {} });
  await world.read("dep_1", "pl_nonsense");
  await world.read(other.deployId);
  await world.submit("{");
  await world.read();
  const seen = takeLines(world).map(({ route, status, error, workspaceId, keyId }) => [
    ...[route, status, error, workspaceId, keyId],
  ]);
  const nobody = [undefined, undefined];
  assert.equal(seen, [
    ["none", 404, "not_found", ...nobody],
    ["/v1/diagnosis", 405, "method_not_allowed", ...nobody],
    ["/v1/prompts", 401, "unauthorized", ...nobody],
    ["/v1/prompts", 401, "unauthorized", ...nobody],
    ["/v1/prompts", 404, "not_found", workspaceId, keyId],
    ["/v1/diagnosis", 400, "invalid", workspaceId, keyId],
    ["/v1/prompts", 429, "quota_exhausted", workspaceId, keyId],
  ]);
});

test("the line of a management request has the deployment, workspace or key in its path", async () => {
  const world = await createWorld({ logLevel: "info" });
  const { workspaceId, keyId, deployId } = world;
  await world.manage("GET", `/deployments/${deployId}`);
  await world.manage("GET", `/workspaces/${workspaceId}/usage/2026-11`);
  await world.manage("POST", `/keys/${keyId}/revoke`);
  await world.manage("GET", `/deployments/${world.key}`);
  const seen = takeLines(world).map(({ route, status, workspaceId, keyId, deployId }) => [
    ...[route, status, workspaceId, keyId, deployId],
  ]);
  const none = undefined;
  assert.equal(seen, [
    ["/admin/v1/deployments/:id", 200, none, none, deployId],
    ["/admin/v1/workspaces/:workspaceId/usage/:month", 200, workspaceId, none, none],
    ["/admin/v1/keys/:id/revoke", 200, none, keyId, none],
    ["/admin/v1/deployments/:id", 404, none, none, none],
  ]);
});

test("the id in the response is in the log: the request's own, or a new one", async () => {
  const world = await createWorld({ logLevel: "info" });
  const given = ["4bf92f35-77b3-4da6", world.key, undefined];
  for (const id of given) {
    const headers = new Headers(id === undefined ? {} : { "X-Request-Id": id });
    const answer = await world.fetch(new Request("http://ledger.test/nowhere", { headers }));
    assert.equal(takeLines(world).map(({ requestId }) => requestId), [answer.headers.get("X-Request-Id")]);
  }
});

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const parentId = "00f067aa0ba902b7";
const traces: [traceparent: string, isKept: boolean][] = [
  [`00-${traceId}-${parentId}-01`, true],
  [`00-${traceId}-${parentId}-00`, true],
  [`cc-${traceId}-${parentId}-01-what-will-be`, true],
  [`00-${traceId}-${parentId}-01-more`, false],
  [`ff-${traceId}-${parentId}-01`, false],
  [`00-${"0".repeat(32)}-${parentId}-01`, false],
  [`00-${traceId}-${"0".repeat(16)}-01`, false],
  [`00-${traceId.toUpperCase()}-${parentId}-01`, false],
  ["nothing", false],
  ["", false],
];

test("the log line has the ids of the traceparent", async () => {
  const world = await createWorld({ logLevel: "info" });
  for (const [traceparent, isKept] of traces) {
    await world.send("/nowhere", { headers: { traceparent } });
    const [line] = takeLines(world);
    assert.equal([line?.traceId, line?.parentId], isKept ? [traceId, parentId] : [undefined, undefined], traceparent);
  }
});

/** A database in memory that can go away. */
async function openFragile() {
  const memory = await openMemory();
  const state = { isAway: false };
  const whileThere = <T>(operate: () => Promise<T>) => state.isAway ? Promise.reject(new Error("gone")) : operate();
  const database: Database = {
    ...memory,
    read: (statement) => whileThere(() => memory.read(statement)),
    write: (statements) => whileThere(() => memory.write(statements)),
  };
  return { state, database };
}

test("/healthz answers while the database is away, and /readyz says that it is", async () => {
  const { state, database } = await openFragile();
  const world = await createWorld({ logLevel: "info", database });
  const fine = [200, { status: "ok" }], healthy = [200, JSON.parse(JSON.stringify({ status: "ok", ...build }))];
  const ask = async (path: string) => {
    const { status, json } = await world.send(path, { headers: {} });
    return [status, json];
  };
  assert.equal([await ask("/healthz"), await ask("/readyz")], [healthy, fine]);
  state.isAway = true;
  // The last check is cached for a moment, however many probes there are.
  assert.equal(await ask("/readyz"), fine);
  world.now += 1000;
  const away = await world.send("/readyz", { headers: {} });
  assert.equal([away.status, away.json], [503, { error: "Database cannot be reached" }]);
  assert.is(away.headers.get("Retry-After"), "1");
  assert.equal(await ask("/healthz"), healthy);
  assert.equal(takeLines(world).map(({ level, status }) => [level, status]), [["warn", 503]]);
});

test("a draining service is not ready, keeps serving, and closes its connections", async () => {
  const world = await createWorld();
  assert.is((await world.read()).headers.get("Connection"), null);
  await world.drain();
  const ready = await world.send("/readyz");
  assert.equal([ready.status, ready.json], [503, { error: "Service is stopping" }]);
  const read = await world.read();
  assert.equal([read.status, read.headers.get("Connection")], [200, "close"]);
  assert.is((await world.send("/healthz")).status, 200);
});

test("draining ends when all earlier requests are answered", async () => {
  const world = await createWorld({ bodyTimeout: 600_000 });
  const { stream: body, taken, finish } = heldBody(JSON.stringify(goodBody));
  const path = `http://ledger.test/v1/diagnosis?deployId=${world.deployId}`;
  const init = { method: "POST", headers: bearer(world.key), body, duplex: "half" } as RequestInit;
  const slow = world.fetch(new Request(path, init));
  await taken;
  let isDrained = false;
  const drained = world.drain().then(() => isDrained = true);
  assert.is((await world.read()).status, 200);
  assert.is(isDrained, false);
  finish();
  assert.is((await slow).status, 201);
  await drained;
});

test("a closing service refuses new requests, and waits for earlier ones", async () => {
  const { context, fetch } = serveContext(await openMemory(), { log: silentLog, metricsToken: adminToken });
  const headers = bearer(adminToken);
  const statuses = () =>
    Promise.all(
      ["/v1/prompts", "/nowhere", "/healthz", "/metrics"].map(async (path) =>
        (await fetch(new Request(`http://ledger.test${path}`, { headers }))).status
      ),
    );
  const { inFlight } = context;
  const ends = [inFlight.begin()];
  const drained = inFlight.drain();
  ends.push(inFlight.begin());
  let isClosed = false;
  const closed = inFlight.close().then(() => isClosed = true);
  assert.equal(await statuses(), [503, 503, 200, 200]);
  for (const end of ends) {
    assert.is(isClosed, false);
    end();
    await drained;
  }
  await closed;
  assert.is(inFlight.count(), 0);
});

test("refuses requests while 20,000 are unanswered, except to the paths of probes", async () => {
  const settings = { log: silentLog, metricsToken: adminToken, basePath: "/llm" } as const;
  const { context, fetch } = serveContext(await openMemory(), settings);
  const statuses = (paths: string[]) =>
    Promise.all(
      paths.map(async (path) =>
        (await fetch(new Request(`http://ledger.test/llm${path}`, { headers: bearer(adminToken) }))).status
      ),
    );
  const paths = ["/v1/prompts", "/nowhere", "/healthz", "/readyz", "/metrics"];
  const ends = Array.from({ length: 20_000 }, () => context.inFlight.begin());
  assert.equal(await statuses(paths), [503, 503, 200, 200, 200]);
  const likeProbes = ["/v1/usage?x=/metrics", "/x/readyz", "/healthz/", "/readyz?full"];
  assert.equal(await statuses(likeProbes), [503, 503, 200, 200]);
  for (const end of ends) end();
  assert.equal(await statuses(paths), [401, 404, 200, 200, 200]);
});

test("responses that their clients do not read keep nobody else out", async () => {
  const { context: { inFlight }, fetch } = serveContext(await openMemory(), { log: silentLog });
  const ends = Array.from({ length: 20_000 }, () => inFlight.begin(true));
  assert.is((await fetch(new Request("http://ledger.test/v1/prompts"))).status, 401);
  assert.is(inFlight.count(), 20_000);
  for (const end of ends) end();
  assert.is(inFlight.count(), 0);
});

test("answers even if the log fails, and the request is no longer in flight", async () => {
  const fail = () => {
    throw new Error("the log is full");
  };
  const log = { debug: fail, info: fail, warn: fail, error: fail };
  const { context, fetch } = serveContext(await openMemory(), { log });
  for (const path of ["/nowhere", "/healthz"]) await fetch(new Request(`http://ledger.test${path}`));
  assert.is(context.inFlight.count(), 0);
});

test("a large response is in flight until it is sent, and has its length", async () => {
  const title = "é".repeat(200);
  const messages = Array.from({ length: 300 }, () => ({ role: "user", content: "€".repeat(200) }));
  const world = await createWorld({ maxBodyBytes: 1e6, servesMetrics: true });
  const { status } = await world.manage("POST", `/prompts/${world.promptId}/versions`, { title, messages });
  assert.is(status, 201);
  await world.manage("POST", `/deployments/${world.deployId}/promote`, { version: 2 });
  const url = `http://ledger.test/v1/prompts?deployId=${world.deployId}`;
  const response = await world.fetch(new Request(url, { headers: bearer(world.key) }));
  const reader = response.body!.getReader();
  const first = await reader.read();
  assert.is((await measured(world)).get("promptledger_http_requests_in_flight"), 2);
  let length = first.value!.length;
  for (let part = await reader.read(); !part.done; part = await reader.read()) length += part.value.length;
  assert.is(length, Number(response.headers.get("Content-Length")));
  assert.is((await measured(world)).get("promptledger_http_requests_in_flight"), 1);
  const whole = (await world.read()).json as { title: string; messages: unknown };
  assert.equal([whole.title, whole.messages], [title, messages]);
});

/** The values of the metrics, by name and labels. */
async function measured(world: World): Promise<Map<string, number>> {
  const { status, headers, text } = await world.send("/metrics", { headers: bearer(adminToken) });
  assert.equal([status, headers.get("Content-Type")], [200, "text/plain; version=0.0.4; charset=utf-8"]);
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]),
  );
}

test("/metrics counts requests, refusals, groups and errors", async () => {
  const { state, database } = await openFragile();
  const world = await createWorld({ servesMetrics: true, monthlyLimit: 3, database });
  await world.send("/v1/usage");
  await Promise.all([world.read(), world.read()]);
  await world.submit();
  await world.read();
  await world.send("/nowhere/at/all");
  const metrics = await measured(world);
  const name = "promptledger_http_requests_total";
  assert.equal(
    [...metrics].filter(([key]) => key.startsWith(name)),
    [
      [`${name}{method="GET",route="/v1/usage",status="200"}`, 1],
      [`${name}{method="GET",route="/v1/prompts",status="200"}`, 2],
      [`${name}{method="POST",route="/v1/diagnosis",status="201"}`, 1],
      [`${name}{method="GET",route="/v1/prompts",status="429"}`, 1],
      [`${name}{method="GET",route="none",status="404"}`, 1],
    ],
  );
  assert.is(metrics.get('promptledger_http_request_duration_seconds_count{method="GET",route="/v1/prompts"}'), 3);
  assert.is(metrics.get("promptledger_quota_refusals_total"), 1);
  assert.is(metrics.get('promptledger_group_size_bucket{le="1"}'), 2);
  assert.is(metrics.get('promptledger_group_size_bucket{le="2"}'), 3);
  assert.is(metrics.get("promptledger_group_size_sum"), 4);
  assert.is(metrics.get("promptledger_commit_duration_seconds_count"), 3);
  assert.is(metrics.get("promptledger_waiting_requests"), 0);
  assert.is(metrics.get("promptledger_http_requests_in_flight"), 1);
  state.isAway = true;
  assert.is((await world.read()).status, 500);
  assert.is((await measured(world)).get('promptledger_database_errors_total{kind="other"}'), 1);
});

test("/metrics requires the admin token", async () => {
  const world = await createWorld({ servesMetrics: true });
  for (const headers of [{}, bearer(""), bearer(world.key), bearer(`${adminToken}x`)]) {
    for (const method of ["GET", "HEAD", "POST"]) {
      const { status, text } = await world.send("/metrics", { method, headers });
      assert.is(status, 401);
      assert.not.match(text, /promptledger_/);
    }
  }
  assert.is((await world.send("/metrics", { headers: bearer(adminToken) })).status, 200);
});

test.run();
