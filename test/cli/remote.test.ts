// The requests that the command line sends to a remote service, and how it handles unexpected responses.
// Runs on every runtime in CI.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { connectTo } from "../../src/cli/frame/remote.ts";
import { newApiKey, newId, newToken } from "../../src/common/ids.ts";
import { exportDiagnoses } from "../../src/management/records/records.ts";
import { createWorkspace, getWorkspace } from "../../src/management/kernel/workspaces.ts";
import { terminal } from "../../src/runtime/terminal.ts";
import { createFolder, until } from "../conformance/processes.ts";
import { adminToken } from "../helpers.ts";
import { holdTimers } from "./held-timers.ts";
import { runIn } from "./places.ts";

const test = suite("a service far away");

type Sent = { method: string; url: string; headers: Record<string, unknown>; body: string };
type Answering = (response: ServerResponse, sent: Sent) => void;

let answer: Answering = (response) => response.end();
let sent: Sent[] = [];

const server = createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8").on("data", (text: string) => void (body += text)).on("end", () => {
    const { method = "", url = "", headers } = request;
    sent.push({ method, url, headers, body });
    answer(response, sent.at(-1)!);
  });
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as AddressInfo;
const url = `http://127.0.0.1:${port}`;
const folder = await createFolder();
test.after(async () => {
  server.closeAllConnections();
  server.close();
  await folder.remove();
});
test.before.each(() => {
  sent = [];
});

const cli = (args: string[], env: Record<string, string> = {}) => runIn(args, { ADMIN_TOKEN: adminToken, ...env });
const far = (...args: string[]) => cli([...args, "--server", url]);
const json = (value: unknown, status = 200, headers: Record<string, string> = {}): Answering => (response) =>
  response.writeHead(status, { "Content-Type": "application/json", ...headers })
    .end(typeof value === "string" ? value : JSON.stringify(value));
const emptyList = json({ items: [], nextCursor: null });

test("sends requests below /admin/v1 with the token: ids in the path, the rest in the query or the body", async () => {
  answer = emptyList;
  await far("record", "list", "--deploy", "a/b?c d%", "--session", "1&2 ä\n", "--status", "-3", "--limit", "7");
  assert.equal([sent[0]!.method, sent[0]!.headers.authorization], ["GET", `Bearer ${adminToken}`]);
  const [path, query] = sent[0]!.url.split("?") as [string, string];
  assert.is(path, "/admin/v1/deployments/a%2Fb%3Fc%20d%25/diagnoses");
  assert.equal(Object.fromEntries(new URLSearchParams(query)), { sessionId: "1&2 ä\n", status: "-3", limit: "7" });

  answer = json({ id: "dep_1", changed: false, isActive: true, currentVersion: 2 });
  await far("deploy", "promote", "dep_1", "--version", "2", "--actor", "Ann");
  const { method, url: target, body } = sent[1]!;
  assert.equal([method, target], ["POST", "/admin/v1/deployments/dep_1/promote"]);
  assert.equal(JSON.parse(body), { actor: "Ann", version: 2 });

  answer = json({ deleted: 1 });
  await far("record", "delete", "diag_1");
  assert.equal([sent[2]!.method, sent[2]!.url, sent[2]!.body], ["DELETE", "/admin/v1/diagnoses/diag_1", ""]);
});

test("works below a base path, with --server in any place", async () => {
  answer = emptyList;
  for (const base of ["/llm", "/llm/", "/a/b"]) {
    assert.is((await cli(["--server", url + base, "--json", "workspace", "list"])).out, "[]\n");
  }
  assert.equal(sent.map(({ url }) => url.split("?")[0]), [
    "/llm/admin/v1/workspaces",
    "/llm/admin/v1/workspaces",
    "/a/b/admin/v1/workspaces",
  ]);
});

test("names the user of the machine as the actor of a change, unless --actor is given", async () => {
  answer = json({ id: "dep_1", changed: true, isActive: true });
  const activate = ["deploy", "activate", "dep_1", "--server", url];
  await cli(activate, { USER: "ann" });
  await cli(activate, { USERNAME: "bob" });
  await cli([...activate, "--actor", "cleo"], { USER: "ann" });
  await cli(activate);
  assert.equal(sent.map(({ body }) => JSON.parse(body).actor), ["ann", "bob", "cleo", undefined]);
});

