// POST /v1/diagnoses: many records in one request.
import * as assert from "uvu/assert";
import { goodBody, promptFile } from "../../helpers.ts";
import { isAnswer, isRefusal, limit, quotaHeaders, usedOf } from "../answers.ts";
import { bearer, newestRecord, ownCase, recordsOf, submit, usageOf } from "../target.ts";
import type { Case, Target } from "../target.ts";
import type { HttpAnswer } from "../http-client.ts";

const submitAll = ({ send, key }: Target, records: unknown, body: unknown = { records }) =>
  send("/v1/diagnoses", {
    method: "POST",
    headers: [bearer(key), "Content-Type: application/json"],
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

type Result = { status: number; id?: string; error?: string; code?: string };
const resultsOf = ({ text }: HttpAnswer): Result[] => JSON.parse(text).results;
const statusesOf = (answer: HttpAnswer) => resultsOf(answer).map(({ status }) => status);

const times = <T>(count: number, record: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => record(index));

export const batchCases: Case[] = [
  ownCase("POST /v1/diagnoses stores each record, in order, and each costs one", async (target) => {
    const { deployId } = target;
    const records = times(500, (index) => ({ deployId, ...goodBody, sessionId: `s${index}` }));
    const answer = await submitAll(target, records);
    isAnswer(answer, 200, { results: resultsOf(answer) }, quotaHeaders(answer, limit, 500));
    for (const { status, id } of resultsOf(answer)) assert.ok(status === 201 && /^diag_\w{26}$/.test(id!));
    const stored = (await recordsOf(target)).reverse();
    assert.equal(stored.map(({ sessionId }) => sessionId), records.map(({ sessionId }) => sessionId));
    assert.equal(stored.map(({ id }) => id), resultsOf(answer).map(({ id }) => id));
    assert.is((await usageOf(target)).submits, 500);
  }),
  ownCase("a record is stored as a single submit stores it", async (target) => {
    const text = '"sessionId":"s","status":1.0,"content":{"input":"i","extra":1.0},"cost":0.10,"latency":1e3';
    await submit(target, `{${text}}`);
    const single = (await newestRecord(target)).replace(/"(id|createdAt)":[^,}]*,?/g, "");
    await submitAll(target, [], `{"records":[{"deployId":"${target.deployId}",${text},"idempotencyKey":"k"}]}`);
    assert.is((await newestRecord(target)).replace(/"(id|createdAt)":[^,}]*,?/g, ""), single);
  }),
  ownCase("each record is refused on its own, as a single submit would be", async (target) => {
    const { deployId } = target;
    const good = { deployId, ...goodBody };
    const answer = await submitAll(target, [
      good,
      { ...good, sessionId: undefined },
      { ...good, deployId: "dep_0" },
      goodBody,
      { ...good, promptVersion: 2 },
      { ...good, idempotencyKey: "" },
      { ...good, deployId: "greeting@production" },
    ]);
    assert.equal(resultsOf(answer).map(({ id: _, ...result }) => result), [
      { status: 201 },
      { status: 400, error: "Missing required field sessionId", code: "invalid" },
      { status: 404, error: "Deploy not found or not accessible", code: "deployment_not_found" },
      { status: 400, error: "Missing required field deployId", code: "invalid" },
      {
        status: 400,
        error: "Field promptVersion must be a version of the deployment's prompt",
        code: "version_not_found",
      },
      { status: 400, error: "Field idempotencyKey must be 1 to 255 printable ASCII characters", code: "invalid" },
      { status: 201 },
    ]);
    assert.is(usedOf(answer), 2);
    assert.is((await recordsOf(target)).length, 2);
  }),
  ownCase("the quota is exact in the middle of a batch, in the order of its records", async (target) => {
    const { deployId } = target;
    const other = await target.deploy(target.workspaceId, "staging", { ...promptFile, title: "Other" });
    const deployIds = [deployId, other.deployId, "greeting@production"];
    const records = times(300, (index) => ({ deployId: deployIds[index % 3], ...goodBody }));
    const answer = await submitAll(target, records);
    assert.equal(statusesOf(answer), [...Array(200).fill(201), ...Array(100).fill(429)]);
    assert.equal(resultsOf(answer).at(-1), { status: 429, error: "Rate limit exceeded", code: "quota_exhausted" });
    quotaHeaders(answer, 200, 200);
    assert.is((await usageOf(target)).used, 200);
    assert.equal(statusesOf(await submitAll(target, records)), Array(300).fill(429));
  }, { monthlyLimit: 200 }),
  ownCase("a batch that is repeated with its keys stores and counts nothing again", async (target) => {
    const { deployId } = target;
    const records = times(400, (index) => ({ deployId, idempotencyKey: `k${index}`, ...goodBody }));
    const first = await submitAll(target, records.slice(0, 300));
    const again = await submitAll(target, records);
    assert.equal(resultsOf(again).slice(0, 300), resultsOf(first));
    assert.is(new Set(resultsOf(again).map(({ id }) => id)).size, 400);
    assert.equal(await usageOf(target).then(({ submits }) => submits), 400);
  }),
  ownCase("an idempotency key holds for a single submit and for a record of a batch alike", async (target) => {
    const { deployId, key } = target;
    const single = await submit(target, goodBody, { headers: [bearer(key), "Idempotency-Key: a"] });
    const record = { deployId, idempotencyKey: "a", ...goodBody };
    const answer = await submitAll(target, [record, { ...record, status: 9 }, record]);
    const { id } = JSON.parse(single.text);
    const reused = { status: 422, error: "Idempotency-Key was used with another request", code: "key_reused" };
    assert.equal(resultsOf(answer), [{ status: 201, id }, reused, { status: 201, id }]);
    assert.is((await usageOf(target)).used, 1);
  }),
  ownCase("a batch has no key of its own", async (target) => {
    const { send, deployId, key } = target;
    const headers = [bearer(key), "Content-Type: application/json", "Idempotency-Key: a"];
    const body = JSON.stringify({ records: [{ deployId, ...goodBody }] });
    const error = "Idempotency-Key header is for a single record: give each record an idempotencyKey";
    isRefusal(await send("/v1/diagnoses", { method: "POST", headers, body }), 400, error);
    assert.is((await usageOf(target)).used, 0);
  }),
  ownCase("the repeat of a key is decided in order, before the records after it", async (target) => {
    const good = { deployId: target.deployId, ...goodBody };
    const answer = await submitAll(target, [
      { ...good, deployId: "dep_0", idempotencyKey: "k" },
      { ...good, idempotencyKey: "k" },
      good,
    ]);
    assert.equal(statusesOf(answer), [404, 201, 429]);
  }, { monthlyLimit: 1 }),
  ownCase(
    "a record may be nested as deep in a batch as alone, and one that is deeper is refused alone",
    async (target) => {
      const nested = (levels: number) =>
        `{"deployId":"${target.deployId}","sessionId":"s","status":1,` +
        `"content":{"input":"]}"},"x":${"[".repeat(levels)}${"]".repeat(levels)}}`;
      const answer = await submitAll(target, [], `{"records":[${[1, 1000, 999, 100_000].map(nested)}]}`);
      assert.equal(statusesOf(answer), [201, 400, 201, 400]);
      const refused = { status: 400, error: "Record must be nested at most 1000 levels deep", code: "invalid" };
      assert.equal(JSON.parse(answer.text).results[3], refused);
      assert.equal((await recordsOf(target)).map(({ x }) => JSON.stringify(x).length), [1998, 2]);
      const unclosed = `{"records":[${nested(1)},{"x":${"[".repeat(100_000)}]}`;
      isRefusal(await submitAll(target, [], unclosed), 400, "Request body must be valid JSON");
    },
  ),
  ownCase("a batch without a valid record has quota headers too", async (target) => {
    quotaHeaders(await submitAll(target, [{}]), limit, 0);
  }),
  ownCase("an invalid batch is 400, and costs nothing", async (target) => {
    const bad: [body: unknown, error: string][] = [
      ["[]", "Request body must be an object"],
      ["{", "Request body must be valid JSON"],
      [{}, "Missing required field records"],
      [{ records: [] }, "Field records must be an array of 1 to 500 objects"],
      [{ records: [1] }, "Field records must be an array of 1 to 500 objects"],
      [{ records: times(501, () => ({})) }, "Field records must be an array of 1 to 500 objects"],
      [{ records: [{}], more: 1 }, "Unknown field more. Allowed: records"],
    ];
    for (const [body, error] of bad) isRefusal(await submitAll(target, [], body), 400, error);
    assert.is((await usageOf(target)).used, 0);
  }),
  ownCase("an invalid key is refused before the batch is read", async (target) => {
    isRefusal(await submitAll({ ...target, key: "pl_none" }, []), 401, "Invalid API key");
  }),
];
