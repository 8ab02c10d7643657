// The OpenAPI description matches what the service does, for every operation and every status in it, and passes a linter.
// Runs on Node alone.
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { build } from "../../src/common/build.ts";
import { eventTypes } from "../../src/management/kernel/event-types.ts";
import { ExportText } from "../../src/management/kernel/export.ts";
import { operations } from "../../src/management/index.ts";
import * as described from "../../src/schema/submit-schemas.ts";
import { DiagnosisRequest } from "../../src/schema/submits.ts";
import { check, partsOf, refer } from "../../src/schema/struct.ts";
import type { Struct } from "../../src/schema/struct.ts";
import { serveDatabase } from "../../src/service/service.ts";
import { adminToken, createWorld, goodBody, openMemory, readAnswer, withManagement } from "../helpers.ts";
import { deliverer } from "../management/deliverer.ts";
import { cases, hasBody, openWorld, spoil, worldFor } from "./openapi-cases.ts";
import type { Opened } from "./openapi-cases.ts";
import { readContract } from "./openapi-contract.ts";
import type { OpenApi, Sent } from "./openapi-contract.ts";

const test = suite("OpenAPI");

// The case of a known commit sets one.
const { commit } = build;
test.after(() => void (build.commit = commit));

// Reading the description requires no token.
const { text: source, json } = await (await createWorld({ servesMetrics: true })).send("/openapi.json", {
  headers: {},
});
const document = json as OpenApi;
const contract = readContract(document, "http://ledger.test/openapi.json");

type Operation = typeof contract.operations[number];

/** Sends a request to an operation with the token that it requires, and checks the answer. */
async function send(operation: Operation, sent: Sent, status: number, { fetch, key }: Opened): Promise<void> {
  const tokens: Record<string, string> = { apiKey: key, adminToken };
  const [scheme] = operation.security.flatMap(Object.keys);
  const headers: Record<string, string> = scheme === undefined ? {} : { Authorization: `Bearer ${tokens[scheme]}` };
  const isOdd = [400, 401, 403, 408, 413, 415].includes(status) || "Authorization" in (sent.headers ?? {});
  if (!isOdd) contract.checkSent(operation, sent);
  const answer = await readAnswer(await fetch(contract.toRequest(operation, sent, headers)));
  assert.is(answer.status, status, answer.text);
  contract.checkAnswer(operation, answer);
}

test("describes every operation, and each has a case", () => {
  const described = contract.operations.map(({ operationId }) => operationId);
  const managed = contract.operations.filter(({ path }) => path.startsWith("/admin/v1/"));
  assert.equal(managed.map(({ operationId }) => operationId).sort(), operations.map(({ id }) => id).sort());
  assert.equal(
    contract.operations.filter((operation) => !managed.includes(operation)).map(({ method, path }) =>
      `${method} ${path}`
    ),
    [
      ...["GET /v1/prompts", "HEAD /v1/prompts", "POST /v1/prompts", "POST /v1/diagnosis"],
      ...["POST /v1/diagnoses", "GET /v1/revisions", "HEAD /v1/revisions"],
      ...["GET /v1/usage", "HEAD /v1/usage", "GET /", "HEAD /"],
      ...["GET /healthz", "HEAD /healthz", "GET /readyz", "HEAD /readyz"],
      ...["GET /metrics", "HEAD /metrics", "GET /openapi.json", "HEAD /openapi.json"],
      ...["PUT /v1/diagnosis/{id}/feedback/{name}", "DELETE /v1/diagnosis/{id}/feedback/{name}", "POST /v1/feedback"],
    ],
  );
  assert.equal(Object.keys(cases).sort(), described.sort());
});

test("patterns are regular expressions of other languages too", () => {
  const patterns = Array.from(
    source.matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g),
    ([, text]) => JSON.parse(text!) as string,
  );
  assert.ok(patterns.length > 100);
  for (const pattern of new Set(patterns)) {
    // Classes of Unicode, names of groups, and looking behind or ahead.
    assert.not.match(pattern, /\\[pPkX]|\(\?(?!:)/);
    assert.instance(new RegExp(pattern), RegExp);
    assert.instance(new RegExp(pattern, "u"), RegExp);
  }
});

