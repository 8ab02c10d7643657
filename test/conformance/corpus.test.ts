// Sends thousands of generated requests, most of them wrong, over HTTP to a started service on the runtime of the tests. The
// service answers each as documented, stores what it accepts as sent, and counts it. SEED and NUM_RUNS in the environment make
// another corpus, or a larger one.
// Runs on every runtime in CI.
import { Buffer } from "node:buffer";
import process from "node:process";
import fc from "fast-check";
import { isFull, seed, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { openDatabase } from "../../src/database/file/open.ts";
import { assertBalanced } from "../balanced.ts";
import { createSeededDatabase } from "../faults/audit.ts";
import { adminToken, createTenant, goodBody, managementOf } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { isSame, membersOf, tokensOf } from "../common/json-tokens.ts";
import { readContract } from "../http/openapi-contract.ts";
import { currentRuntime } from "../runtimes.ts";
import { bodies, heads, toMessage } from "./corpus.ts";
import type { Head } from "./corpus.ts";
import { exchange } from "./exchange.ts";
import { garbage } from "./garbage.ts";
import { openConnection, send } from "./http-client.ts";
import type { HttpAnswer } from "./http-client.ts";
import { management } from "./management-calls.ts";
import type { Managed } from "./management-calls.ts";
import { createFolder, startService } from "./processes.ts";
import type { Running } from "./processes.ts";
import { faultOfRecord, readBody } from "./submits.ts";

const test = suite(`corpus on ${currentRuntime}`);

const requests = Number(process.env.NUM_RUNS ?? (isFull ? 4000 : 600));
console.log(`corpus: SEED=${seed} NUM_RUNS=${requests}`);

/** Generates this share of the requests. */
const sample = <T>(arbitrary: fc.Arbitrary<T>, share: number): T[] =>
  fc.sample(arbitrary, { numRuns: Math.ceil(requests * share) });

const folder = await createFolder();
let service: Running;
let sound: Tenant, exhausted: Tenant, hit: Tenant, managed: Managed;

/** The accepted requests: each record as sent, and the number of reads. */
const accepted = { records: new Map<string, string>(), reads: 0 };
/** The additional_properties of some records, as they must be returned. */
const properties = new Map<string, string>();
let refused = 0;

const manage = async (path: string): Promise<HttpAnswer> => {
  const answer = await send(service.url, `/admin/v1${path}`, { headers: [`Authorization: Bearer ${adminToken}`] });
  assert.is(answer.status, 200, `${path}: ${answer.text}`);
  return answer;
};

test("the service starts", async () => {
  const url = `file:${folder.path}/ledger.db`;
  sound = (await createSeededDatabase(url)).tenant;
  const database = openDatabase(url, "manage");
  const admin = managementOf(database, Date.now);
  exhausted = await createTenant(admin, 0, "Exhausted");
  hit = await createTenant(admin, 1e9, "Hit");
  const tenant = await createTenant(admin, 1e9, "Managed");
  database.close();
  service = await startService(currentRuntime, { DATABASE_URL: url, ADMIN_TOKEN: adminToken });
  const headers = [`Authorization: Bearer ${tenant.key}`];
  const request = { method: "POST", headers, body: JSON.stringify(goodBody) };
  const { text } = await send(service.url, `/v1/diagnosis?deployId=${tenant.deployId}`, request);
  managed = { ...tenant, recordId: JSON.parse(text).id };
});

/** What is wrong with an answer of the service, whatever the request. */
function faultOf(answer: HttpAnswer | undefined, isHead = false): string | undefined {
  if (answer === undefined) return "no answer";
  const { status, headers, text } = answer;
  if (status >= 500) return `status ${status}`;
  if (!headers.has("x-request-id") || headers.get("x-content-type-options") !== "nosniff") return "headers are missing";
  if (status < 400 || isHead) return undefined;
  if (headers.get("content-type") !== "application/json") return `content type ${headers.get("content-type")}`;
  const { error, ...more } = JSON.parse(text);
  if (typeof error !== "string" || error === "") return "no error";
  // Errors of management have a code, and those about a member of the input that member.
  const members = error === "Rate limit exceeded" ? ["details"] : ["code", "code,field", "code,field,expected"];
  return ["", ...members].includes(Object.keys(more).join()) ? undefined : "other members";
}

type Check<T> = (answer: HttpAnswer, request: T) => string | undefined;

/** Sends all requests, and fails with the first few wrong answers. */
async function sendAll<T extends Head>(all: T[], check: Check<T>): Promise<void> {
  const messages = all.map(toMessage);
  const answers = await exchange(service.url, messages);
  const faults = all.flatMap((request, index) => {
    const answer = answers[index];
    if (answer === undefined || answer.status >= 400) refused++;
    const fault = faultOf(answer, messages[index]!.isHead) ?? check(answer!, request);
    return fault === undefined ? [] : [`${fault}: ${show(messages[index]!.bytes)} → ${answer?.status} ${answer?.text}`];
  });
  assert.equal(faults.slice(0, 5), []);
}

const show = (bytes: Uint8Array): string => JSON.stringify(Buffer.from(bytes).toString("latin1")).slice(0, 1500);

test("a valid body is accepted, and any other is refused", async () => {
  const headers = [`Authorization: Bearer ${sound.key}`];
  const all = sample(bodies, 0.4).map((one, index) => ({
    method: "POST",
    target: `/v1/${index % 2 === 0 ? "diagnosis" : "prompts"}?deployId=${sound.deployId}`,
    headers,
    ...one,
  }));
  await sendAll(all, ({ status, text }, { body, properties: back }) => {
    const sent = readBody(body);
    if (status === 201) {
      const { id } = JSON.parse(text);
      accepted.records.set(id, sent ?? "");
      if (back !== undefined) properties.set(id, back);
    }
    return status === (sent === undefined ? 400 : 201) ? undefined : "wrong status";
  });
});

test("with any method, path, query and headers, a request is accepted only if nothing is wrong", async () => {
  await sendAll(
    sample(heads(sound, exhausted), 0.25),
    ({ status, text }, { method, headers, isSound, isExhausted, body }) => {
      if (status === 200 || status === 304) accepted.reads++;
      if (status === 201) accepted.records.set(JSON.parse(text).id, sentIn(String(body)));
      if (!isSound) return status >= 400 ? undefined : "accepted";
      const hasKey = method === "POST" && headers.some((line) => line.startsWith("Idempotency-Key"));
      const expected = isExhausted ? [429] : method === "POST" ? [201] : [200, 304];
      return [...expected, ...(hasKey ? [400, 422] : [])].includes(status) ? undefined : "wrong status";
    },
  );
});

/** A body without its chunk headers. */
const sentIn = (body: string): string =>
  body.startsWith("{") ? body : body.replace(/[\da-f]+;a="b"\r\n(.*?)\r\n/gs, "$1").replace(/0\r\n\r\n$/, "");

test("management answers as described, and returns what was created", async () => {
  const document = JSON.parse((await send(service.url, "/openapi.json")).text);
  const contract = readContract(document, `${service.url}/openapi.json`);
  const made: { location: string; sent: Map<string, string[]> }[] = [];
  const renamed = new Set<string>();
  await sendAll(sample(management(managed), 0.3), (answer, { operation, target, body }) => {
    const { status, text, headers } = answer;
    const described = contract.operations.find(({ operationId }) => operationId === operation.id)!;
    const isJson = headers.get("content-type") === "application/json";
    const json = isJson ? JSON.parse(text) : undefined;
    const location = headers.get("location");
    if (operation.id.startsWith("rename") && status === 200) renamed.add(json.id);
    if (location !== undefined) {
      const path = new URL(location, service.url + target).pathname;
      const sent = membersOf(String(body));
      // The name in a publication is that of the prompt. The deployment that it makes has another.
      if (operation.id === "publishPrompt" && path.includes("/deployments/")) sent.set("name", sent.get("deploy")!);
      // A prompt is shown as it is now, with its newest version.
      made.push({ location: operation.id === "createPrompt" ? `${path}/versions/1` : path, sent });
    }
    try {
      contract.checkAnswer(described, { status, text, json, headers: new Headers([...headers]) });
      return undefined;
    } catch (error) {
      return String(error);
    }
  });
  assert.ok(made.length > 0);
  for (const { location, sent } of made) {
    const back = membersOf((await manage(location.replace("/admin/v1", ""))).text);
    const hasOtherName = location.split("/").some((segment) => renamed.has(segment));
    for (const [name, tokens] of sent) {
      if (name === "name" && hasOtherName) continue;
      const found = back.get(name);
      const isEqual = found === undefined || isSame(tokens, found) ||
        JSON.parse(tokens.join("")) === JSON.parse(found.join(""));
      assert.ok(isEqual, `${location} ${name}: ${tokens.join("")} → ${found?.join("")}`);
    }
  }
});

const mayBeHead = (bytes: Uint8Array) => bytes[0] === "H".charCodeAt(0);

/**
 * Sends bytes on a connection of their own, and reads the answers until the service closes it. They may be the beginning of a
 * request, so the connection is ended once a submit that came after them is answered: then all that they ask for is decided.
 */
async function talk(bytes: Uint8Array): Promise<{ answers: HttpAnswer[]; error?: string }> {
  const isHead = mayBeHead(bytes);
  const connection = openConnection(service.url);
  const answers: HttpAnswer[] = [];
  try {
    connection.write(bytes);
    const headers = [`Authorization: Bearer ${hit.key}`];
    const request = { method: "POST", headers, body: JSON.stringify(goodBody) };
    const { status } = await send(service.url, `/v1/diagnosis?deployId=${hit.deployId}`, request);
    assert.is(status, 201);
    connection.end();
    for (;;) answers.push(await connection.readAnswer(isHead));
  } catch (error) {
    return /closed the connection/.test(String(error)) ? { answers } : { answers, error: String(error) };
  } finally {
    connection.close();
  }
}

/** Statuses that a runtime answers itself, without a body, before the service sees the request. */
const ofRuntime = new Set([400, 417, 431, 505]);

test("bytes that are no request get a refusal or no answer", async () => {
  const all = sample(garbage(hit), 0.2);
  const faults: string[] = [];
  await Promise.all(Array.from({ length: 48 }, async () => {
    for (let bytes = all.pop(); bytes !== undefined; bytes = all.pop()) {
      const { answers, error } = await talk(bytes);
      if (answers.every(({ status }) => status >= 400)) refused++;
      if (error !== undefined) faults.push(`${error}: ${show(bytes)}`);
      for (const answer of answers) {
        const isOurs = answer.headers.has("x-request-id");
        const isRefusal = !isOurs && answer.text === "" && ofRuntime.has(answer.status);
        const fault = isRefusal ? undefined : faultOf(answer, mayBeHead(bytes));
        if (fault !== undefined) faults.push(`${fault}: ${show(bytes)} → ${answer.status} ${answer.text}`);
      }
    }
  }));
  assert.equal(faults.slice(0, 5), []);
});

/** Each record as management returns it, by id. */
const stored = new Map<string, string>();

test("accepted records are returned as sent", async () => {
  const headers = [`Authorization: Bearer ${adminToken}`];
  const ids = [...accepted.records.keys()];
  const targets = ids.map((id) => `/admin/v1/diagnoses/${id}`);
  const answers = await exchange(service.url, targets.map((target) => toMessage({ method: "GET", target, headers })));
  for (const [index, id] of ids.entries()) stored.set(id, answers[index]!.text);
  const faults = ids.flatMap((id) => faultOfRecord(id, accepted.records.get(id)!, stored.get(id)!) ?? []);
  for (const [id, back] of properties) {
    if (!stored.get(id)!.includes(`"additional_properties":${back}`)) faults.push(`${back} → ${stored.get(id)}`);
  }
  assert.equal(faults.slice(0, 5).map((fault) => fault.slice(0, 2000)), []);
});

test("lists and exports have each record once, with the same text", async () => {
  const records = `/deployments/${sound.deployId}/diagnoses`;
  const ids: string[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const { text } = await manage(`${records}?limit=1000${cursor === "" ? "" : `&cursor=${cursor}`}`);
    const page: { items: { id: string }[]; nextCursor: string | null } = JSON.parse(text);
    const items = page.items.map(({ id }) => stored.get(id)!);
    assert.ok(text === `{"items":[${items.join()}],"nextCursor":${JSON.stringify(page.nextCursor)}}`);
    cursor = page.nextCursor;
    ids.push(...page.items.map(({ id }) => id));
  }
  assert.equal([...ids].sort(), [...stored.keys()].sort());
  const csv = (await manage(`${records}/export?format=csv`)).text;
  assert.equal(csv.match(/^diag_\w{26}(?=,)/gm), ids);
  const ndjson = (await manage(`${records}/export`)).text;
  assert.is(ndjson.split("\n").length, ids.length + 1);
  assert.ok(isSame(tokensOf(ndjson), ids.flatMap((id) => tokensOf(stored.get(id)!))));
});

test("statistics, sessions and comparisons of all that was accepted are answered", async () => {
  const { deployId, workspaceId } = sound;
  const own = `/deployments/${deployId}`;
  const { records, all } = JSON.parse((await manage(`${own}/stats?interval=hour`)).text);
  assert.equal([records, all.records], [stored.size, stored.size]);
  const { a, b } = JSON.parse((await manage(`/stats/compare?a=${deployId}&b=${deployId}&bVersion=1`)).text);
  assert.equal([a.records, b.records], [stored.size, stored.size]);
  let inSessions = 0;
  for (let cursor: string | null = ""; cursor !== null;) {
    const query = `limit=1000${cursor === "" ? "" : `&cursor=${cursor}`}`;
    const page: { items: { records: number }[]; nextCursor: string | null } = JSON.parse(
      (await manage(`/workspaces/${workspaceId}/sessions?${query}`)).text,
    );
    for (const session of page.items) inSessions += session.records;
    cursor = page.nextCursor;
  }
  assert.is(inSessions, stored.size);
  for (const filter of ["slowerThan=1", "moreTokensThan=1", "costlierThan=1", "where=a%3D1e400", "text=a"]) {
    await manage(`${own}/diagnoses?limit=1000&${filter}`);
  }
});

test("the ledger balances, and counts the accepted requests", async () => {
  const { text } = await send(service.url, "/v1/usage", { headers: [`Authorization: Bearer ${sound.key}`] });
  const { reads, submits } = JSON.parse(text);
  assert.equal([reads, submits], [accepted.reads, accepted.records.size]);
  assert.ok(reads > 0);
  const ledgers = assertBalanced(JSON.parse((await manage("/verify")).text));
  assert.ok(ledgers.every(({ workspaceId }) => workspaceId !== exhausted.workspaceId));
});

test("most requests were refused", () => {
  console.log(`corpus: ${refused} of ${requests} requests were refused`);
  assert.ok(refused > 0.7 * requests);
});

test("afterwards the service is ready, and has logged no failure", async () => {
  assert.is((await send(service.url, "/readyz")).status, 200);
  assert.is(await service.stop(), 0);
  // One of the corpus uses a quota up.
  const lines = service.output().split("\n").filter((line) => !line.includes("Quota is used up"));
  assert.not.match(lines.join("\n"), /^\S+ (warn|error) |uncaught|unhandled/im);
});

test.after(async () => {
  await service?.stop("SIGKILL");
  await folder.remove();
});
test.run();
