// Starting, invalid settings, and stopping, on the runtime that runs the tests.
// Runs on every runtime.
import { createServer as createHttpServer } from "node:http";
import { readdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { atOnce } from "../at-once.ts";
import { createFolder, runFile, startProgram, startService, until } from "../conformance/processes.ts";
import type { Running } from "../conformance/processes.ts";
import { createSeededDatabase } from "../faults/audit.ts";
import { holdRequest, holdSubmit, untilDraining } from "../conformance/held.ts";
import { send } from "../conformance/http-client.ts";
import { version } from "../../src/common/version.ts";
import { findCommit } from "../../src/runtime/commit.ts";
import { adminToken } from "../helpers.ts";
import { currentRuntime, pathOf } from "../runtimes.ts";
import { createClock, startOnClock } from "./clock.ts";

const starts = suite(`start on ${currentRuntime}`);
const test = atOnce(starts, 3);
/** Adds a test of what no runtime does in its own way. */
const testOnNode: (...added: Parameters<typeof test>) => void = currentRuntime === "Node" ? test : () => {};

const folder = await createFolder();
starts.after(() => folder.remove());

let files = 0;
/** Settings with a separate database, because only one process at a time serves a file. */
const settingsOf = (settings: Record<string, string> = {}) => ({
  DATABASE_URL: `file:${folder.path}/${++files}.db`,
  ...settings,
});
const managed = (settings: Record<string, string> = {}) => settingsOf({ ADMIN_TOKEN: adminToken, ...settings });
/** The same, and as much time to stop as the test takes. */
const patient = (settings: Record<string, string> = {}) => managed({ SHUTDOWN_TIMEOUT: "3600", ...settings });

const readMetrics = (base: string) => send(base, "/metrics", { headers: [`Authorization: Bearer ${adminToken}`] });

testOnNode(
  "starts on an empty database without management or metrics, and shows the three commands that set it up",
  async () => {
    const service = await startService(
      currentRuntime,
      settingsOf({ npm_lifecycle_event: "start", npm_package_name: "promptledger" }),
    );
    assert.is((await send(service.url, "/v1/prompts")).status, 401);
    assert.is((await readMetrics(service.url)).status, 404);
    assert.is(await service.stop(), 0);
    const commands = service.output().match(/npm run -s cli -- \w+ \w+/g);
    assert.equal(
      commands,
      ["workspace create", "key create", "prompt push"].map((name) => `npm run -s cli -- ${name}`),
    );
  },
);

/** The events of a log in JSON. The first one has the URL of the service. */
function readEvents({ url, output }: Running) {
  const events = output().split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  const { time: _, level, url: listening, runtime, commit, ...fields } = events[0];
  assert.equal([level, listening, runtime.split(" ")[0]], ["info", url, currentRuntime]);
  assert.match(runtime, /^\w+ \d+\.\d+\.\d+/);
  return {
    messages: events.map(({ message }) => message),
    fields,
    build: { version: fields.version, commit, runtime },
  };
}

const limits = { maxBodyBytes: 1048576, bodyBudgetBytes: 67108864, shutdownTimeoutMs: 10_000 };
const listening = { message: "Listening", version, management: "off", ...limits };

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
  test(`${signal} stops it, and the log has version, runtime, limits and what another signal would do`, async () => {
    const settings = settingsOf({ LOG_FORMAT: "json" });
    const service = await startService(currentRuntime, settings);
    assert.is(await service.stop(signal), 0);
    const { messages, fields } = readEvents(service);
    assert.equal(fields, { ...listening, database: settings.DATABASE_URL });
    assert.equal(messages, [
      "Listening",
      "The database is empty",
      "Stopping; a second SIGTERM or Ctrl-C exits at once",
      "Stopped",
    ]);
  });
}

testOnNode(
  "with an admin token management and metrics are on and require it, and the log has the limits in force",
  async () => {
    const settings = managed({ MAX_BODY_BYTES: "1000", SHUTDOWN_TIMEOUT: "60", LOG_FORMAT: "json" });
    const service = await startService(currentRuntime, settings);
    assert.equal([(await send(service.url, "/metrics")).status, (await readMetrics(service.url)).status], [401, 200]);
    assert.is(await service.stop(), 0);
    const pages = `${service.url}/console`;
    const changed = {
      database: settings.DATABASE_URL,
      management: "on",
      maxBodyBytes: 1000,
      shutdownTimeoutMs: 60_000,
    };
    assert.equal(readEvents(service).fields, { ...listening, console: pages, ...changed });
  },
);

testOnNode("METRICS_PORT serves probes and metrics on METRICS_HOST", async () => {
  const service = await startService(currentRuntime, managed({ METRICS_PORT: "0", METRICS_HOST: "localhost" }));
  assert.match(service.output(), /metrics=http:\/\/localhost:\d+\/metrics/);
  assert.is(await service.stop(), 0);
});