/** Those whose cases have a rollout in progress. All others that answer with a deployment would show it alike. */
const withRollouts = new Set(["getDeployment", "listDeployments", "listDeploymentChanges", "setRollout"]);

/** What is done has no change request, and what a request has is looked at on its own. */
const isOfRequest = (member: string): boolean =>
  / 202 /.test(member) ? !/ request$/.test(member) : / request( \w+)?$/.test(member);

for (const operation of contract.operations) {
  const { operationId, method, path, responses } = operation;
  test(`${method} ${path} gives every answer of ${operationId} as described`, async () => {
    const asks = cases[operationId] ?? {};
    const [good] = Object.entries(asks).filter(([status]) => status.startsWith("2")).map(([, asks]) => asks.at(-1)!);
    // Reads and refused requests change nothing, so they can share a world.
    const shared = await openWorld();
    for (const status of Object.keys({ ...responses, ...asks }).map(Number)) {
      for (const ask of asks[status] ?? []) {
        const mayChange = (status < 400 || status === 429) && (hasBody(operation) || method === "DELETE");
        const world = mayChange ? await openWorld() : shared;
        await send(operation, await ask(world), status, world);
      }
      // The test of 503 is below, because it takes ten thousand requests. Feedback waits ten seconds for a busy database.
      if (asks[status] !== undefined || status === 503 && path.startsWith("/v1/")) continue;
      assert.ok(spoil[status], `${status} has no case`);
      const world = await worldFor(status, operation) ?? shared;
      await send(operation, await spoil[status]!(await good!(shared), operation, world), status, world);
    }
    // Only some refusals are about a field. Each operation has some with the status 400.
    const isOfField = (member: string) => / (field|expected)$/.test(member) && !member.endsWith(" 400 field");
    const unseen = contract.unseen(operation).filter((member) =>
      !member.startsWith(`${operationId} 503 `) && !isOfRequest(member) && !isOfField(member)
    );
    assert.equal(unseen.filter((member) => withRollouts.has(operationId) || !/ rollout( \w+)?$/.test(member)), []);
  });
}

test.full("operations with a queue are described with 503, and answer it", async () => {
  const world = await openWorld();
  let release = () => {};
  const gate = new Promise<void>((resolve) => release = resolve);
  world.state.intercept = () => gate.then(() => Promise.reject(new Error("released")));
  const waiting = Array.from({ length: 10_300 }, () => world.read());
  assert.is((await Promise.race(waiting)).status, 503);
  const limited = contract.operations.filter(({ path, responses }) =>
    path.startsWith("/v1/") && !path.includes("feedback") && responses[503] !== undefined
  );
  const paths = [...new Set(limited.map(({ path }) => path))];
  assert.equal(paths, ["/v1/prompts", "/v1/diagnosis", "/v1/diagnoses", "/v1/revisions", "/v1/usage"]);
  for (const operation of limited) {
    await send(operation, await Object.values(cases[operation.operationId]!)[0]![0]!(world), 503, world);
  }
  delete world.state.intercept;
  release();
  await Promise.all(waiting);
});

test("feedback answers 503 as described, whatever the reason", async () => {
  const ofFeedback = contract.operations.filter(({ path }) => path.startsWith("/v1/") && path.includes("feedback"));
  const sendAll = async (world: Opened) => {
    for (const operation of ofFeedback) {
      await send(operation, await Object.values(cases[operation.operationId]!)[0]![0]!(world), 503, world);
    }
  };
  assert.is(ofFeedback.length, 3);
  const world = await openWorld();
  world.state.intercept = () => Promise.reject(new Error("away"));
  await sendAll(world);
  delete world.state.intercept;
  for (const operation of ofFeedback) {
    await send(operation, await Object.values(cases[operation.operationId]!)[0]![0]!(world), 200, world);
  }
  const stopping = await openWorld();
  await stopping.close();
  await sendAll(stopping);
  assert.equal(ofFeedback.flatMap((operation) => contract.unseen(operation)).filter((m) => m.includes(" 503 ")), []);
});

