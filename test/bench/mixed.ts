// A steady mixture of requests: reads and submits, refusals of each kind, occasional management, and clients that are slow or
// disconnect. Every answer is checked.
import { newApiKey } from "../../src/common/ids.ts";
import { openConnection, send, serialize } from "../conformance/http-client.ts";
import type { HttpAnswer, HttpRequest } from "../conformance/http-client.ts";
import { emptyOutcomes } from "../faults/load.ts";
import type { Outcomes } from "../faults/load.ts";
import { adminToken, goodBody, promptFile } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { pause } from "./load.ts";

type Mixture = {
  /** The counted requests, for the audit. Status 0 stands for submits whose client disconnected. */
  outcomes: Outcomes;
  /** Counts of wrong and missing answers, by request. */
  wrong: Map<string, number>;
  /** Sends no more requests, and resolves once all have ended. */
  stop(): Promise<void>;
};

type Clients = { url: string; tenant: Tenant; exhausted: Tenant };

/** A request, and the statuses that its answer may have. */
type Expected = HttpRequest & { target: string; statuses: number[]; seen?(answer: HttpAnswer): void };

const managementPause = 2_000, badClientPause = 1_000; // ms between two of them

/** Sends `rate` requests a second, evenly over connections, until it is stopped. */
export function startMixture(clients: Clients, { connections, rate }: { connections: number; rate: number }): Mixture {
  const outcomes = emptyOutcomes();
  const wrong = new Map<string, number>();
  const kinds = Object.entries(kindsOf(clients, outcomes));
  const { url } = clients;
  let isStopped = false, sent = 0;

  const addWrong = (name: string) => void wrong.set(name, (wrong.get(name) ?? 0) + 1);

  function check(name: string, expected: Expected, answer: HttpAnswer): void {
    if (!expected.statuses.includes(answer.status)) addWrong(`${name}: ${answer.status} ${answer.text.slice(0, 100)}`);
    else expected.seen?.(answer);
  }

  async function work(index: number): Promise<void> {
    const interval = 1000 * connections / rate;
    const began = performance.now() + interval * index / connections;
    let connection = openConnection(url);
    for (let nth = 0; !isStopped; nth++) {
      const wait = began + nth * interval - performance.now();
      if (wait > 0) await pause(wait);
      const [name, ask] = kinds[sent++ % kinds.length]!;
      const request = ask(sent);
      try {
        connection.write(serialize(url, request.target, request, "keep-alive"));
        const answer = await connection.readAnswer();
        check(name, request, answer);
        if (answer.headers.get("connection") !== "close") continue;
      } catch (error) {
        addWrong(`${name}: ${error}`);
      }
      connection.close();
      connection = openConnection(url);
    }
    connection.close();
  }

  /** Runs actions one after the other, with pauses between them. */
  async function serialized(time: number, actions: [name: string, act: () => Promise<void>][]): Promise<void> {
    for (let nth = 0; !isStopped; nth++) {
      const [name, act] = actions[nth % actions.length]!;
      await act().catch((error) => addWrong(`${name}: ${error}`));
      await pause(time);
    }
  }

  const manage = async (method: string, path: string, body?: unknown): Promise<Record<string, never>> => {
    const headers = [`Authorization: Bearer ${adminToken}`];
    const request = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const answer = await send(url, `/admin/v1${path}`, request);
    outcomes.requests++;
    check(`${method} ${path}`, { target: path, statuses: [200, 201] }, answer);
    return answer.headers.get("content-type") === "application/json" ? JSON.parse(answer.text) : {};
  };

  const working = [
    ...Array.from({ length: connections }, (_, index) => work(index)),
    serialized(managementPause, Object.entries(managementOf(clients, manage))),
    serialized(badClientPause, Object.entries(badClientsOf(clients, outcomes))),
  ];
  return {
    outcomes,
    wrong,
    async stop() {
      isStopped = true;
      await Promise.all(working);
    },
  };
}

const bearer = (key: string) => [`Authorization: Bearer ${key}`];