test("METRICS_PORT serves probes and metrics on loopback without a token, and the service has no metrics", async () => {
  const service = await startService(currentRuntime, managed({ METRICS_PORT: "0" }));
  try {
    const [, metrics] = /metrics=(http:\/\/[\d.]+:\d+)\/metrics/.exec(service.output())!;
    assert.is((await send(service.url, "/metrics")).status, 404);
    assert.is((await send(service.url, "/v1/prompts")).status, 401);
    for (const path of ["/healthz", "/readyz"]) {
      for (const base of [service.url, metrics!]) assert.is((await send(base, path)).status, 200, path);
    }
    assert.is((await send(metrics!, "/v1/prompts")).status, 404);
    // A scrape waits half a second for the database, and has its size later.
    let text = "";
    await until(async () =>
      (text = (await send(metrics!, "/metrics")).text).includes("\npromptledger_database_bytes ")
    );
    assert.match(text, 'promptledger_http_requests_total{method="GET",route="/v1/prompts",status="401"} 1');
    const measured = ["process_resident_memory_bytes", "process_cpu_seconds_total", "process_start_time_seconds"];
    measured.push("promptledger_database_bytes", "promptledger_upkeep_failures_total");
    for (const name of measured) assert.match(text, new RegExp(`^${name} [\\d.]+$`, "m"));
    assert.match(text, /^promptledger_event_loop_lag_seconds_count \d+$/m);
  } finally {
    assert.is(await service.stop(), 0);
  }
});

testOnNode("/healthz, the metrics and the log say which build runs, and on what", async () => {
  const service = await startService(currentRuntime, managed({ LOG_FORMAT: "json" }));
  const { version, commit } = JSON.parse((await send(service.url, "/healthz")).text);
  const [, labels] = /^promptledger_build_info{(.*)} 1$/m.exec((await readMetrics(service.url)).text)!;
  assert.is(await service.stop(), 0);
  const { build } = readEvents(service);
  assert.equal([build.version, build.commit], [version, commit]);
  const known = Object.entries(build).filter(([, value]) => value !== undefined);
  assert.is(labels, known.map(([name, value]) => `${name}="${value}"`).join(","));
});

test("npm forwards the signal to the service that it started", async () => {
  const script = { Node: "start", Bun: "start:bun", Deno: "start:deno" }[currentRuntime];
  const settings = settingsOf({ PORT: "0" });
  const npm = await startProgram(["npm", "run", "-s", script], settings, /Listening.*?(http:\/\/[\d.]+:\d+)/);
  const commit = await findCommit(pathOf("."));
  assert.equal(JSON.parse((await send(npm.seen, "/healthz")).text), { status: "ok", version, ...commit && { commit } });
  assert.is(await npm.stop(), 0);
  assert.match(npm.output(), " info  Stopped");
});

test("a stalled client does not prevent it from stopping", async () => {
  const settings = managed({ SHUTDOWN_TIMEOUT: "1", LOG_FORMAT: "json" });
  const service = await startService(currentRuntime, settings);
  const held = await holdRequest(service.url);
  assert.is(await service.stop(), 0);
  assert.match(
    service.output(),
    /"level":"warn","message":"Timed out waiting for requests in flight","requests":1}\n.*"Stopped"}\n$/,
  );
  held.close();
});

test("a second signal more than a second after the first ends it at once, and SIGHUP never does", async () => {
  const clock = createClock(`${folder.path}/clock-of-another-signal`);
  const service = await startOnClock(currentRuntime, clock, patient());
  const held = await holdRequest(service.seen);
  void service.stop();
  await untilDraining(service.seen);
  clock.set(1_000);
  void service.stop("SIGHUP");
  // This one is answered after the signal.
  assert.is((await send(service.seen, "/healthz")).status, 200);
  assert.is(await service.stop(), 1);
  held.close();
});

test("signals within a second of the first count as the first", async () => {
  const clock = createClock(`${folder.path}/clock-of-the-same-signal`);
  const service = await startOnClock(currentRuntime, clock, patient());
  const held = await holdRequest(service.seen);
  const stopped = service.stop();
  await untilDraining(service.seen);
  clock.set(999);
  for (const signal of ["SIGTERM", "SIGINT"] as const) void service.stop(signal);
  assert.is((await send(service.seen, "/healthz")).status, 200);
  assert.is((await held.end()).status, 400);
  assert.is(await stopped, 0);
  held.close();
});

test("a submit that arrives while it stops is stored, even if its body ends when new requests are refused", async () => {
  const { url: DATABASE_URL, tenant } = await createSeededDatabase(`file:${folder.path}/late.db`);
  const service = await startService(currentRuntime, patient({ DATABASE_URL }));
  const first = await holdRequest(service.url);
  const stopped = service.stop();
  await untilDraining(service.url);
  const held = await holdSubmit(service.url, tenant);
  assert.is((await first.end()).status, 400);
  const isRefused = () => send(service.url, "/v1/usage").then(({ status }) => status === 503, () => true);
  await until(isRefused);
  assert.is((await held.end()).status, 201);
  assert.is(await stopped, 0);
  first.close();
  held.close();
});