test("lists what everyone has changed, whoever is logged in, unless an actor is asked for", async () => {
  answer = emptyList;
  await cli(["audit", "list", "--server", url], { USER: "ann" });
  await cli(["audit", "list", "--server", url, "--actor", "cleo"], { USER: "ann" });
  const actors = sent.map(({ url: target }) => new URL(target!, url).searchParams.get("actor"));
  assert.equal(actors, [null, "cleo"]);
});

test("sends no actor with a management token, because the token has a name", async () => {
  answer = json({ id: "dep_1", changed: true, isActive: true });
  const activate = ["deploy", "activate", "dep_1", "--server", url];
  const env = { USER: "ann", ADMIN_TOKEN: newToken() };
  await cli(activate, env);
  await cli([...activate, "--actor", "cleo"], env);
  assert.equal(sent.map(({ body }) => JSON.parse(body).actor), [undefined, "cleo"]);
  assert.is(sent[0]!.headers.authorization, `Bearer ${env.ADMIN_TOKEN}`);
});

test("prints a response with every digit and every key", async () => {
  const config = '{"seed":12345678901234567890,"t":1.0,"big":1e400,"2":1,"1":{"__proto__":{}}}';
  const prompt = `{"id":"prompt_1","version":1,"title":"t","messages":[],"llmConfig":${config},"variables":[]}`;
  answer = json(prompt);
  const { out } = await far("prompt", "show", "prompt_1", "--json");
  assert.is(out, `${prompt}\n`);
});

test("lists entries with every key, also repeated ones", async () => {
  const record = '{"id":"diag_1","content":{"input":"a","input":"b"},"additional_properties":{"x":{"y":1,"y":2}}}';
  answer = json(`{"items":[${record}],"nextCursor":null}`);
  const { out } = await far("record", "list", "--deploy", "dep_1", "--json");
  assert.is(out, `[${record}]\n`);
});

test("refuses input that the service would refuse, and ids that would change the path, without a request", async () => {
  assert.match((await far("workspace", "create", "--name", "")).said, "--name must be a name of 1 to 200");
  assert.match((await far("key", "show", "")).said, "ID must be an id of 1 to 128 characters");
  for (const id of [".", ".."]) {
    assert.is((await far("key", "show", id)).said, `promptledger: Id ${id} not found\n`);
  }
  assert.is(sent.length, 0);
});

const list = ["workspace", "list"];
const remedy = "Set it to a management token, which begins with plm_";
const tokens: [name: string, token: string, error: string][] = [
  ["without a token", "", "Set PROMPTLEDGER_TOKEN to a token of the service: --server needs it"],
  ["with a short token", "short", "ADMIN_TOKEN must be at least 32 printable ASCII characters without spaces"],
  ["with an API key for a token", newApiKey(), `ADMIN_TOKEN is an API key. ${remedy}`],
  ["with the id of a token", newId("token", 1), `ADMIN_TOKEN is the id of a token. ${remedy}`],
];
for (const [name, token, error] of tokens) {
  test(`sends nothing ${name}`, async () => {
    const { code, out, said } = await cli([...list, "--server", url], { ADMIN_TOKEN: token });
    assert.equal([code, out, said], [1, "", `promptledger: ${error}\n`]);
    assert.is(sent.length, 0);
  });
}

for (
  const bad of [
    "",
    "localhost:8787",
    "ftp://x",
    "http://",
    "http://u:p@127.0.0.1",
    "http://:p@127.0.0.1",
    `${url}/?a=1`,
    `${url}/#a`,
  ]
) {
  test(`refuses ${bad || "nothing"} as the URL`, async () => {
    const { code, said } = await cli([...list, "--server", bad]);
    assert.is(code, 2);
    const hint = bad === "localhost:8787" ? ". Write http:// or https:// in front" : "";
    const error = `--server must be an http or https URL without user, query or fragment${hint}`;
    assert.is(said.split("\n")[0], `promptledger: ${error}`);
  });
}

test("warns if the token is sent unencrypted to another machine", async () => {
  answer = emptyList;
  assert.is((await far(...list)).said, "Nothing to list\n");
  const { code, said } = await cli([...list, "--server", `http://0.0.0.0:${port}`]);
  assert.equal([code, said], [0, "Warning: the admin token is sent unencrypted to 0.0.0.0\nNothing to list\n"]);
});

const html = (status: number): Answering => (response) =>
  response.writeHead(status, { "Content-Type": "text/html" }).end("<html>\u001b[31mLog in</html>");