/** The kinds of requests, in the order in which they are sent. Each gets the number of the request. */
function kindsOf({ tenant, exhausted }: Clients, outcomes: Outcomes): Record<string, (number: number) => Expected> {
  const { deployId } = tenant;
  const headers = bearer(tenant.key);
  const target = `/v1/prompts?deployId=${deployId}`;
  const unknownKeys = Array.from({ length: 500 }, () => bearer(newApiKey()));
  let tag = "";
  let repeatable: { request: HttpRequest; id: string } | undefined;

  const count = (status: number) => void outcomes.statuses.set(status, (outcomes.statuses.get(status) ?? 0) + 1);
  const counted = (asked: Expected): Expected => {
    outcomes.requests++;
    return asked;
  };
  const read = (more: string[] = []): Expected => ({
    target,
    headers: [...headers, ...more],
    statuses: more.length === 0 ? [200] : [200, 304],
    seen({ headers }) {
      tag = headers.get("etag") ?? tag;
      count(200);
    },
  });
  const submit = (number: number, more: string[] = []): Expected => {
    const properties = { trace: "4bf92f3577b34da6".repeat(number % 64), tokens: { prompt_tokens: number % 100 } };
    const body = { ...goodBody, sessionId: `session-${number}`, additional_properties: properties };
    const request = { method: "POST", headers: [...headers, ...more], body: JSON.stringify(body) };
    return {
      ...request,
      target,
      statuses: [201],
      seen({ text }) {
        const { id } = JSON.parse(text);
        count(201);
        outcomes.recorded.push(id);
        if (more.length > 0) repeatable = { request, id };
      },
    };
  };
  const repeat = (number: number): Expected => {
    if (repeatable === undefined) return submit(number);
    const { request, id } = repeatable;
    const seen = ({ text }: HttpAnswer) => {
      if (JSON.parse(text).id !== id) throw new Error(`${id} got another answer when it was repeated: ${text}`);
    };
    return { ...request, target, statuses: [201], seen };
  };
  const answered = (status: number, target: string, request: HttpRequest = {}): Expected => ({
    ...request,
    target,
    statuses: [status],
  });
  const post = (body: string, more: string[] = []) => ({ method: "POST", headers: [...headers, ...more], body });

  const kinds: Record<string, (number: number) => Expected> = {
    "read": () => read(),
    "submit": (number) => submit(number),
    "read of a known prompt": () => read([`If-None-Match: ${tag || "none"}`]),
    "submit in chunks": (number) => ({ ...submit(number), chunkSize: 100 }),
    "unknown key": (number) => answered(401, target, { headers: unknownKeys[number % unknownKeys.length]! }),
    "read again": () => read(),
    "submit again": (number) => submit(number),
    "no key": () => answered(401, target),
    "submit under a key": (number) => submit(number, [`Idempotency-Key: "soak-${number}"`]),
    "repeated submit": repeat,
    "another's deployment": () => answered(404, `/v1/prompts?deployId=${exhausted.deployId}`, { headers }),
    "exhausted quota": () =>
      answered(429, `/v1/prompts?deployId=${exhausted.deployId}`, { headers: bearer(exhausted.key) }),
    "read once more": () => read(),
    "submit once more": (number) => submit(number),
    "no deployment": () => answered(400, "/v1/prompts", { headers }),
    "body that is not JSON": () => answered(400, target, post("{")),
    "invalid body": () => answered(400, target, post('{"sessionId":1}')),
    "invalid idempotency key": (number) =>
      answered(400, target, post(JSON.stringify(goodBody), [`Idempotency-Key: ü${number}`])),
    "body that is too large": () =>
      answered(413, target, { method: "POST", headers: [...headers, "Content-Length: 9999999"] }),
    "unknown path": (number) => answered(404, `/nowhere/${number}`),
    "wrong method": () => answered(405, target, { method: "PUT" }),
    // Too many failures in a minute are 429.
    "management without its token": () => ({ target: "/admin/v1/workspaces", headers, statuses: [401, 429] }),
    "usage": () => answered(200, "/v1/usage", { headers }),
    "readiness": () => answered(200, "/readyz"),
    "metrics": () => answered(200, "/metrics", { headers: bearer(adminToken) }),
  };
  return Object.fromEntries(Object.entries(kinds).map(([name, ask]) => [name, (number) => counted(ask(number))]));
}