const numbers = [0, -0, 1, -1, 1.5, 1000, 1001, 1e300, 86_399_999, 86_400_000, 316_224_000_000, 316_224_000_001];
const controls = ["\0", "\n", "\x7f", "\x85", "\u2028"].flatMap((control) => [control, `a${control}`]);
const words = ["", " ", "a", "A_1", "a-1", "0", "-1", "read", "submit", "ndjson", "csv", "promptfoo", "\ud800"];
const lengths = [16, 17, 64, 65, 128, 129, 200, 201, 2000, 2001];
const parts = ["", [], [{}], [1], null, 1].map((content) => [{ role: "user", content, more: 1 }]);

/** Values near the limits of some schema. */
const samples: unknown[] = [
  ...[null, true, false, ...numbers, 2 ** 53 - 1, 2 ** 53, 1 - 2 ** 53, -(2 ** 53)],
  ...[...words, ...controls, ...lengths.flatMap((length) => ["1".repeat(length), "😀".repeat(length)])],
  ...["2026-11", "2026-13", "0999-01", "http://a", "HTTPS://a/ü", "ftp://a"],
  ...[[], [1], [{}], ["a"], ...parts, [{ role: "", content: "" }], [{ content: "" }]],
  ...[{}, { a: "b" }, { a: 1 }, { input: "" }, { output: 1 }, { input: "a", output: null }],
];

/** Whether the service accepts a value. */
function isTaken(struct: object, value: unknown): boolean {
  try {
    check(struct as Struct<unknown, unknown>, value);
    return true;
  } catch {
    return false;
  }
}

/** Fails if a struct, or the rules that stand for it, accepts values that its schema does not, or the other way round. */
function checkAgreement(struct: object, where: string, values: unknown[], rules = struct): void {
  const schema = refer(struct);
  for (const value of values) {
    const text = `${where} ${JSON.stringify(value)}`;
    assert.is(contract.faultOf(schema, value) === undefined, isTaken(rules, value), text);
  }
}

test("a schema accepts the values that the service accepts, and no others", () => {
  const members = operations.flatMap(({ id, input }) =>
    Object.entries(input.schema).map(([name, struct]) => [struct, `${id} ${name}`] as const)
  );
  for (const [struct, where] of new Map(members)) checkAgreement(struct, where, samples);
  const names = [...Object.keys(DiagnosisRequest.schema), "more"];
  const without = (name: string) => Object.fromEntries(Object.entries(goodBody).filter(([other]) => other !== name));
  const changed = names.flatMap((name) => [without(name), ...samples.map((value) => ({ ...goodBody, [name]: value }))]);
  checkAgreement(described.DiagnosisRequest, "DiagnosisRequest", [goodBody, ...changed], DiagnosisRequest);
});

/** The structs of single values in a struct, each with where it is. */
function leavesOf(struct: object, where: string): [struct: object, where: string][] {
  const parts = partsOf(struct as { schema?: unknown });
  return parts.length === 0 ? [[struct, where]] : parts.flatMap((part, nth) => leavesOf(part, `${where} ${nth}`));
}

test("a schema of an answer accepts the values that its struct accepts, and no others", () => {
  const leaves = operations.flatMap(({ id, output }) => output === ExportText ? [] : leavesOf(output, id));
  for (const [struct, where] of new Map(leaves)) checkAgreement(struct, where, samples);
});

