// Whatever a client sends, an event of the log is one line without control characters.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { serveDatabase } from "../../src/service/service.ts";
import type { Database, Statement } from "../../src/database/database.ts";
import {
  adminToken,
  captureLog,
  createTenant,
  goodBody,
  managementOf,
  noon,
  openMemory,
  promptFile,
  withManagement,
} from "../helpers.ts";
import type { Tenant } from "../helpers.ts";

const test = suite("log injection");

const forged = "2026-11-15T12:00:00.000Z error Forged";

const hostile = [
  `\r\n${forged}`,
  `\n{"level":"error","message":"Forged"}\r${forged}`,
  "\u001b[2J\u001b[31m\u009b2J\u0085\u0090\u009d",
  `\u2028${forged}\u2029`,
  `\0\u0001\b\u007f" level=error message="Forged\\`,
];

type Sent = { method?: string; target: string; headers?: Record<string, string>; body?: unknown };

/**
 * A request that has texts as they are. The constructor refuses or encodes them, but a runtime may pass them on.
 */
function toRequest({ method = "GET", target, headers = {}, body }: Sent): Request {
  const hasBody = body !== undefined;
  const init = hasBody ? { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) } : {};
  const request = new Request("http://ledger.test/", init);
  const given = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const get = (name: string) => given.get(name.toLowerCase()) ?? null;
  const values = {
    method,
    url: `http://ledger.test${target}`,
    headers: { get, has: (name: string) => get(name) !== null, [Symbol.iterator]: () => given.entries() },
  };
  for (const [name, value] of Object.entries(values)) Object.defineProperty(request, name, { value });
  return request;
}

/** Every place in a request where a client can write a text. */
function requestsWith(text: string, { key, deployId, workspaceId, promptId, keyId }: Tenant): Sent[] {
  const encoded = encodeURIComponent(text);
  const Authorization = `Bearer ${key}`;
  const read = `/v1/prompts?deployId=${deployId}`;
  const submit = { method: "POST", target: `/v1/diagnosis?deployId=${deployId}` };
  const admin = { Authorization: `Bearer ${adminToken}` };
  const manage = (method: string, path: string, body?: unknown): Sent => {
    return { method, target: `/admin/v1${path}`, headers: admin, ...(body === undefined ? {} : { body }) };
  };
  const names = [
    "X-Request-Id",
    "X-Correlation-Id",
    "traceparent",
    "tracestate",
    "User-Agent",
    "X-Forwarded-For",
    "Host",
  ];
  return [
    ...[text, encoded].flatMap((text): Sent[] => [
      { target: `/${text}` },
      { target: `/v1/prompts/${text}`, headers: { Authorization } },
      { target: `/v1/prompts?deployId=${text}`, headers: { Authorization } },
      { target: `${read}&${text}=${text}`, headers: { Authorization } },
      { target: `/admin/v1/${text}`, headers: admin },
      ...["workspaces", "keys", "prompts", "deployments", "diagnoses"].map((noun) => manage("GET", `/${noun}/${text}`)),
      manage("GET", `/workspaces?cursor=${text}`),
      manage("GET", `/deployments/${deployId}/diagnoses?sessionId=${text}&text=${text}`),
      manage("DELETE", `/deployments/${deployId}/diagnoses?sessionId=${text}`),
    ]),
    { target: read, headers: { Authorization: text } },
    { target: read, headers: { Authorization: `Bearer ${text}` } },
    { target: read, headers: { Authorization: `${Authorization}${text}` } },
    { target: read, headers: { Authorization }, method: `GET${text}` },
    { target: "/admin/v1/workspaces", headers: { Authorization: `Bearer ${text}` } },
    ...names.map((name) => ({ target: read, headers: { Authorization, [name]: text } })),
    { target: read, headers: { Authorization, "If-None-Match": text } },
    { ...submit, headers: { Authorization, "Idempotency-Key": text }, body: goodBody },
    { ...submit, headers: { Authorization, "Content-Type": text, "Content-Length": text }, body: goodBody },
    { ...submit, headers: { Authorization }, body: text },
    { ...submit, headers: { Authorization }, body: { ...goodBody, status: text, [text]: text } },
    {
      ...submit,
      headers: { Authorization },
      body: { ...goodBody, sessionId: text, content: { input: text }, [text]: 1 },
    },
    manage("POST", "/workspaces", { name: text, [text]: 1 }),
    manage("POST", "/workspaces", { name: `named ${encoded}`, upgradeUrl: `https://example.com/${text}` }),
    manage("PATCH", `/workspaces/${workspaceId}`, { upgradeUrl: text }),
    manage("POST", `/workspaces/${workspaceId}/keys`, { name: text }),
    manage("POST", `/keys/${keyId}/rotate`, { overlapMs: text }),
    manage("POST", `/prompts/${promptId}/versions`, { ...promptFile, title: text }),
    manage("POST", `/prompts/${promptId}/versions`, { ...promptFile, description: text, note: text }),
    manage("POST", `/prompts/${promptId}/render`, { values: { name: text } }),
    manage("POST", `/workspaces/${workspaceId}/publish`, { ...promptFile, deploy: text }),
    manage("POST", `/deployments/${deployId}/rename`, { name: `renamed ${encoded}`, note: text }),
    manage("POST", `/deployments/${deployId}/rename`, { name: "other", actor: text }),
    { ...manage("POST", `/deployments/${deployId}/deactivate`, {}), headers: { ...admin, "If-Match": text } },
  ];
}