const noPromptledger = (status: number) => `Unexpected response ${status} from ${url}. Is this a promptledger server?`;
const faults: [name: string, answer: Answering, error: string][] = [
  [
    "a refusal",
    json({ error: "Workspace ws_1 not found", code: "workspace_not_found" }, 404),
    "Workspace ws_1 not found",
  ],
  ["a refusal that would steer the terminal", json({ error: "a\u001b[31m\u009bb" }, 409), "a [31m b"],
  [
    "a failure",
    json({ error: "Internal server error" }, 500, { "X-Request-Id": "req_1" }),
    "Internal server error (see req_1 in its log)",
  ],
  [
    "a service under another path",
    json({ error: "Not found" }, 404),
    `${url} has no management API, or an older one without getWorkspace. Is the path of the URL right, and the service up to date?`,
  ],
  ["a page of a proxy", html(502), noPromptledger(502)],
  ["a page with status 200", html(200), noPromptledger(200)],
  ["no JSON", json("{"), noPromptledger(200)],
  ["JSON of another kind", json("[]"), noPromptledger(200)],
  ["nothing", json(""), noPromptledger(200)],
  ["an error of another kind", json({ error: { code: 1 } }, 400), noPromptledger(400)],
  [
    "a redirection",
    json("", 308, { Location: `${url}/elsewhere` }),
    `${url} redirects to ${url}/elsewhere. Use the URL of the service itself`,
  ],
];
for (const [name, fault, error] of faults) {
  test(`exits 1 on ${name}, and says why in one line`, async () => {
    answer = fault;
    const { code, out, said } = await far("workspace", "show", "ws_1", "--json");
    assert.equal([code, out, said], [1, "", `promptledger: ${error}\n`]);
    assert.is(sent.length, 1);
  });
}

test("exits 1 if the response to a list is not a list", async () => {
  answer = json({ hello: "world" });
  assert.match((await far(...list)).said, "Unexpected response. Is this a promptledger server?");
});

test("exits 1 if nothing listens", async () => {
  const free = createServer();
  await new Promise<void>((resolve) => free.listen(0, "127.0.0.1", resolve));
  const nowhere = `http://127.0.0.1:${(free.address() as AddressInfo).port}`;
  await new Promise((resolve) => free.close(resolve));
  const { code, said } = await cli(["workspace", "create", "--name", "x", "--server", nowhere]);
  assert.is(code, 1);
  assert.match(said, /^promptledger: http:\/\/127\.0\.0\.1:\d+ does not respond: [^\n]+\n$/);
  assert.not.match(said, "it may have done");
});

test("says that a service does not use TLS, and does not say that the request may have taken effect", async () => {
  const secure = url.replace("http:", "https:");
  const { code, said } = await cli(["workspace", "create", "--name", "x", "--server", secure]);
  const error = `${secure} does not respond: the TLS handshake failed. Does it serve http:// on this port?`;
  assert.equal([code, said], [1, `promptledger: ${error}\n`]);
  assert.is(sent.length, 0);
});

test("sends a change once, and says that it may have taken effect if no response comes", async () => {
  answer = json({ id: "ws_1" });
  const call = connectTo(url, { ...terminal, env: { ADMIN_TOKEN: adminToken } });
  await call(createWorkspace, { name: "kept alive" });
  answer = (response) => response.socket?.destroy();
  await call(createWorkspace, { name: "x" }).then(() => assert.unreachable(), (error: Error) => {
    assert.match(error.message, /^http:\S+ does not respond: .+; the request may have taken effect$/s);
  });
  assert.is(sent.length, 2);
});

test("times out while it waits for a response, and in the middle of one", async () => {
  const timeoutMs = 1_234_000; // by which its timers are known
  const call = connectTo(url, { ...terminal, env: { ADMIN_TOKEN: adminToken } }, { timeoutMs });
  const silent = `${url} does not respond: no data for 1234 s`;
  let waits = 0;
  const timers = holdTimers(timeoutMs, () => void waits++);
  try {
    answer = timers.runAll;
    await call(getWorkspace, { id: "ws_1" }).then(
      () => assert.unreachable(),
      (error: Error) => assert.is(error.message, silent),
    );
    answer = (response) => {
      response.writeHead(200, { "Content-Type": "application/x-ndjson" });
      response.write('{"id":1}\n');
    };
    const { text } = await call(exportDiagnoses, { deployId: "dep_1" });
    let read = "";
    try {
      for await (const part of text) {
        read += part;
        const before = waits;
        void until(() => waits > before).then(timers.runAll);
      }
      assert.unreachable();
    } catch (error) {
      assert.equal([(error as Error).message, read], [silent, '{"id":1}\n']);
    }
  } finally {
    timers.restore();
  }
});