/** The management of a team. */
function managementOf(
  { tenant }: Clients,
  manage: (method: string, path: string, body?: unknown) => Promise<Record<string, never>>,
): Record<string, () => Promise<void>> {
  const { workspaceId, promptId, deployId } = tenant;
  const since = () => Date.now() - 30_000;
  let pushed = 0;
  return {
    async keys() {
      const { id } = await manage("POST", `/workspaces/${workspaceId}/keys`, { name: "soak" });
      await manage("POST", `/keys/${id}/rotate`, { overlapMs: 1000 });
      await manage("POST", `/keys/${id}/revoke`);
      await manage("GET", `/workspaces/${workspaceId}/keys`);
    },
    async versions() {
      const version = { ...promptFile, title: `Version ${pushed++}` };
      const { version: newest } = await manage("POST", `/prompts/${promptId}/versions`, version);
      await manage("POST", `/deployments/${deployId}/promote`, { version: newest });
      await manage("GET", `/deployments/${deployId}/history`);
      await manage("GET", `/prompts/${promptId}/diff?from=1`);
    },
    async records() {
      await manage("GET", `/deployments/${deployId}/diagnoses?limit=100&from=${since()}`);
      await manage("GET", `/deployments/${deployId}/diagnoses?text=nowhere&from=${since()}`);
      await manage("GET", `/deployments/${deployId}/diagnoses/export?from=${since()}`);
      await manage("DELETE", `/deployments/${deployId}/diagnoses?sessionId=gone`);
    },
    async counts() {
      await manage("GET", `/deployments/${deployId}/stats?from=${since()}`);
      await manage("GET", `/workspaces/${workspaceId}/usage`);
      await manage("GET", `/workspaces/${workspaceId}/calls?limit=1000`);
      await manage("GET", `/verify?workspaceId=${workspaceId}`);
    },
    async description() {
      await manage("POST", "/prune", { olderThanMs: 86_400_000 });
      await manage("GET", `/deployments/${deployId}`);
    },
  };
}

/** Clients that are slow, or disconnect before the answer. */
function badClientsOf({ url, tenant }: Clients, outcomes: Outcomes): Record<string, () => Promise<void>> {
  const target = `/v1/diagnosis?deployId=${tenant.deployId}`;
  const bytesOf = (session: string) => {
    const body = JSON.stringify({ ...goodBody, sessionId: session });
    return serialize(url, target, { method: "POST", headers: bearer(tenant.key), body }, "close");
  };
  const unanswered = (session: string) => {
    outcomes.requests++;
    outcomes.statuses.set(0, (outcomes.statuses.get(0) ?? 0) + 1);
    return bytesOf(`${session}-${outcomes.requests}`);
  };

  /** Sends parts with pauses between them, and disconnects. */
  async function leave(time: number, ...parts: (string | Uint8Array)[]): Promise<void> {
    const connection = openConnection(url);
    for (const part of parts) {
      connection.write(part);
      await pause(time);
    }
    connection.close();
  }

  return {
    async "slow body"() {
      const bytes = bytesOf(`slow-${outcomes.requests++}`);
      const connection = openConnection(url);
      connection.write(bytes.subarray(0, -30));
      await pause(2_000);
      connection.write(bytes.subarray(-30));
      const { status, text } = await connection.readAnswer();
      connection.close();
      if (status !== 201) throw new Error(`${status} ${text}`);
      outcomes.statuses.set(201, (outcomes.statuses.get(201) ?? 0) + 1);
      outcomes.recorded.push(JSON.parse(text).id);
    },
    "head that never ends": () => leave(500, "GET /v1/prompts HTTP/1.1\r\n", "Host: soak\r\n", "X-Slow: 1\r\n"),
    "half a body": () => leave(200, unanswered("half").subarray(0, -30)),
    "gone before the answer": () => leave(0, unanswered("gone")),
    "nothing at all": () => leave(3_000, ""),
    "half an export": () =>
      leave(
        20,
        serialize(
          url,
          `/admin/v1/deployments/${tenant.deployId}/diagnoses/export`,
          { headers: bearer(adminToken) },
          "close",
        ),
      ),
  };
}