/** A database that fails. Its error has the statements and a text, also as its name and code. */
function failing(message: { text: string }): Database {
  const fail = (statements: Statement[]) => {
    const described = statements.map(({ sql, args = [] }) => `${sql}\n${Object.values(args).join("\n")}`).join("\n");
    const cause = new Error(`${message.text}${described}`);
    return Promise.reject(
      Object.assign(new Error(message.text, { cause }), { name: message.text, code: message.text }),
    );
  };
  return { read: (statement) => fail([statement]), write: fail, close() {} };
}

const shapes = {
  text: /^\d{4}-\d\d-\d\dT[\d:.]+Z (debug|info |warn |error) \S/,
  json: /^\{"time":"[\dT:.Z-]+","level":"(debug|info|warn|error)","message":"[^"]+"[,}]/,
};

for (const format of ["text", "json"] as const) {
  test(`each event is one line, whatever a client sends and the database reports: ${format}`, async () => {
    const memory = await openMemory();
    const tenant = await createTenant(managementOf(memory), 1e9);
    const message = { text: "" };
    const { log, logged: lines } = captureLog("debug", format);
    const settings = { clock: () => noon, log, faces: withManagement };
    const [working, broken] = [serveDatabase(memory, settings), serveDatabase(failing(message), settings)];
    const failed: (string | null)[] = [];
    for (const text of hostile) {
      message.text = text;
      for (const sent of requestsWith(text, tenant)) {
        const answers = [await working.fetch(toRequest(sent)), await broken.fetch(toRequest(sent))];
        for (const { status, headers, body } of answers) {
          await body?.cancel();
          if (status === 500) failed.push(headers.get("X-Request-Id"));
          // deno-lint-ignore no-control-regex
          for (const [, value] of headers) assert.not.match(value, /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
        }
        assert.ok(answers[0]!.status < 500, JSON.stringify(sent));
      }
    }
    assert.ok(failed.length > 100);
    const whole = lines.join();
    assert.equal(failed.filter((id) => id === null || !whole.includes(id)), []);
    for (const line of lines) {
      // deno-lint-ignore no-control-regex
      assert.not.match(line, /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
      assert.match(line, shapes[format]);
      if (format === "json") assert.type(JSON.parse(line).message, "string");
      assert.not.ok(line.includes(tenant.key) || line.includes(adminToken));
    }
  });
}

test.run();