const ndjson = { "Content-Type": "application/x-ndjson" };

test("an export that breaks off exits 1, and leaves the existing file", async () => {
  const path = `${folder.path}/out.ndjson`;
  const records = '{"id":1}\n{"id":2}\n';
  answer = async (response) => {
    response.writeHead(200, ndjson);
    response.write(records);
    // What arrives with the end is lost.
    await until(async () => await readFile(`${path}.part`, "utf8").catch(() => "") === records);
    response.socket?.destroy();
  };
  await writeFile(path, "old");
  const command = ["record", "export", "--deploy", "dep_1", "--out", path, "--json"];
  const { code, said, out } = await far(...command, "--force");
  assert.equal([code, out], [1, ""]);
  assert.match(said, `promptledger: The export failed after 2 records; the partial file is ${path}.part: ${url} `);
  assert.is(await readFile(path, "utf8"), "old");
  assert.equal((await readdir(folder.path)).sort(), ["out.ndjson", "out.ndjson.part"]);
});

test("an export that ends in the middle of a record exits 1, even if the response ended properly", async () => {
  answer = (response) => response.writeHead(200, ndjson).end('{"id":1}\n{"id":');
  const { code, said, out } = await far("record", "export", "--deploy", "dep_1");
  assert.equal([code, out], [1, '{"id":1}\n{"id":']);
  const error = `The export failed after 1 records: ${url} closed the connection in the middle of a record`;
  assert.is(said, `promptledger: ${error}\n`);
});

test("an export is written while it arrives, however it is split", async () => {
  const bytes = new TextEncoder().encode('{"id":"שלום 👋"}\n'.repeat(3));
  answer = async (response) => {
    response.writeHead(200, ndjson);
    for (let at = 0; at < bytes.length; at += 7) {
      response.write(bytes.subarray(at, at + 7));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    response.end();
  };
  const { code, out, said } = await far("record", "export", "--deploy", "dep_1");
  assert.equal([code, out, said], [0, '{"id":"שלום 👋"}\n'.repeat(3), "Exported 3 records\n"]);
});

test("nothing in a response controls the terminal", async () => {
  const nasty = "\u001b]0;x\u0007\u009b31m\r\u202e\u2066";
  const harmless = /^[^\p{Cc}\u202a-\u202e\u2066-\u2069]*$/u;
  const day = { day: nasty, reads: nasty, submits: 1 };
  const answers: [args: string[], value: unknown][] = [
    [["workspace", "list"], { items: [{ id: nasty, [nasty]: nasty }], nextCursor: null }],
    [["usage", "--workspace", "ws_1"], { month: nasty, limit: nasty, days: [day] }],
    [["usage", "--workspace", "ws_1", "--month", "2026-11"], {
      month: "2026-11",
      days: [{ ...day, day: "2026-11-01" }],
    }],
    [["stats", "--deploy", "dep_1"], {
      deployId: nasty,
      records: 1,
      versions: [{
        version: nasty,
        records: nasty,
        statuses: [{ status: nasty, records: nasty, share: nasty }],
        latency: { records: 1, p50: nasty, p95: nasty, p99: nasty },
        tokens: { records: 1, prompt: nasty, completion: nasty },
      }],
    }],
    [["prompt", "diff", "prompt_1", "--from", "1"], { id: "prompt_1", from: nasty, to: nasty, diff: nasty }],
    [["prompt", "diff", "prompt_1", "--from", "1"], { id: "prompt_1", from: nasty, to: nasty, diff: "" }],
    [["prompt", "show", "prompt_1"], { id: nasty, title: nasty, messages: [], llmConfig: nasty, variables: [nasty] }],
    [["key", "rotate", "key_1", "--overlap", "1d"], { id: nasty, key: nasty, overlapEndsAt: 1 }],
    [["record", "list", "--deploy", "dep_1", "--limit", "1"], { items: [{ id: 1 }], nextCursor: nasty }],
  ];
  for (const [args, value] of answers) {
    answer = json(value);
    const { out, said } = await far(...args);
    for (const line of `${out}${said}`.split("\n")) assert.match(line, harmless, args.join(" "));
    assert.ok(`${out}${said}`.length > 10, args.join(" "));
  }
});

test.run();