testOnNode("with SHUTDOWN_DELAY it still answers when a service without it would have stopped", async () => {
  const service = await startService(currentRuntime, patient({ SHUTDOWN_DELAY: "3599" }));
  const other = await startService(currentRuntime, patient());
  void service.stop();
  await untilDraining(service.url);
  assert.is(await other.stop(), 0);
  assert.is((await send(service.url, "/v1/prompts")).status, 401);
  await service.stop("SIGKILL");
});

// Node and Deno undo what nohup does before they run a script.
if (currentRuntime === "Bun") {
  test("under nohup, SIGHUP does not stop it", async () => {
    const service = await startService(currentRuntime, settingsOf(), ["nohup"]);
    void service.stop("SIGHUP");
    for (let count = 0; count < 10; count++) assert.is((await send(service.url, "/readyz")).status, 200);
    assert.is(await service.stop(), 0);
  });
}

test("while it waits for a request, it is not ready but answers others, and then exits 0", async () => {
  const service = await startService(currentRuntime, patient());
  const held = await holdRequest(service.url);
  const stopped = service.stop();
  await untilDraining(service.url);
  assert.is((await send(service.url, "/v1/prompts")).status, 401);
  const answer = await held.end();
  assert.equal([answer.status, answer.headers.get("connection")], [400, "close"]);
  assert.is(await stopped, 0);
  held.close();
});

const runService = (settings: Record<string, string>) =>
  runFile(currentRuntime, "src/cli.ts", ["serve"], { PORT: "0", ...settings });

const failures: [name: string, settings: Record<string, string>, error: string, isOfRuntimes?: boolean][] = [
  [
    "a setting cannot be used",
    { PORT: "x", LOG_LEVEL: "y" },
    "  PORT must be an integer from 0 to 65535\n  LOG_LEVEL must",
  ],
  [
    "the database cannot be opened",
    { DATABASE_URL: `file:${folder.path}/no/such/folder.db` },
    "folder.db (DATABASE_URL) cannot be used",
  ],
  [
    "the database is another kind of file",
    { DATABASE_URL: `file:${pathOf("package.json")}` },
    "package.json (DATABASE_URL) cannot be used",
  ],
  [
    "nothing answers at the database's address",
    { DATABASE_URL: "http://127.0.0.1:1" },
    "http://127.0.0.1:1 (DATABASE_URL) cannot be used",
    true,
  ],
];

testOnNode("MIGRATE=false refuses an empty database, which the migrate command sets up", async () => {
  const settings = { DATABASE_URL: `file:${folder.path}/unmigrated.db`, MIGRATE: "false" };
  assert.match((await runService(settings)).said, "cannot be used: it does not exist: run promptledger migrate");
  assert.equal((await readdir(folder.path)).filter((name) => name.startsWith("unmigrated")), []);
  await writeFile(`${folder.path}/unmigrated.db`, "");
  const { code, said } = await runService(settings);
  assert.is(code, 1);
  assert.match(
    said,
    "cannot be used: it is empty. workspace create and migrate set it up",
  );
  assert.is((await runFile(currentRuntime, "src/cli.ts", ["migrate"], settings)).code, 0);
  const service = await startService(currentRuntime, settings);
  assert.is(await service.stop(), 0);
});

test("exits 1 if the server refuses the token, and says so", async () => {
  const server = createHttpServer((_, response) => void response.writeHead(401).end("no"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const { code, said } = await runService({ DATABASE_URL: url, DATABASE_AUTH_TOKEN: "a-wrong-token" });
  server.close();
  assert.is(code, 1);
  assert.ok(said.startsWith(`promptledger: the database ${url} (DATABASE_URL) cannot be used: `), said);
  assert.match(said, "401");
  assert.not.ok(said.includes("a-wrong-token") || said.includes("    at "), said);
});

for (const [name, settings, error, isOfRuntimes] of failures) {
  const add = isOfRuntimes ? test : testOnNode;
  add(`exits 1 if ${name}, and says so`, async () => {
    const { code, said } = await runService(settings);
    assert.is(code, 1);
    assert.ok(said.includes(error), said);
    assert.ok(said.startsWith("promptledger: ") && !said.includes("    at "), said);
  });
}

test("exits 1 if the port is taken, and says so", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const settings = settingsOf({ PORT: String(port) });
  const { code, said } = await runService(settings);
  const demo = await runFile(currentRuntime, "src/cli.ts", ["demo"], { ...settings, TMPDIR: folder.path });
  server.close();
  const cause = "the port is in use. Set PORT, or PORT=0 for a free one";
  const error = `promptledger: cannot listen on 127.0.0.1:${port} (HOST, PORT): ${cause}\n`;
  assert.equal([code, said], [1, error]);
  // The demo makes no history first.
  assert.equal([demo.code, demo.said], [1, error]);
});

starts.run();