const headerSamples: [name: string, operationId: string, values: string[]][] = [
  ["If-Match", "activateDeployment", [
    ...["*", '"1"', '"999999999999999"', '"1000000000000000"', "1", 'W/"1"', '"x"', '""', '"1", "2"'],
  ]],
  ["Idempotency-Key", "submitDiagnosis", [
    ...["a", '"a b"', '"', '"a"b"', String.raw`"\"\\"`, "\xe9", '"\xe9"'],
    ...[255, 256].flatMap((length) => ["x".repeat(length), `"${"x".repeat(length)}"`]),
  ]],
];

for (const [name, operationId, values] of headerSamples) {
  test(`the schema of ${name} accepts the values that the service accepts, and no others`, async () => {
    const operation = contract.operations.find((operation) => operation.operationId === operationId)!;
    const { schema } = operation.parameters.find((parameter) => parameter.name === name)!;
    for (const value of values) {
      const world = await openWorld();
      const good = await Object.values(cases[operationId]!)[0]![0]!(world);
      const headers = {
        Authorization: `Bearer ${operationId === "submitDiagnosis" ? world.key : adminToken}`,
        [name]: value,
      };
      const { status } = await world.fetch(contract.toRequest(operation, good, headers));
      assert.is(contract.faultOf(schema, value) === undefined, status !== 400, value);
    }
  });
}

test("every line of an export is a record as described", async () => {
  const { deployId, manage } = await openWorld();
  const { text } = await manage("GET", `/deployments/${deployId}/diagnoses/export`);
  const records = text.trim().split("\n").map((line) => JSON.parse(line));
  assert.is(records.length, 3);
  for (const record of records) {
    assert.is(contract.faultOf({ $ref: "#/components/schemas/Diagnosis" }, record), undefined);
  }
});

test("its server URL leads to the service wherever that is mounted", async () => {
  const { fetch, close } = serveDatabase(await openMemory(), { basePath: "/llm", faces: withManagement });
  const foundAt = "http://ledger.test/llm/openapi.json";
  const found = await readAnswer(await fetch(new Request(foundAt)));
  const { operations, toRequest, checkAnswer } = readContract(found.json as OpenApi, foundAt);
  const create = operations.find(({ operationId }) => operationId === "createWorkspace")!;
  const headers = { Authorization: `Bearer ${adminToken}` };
  const request = toRequest(create, { body: { name: "Acme" } }, headers);
  const made = await readAnswer(await fetch(request));
  checkAnswer(create, made);
  const again = await fetch(new Request(new URL(made.headers.get("Location")!, request.url), { headers }));
  assert.equal((await readAnswer(again)).json, made.json);
  close();
});

test("describes what webhooks get, with every type of event", async () => {
  const world = await createWorld();
  await world.manage("POST", "/webhooks", { url: "https://hooks.example.com/" });
  await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { name: "New" });
  const [sent, ...others] = await deliverer(world).run();
  assert.equal(others, []);
  const { parameters, requestBody } = document.webhooks.event!.post!;
  for (const { name, schema } of parameters!) assert.is(contract.faultOf(schema, sent!.headers[name]), undefined, name);
  const { schema } = requestBody!.content["application/json"]!;
  const body = JSON.parse(sent!.body) as object;
  for (const type of [...Object.keys(eventTypes), "webhook.test"]) {
    assert.is(contract.faultOf(schema, { ...body, type }), undefined, type);
  }
  assert.match(contract.faultOf(schema, { ...body, type: "none.such" })!, "type");
});

/** The findings of the linter with its strictest rules and two optional ones. */
async function lint(source: string): Promise<string[]> {
  const config = await createConfig({
    extends: ["recommended-strict"],
    rules: { "parameter-description": "error", "operation-tag-defined": "error" },
  });
  const problems = await lintFromString({ source, absoluteRef: "openapi.json", config });
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`);
}

test("passes the linter without errors and warnings", async () => {
  assert.equal(await lint(source), []);
});

test.full("the linter finds a fault", async () => {
  const problems = await lint(source.replace('"summary":"Show a workspace"', '"summery":""'));
  assert.equal(problems.map((problem) => problem.split(":")[0]).sort(), ["operation-summary", "struct"]);
});

test.run();
