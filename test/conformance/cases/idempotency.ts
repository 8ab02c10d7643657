// Submits under an Idempotency-Key.
import * as assert from "uvu/assert";
import { newApiKey } from "../../../src/common/ids.ts";
import type { DeploymentId } from "../../../src/common/ids.ts";
import { goodBody } from "../../helpers.ts";
import { isExhausted, isNotFound, isRecorded, isRefusal, usedOf } from "../answers.ts";
import { bearer, ownCase, read, recordsOf, submit, usageOf } from "../target.ts";
import type { Case, Target } from "../target.ts";

const otherBody = { ...goodBody, sessionId: "session-2" };
const reused = "Idempotency-Key was used with another request";
const malformed = "Idempotency-Key header must be 1 to 255 printable ASCII characters";

const submitUnder = (target: Target, idempotencyKey: string, body: unknown = goodBody, path?: string) =>
  submit(target, body, { headers: [bearer(target.key), `Idempotency-Key: ${idempotencyKey}`] }, path);

const text = JSON.stringify(goodBody);
const { content, ...rest } = goodBody;

const bodies: [name: string, body: string, isRepeat: boolean][] = [
  ["white space around its members", text.replace("{", "{ ").replace(',"status":', '\n,\t"status" : '), true],
  ["an integer written as 1.0", text.replace('"status":1', '"status":1.0'), true],
  ["a repeated member, of which the last one wins", text.replace("{", '{"sessionId":"other",'), true],
  ["white space within a member", text.replace('"input":', '"input": '), false],
  ["the members in another order", JSON.stringify({ content, ...rest }), false],
  ["one member more", JSON.stringify({ ...goodBody, more: 1 }), false],
];

const longest = "x".repeat(255);

const forms: [name: string, quoted: string, bare: string][] = [
  ["quotes around it", '"abc"', "abc"],
  ["quotes around 255 characters", `"${longest}"`, longest],
  ["escaped quotes", String.raw`"a\"b"`, 'a"b'],
  ["an escaped backslash", String.raw`"a\\b"`, String.raw`a\b`],
];

const malformedKeys: [name: string, key: string][] = [
  ["empty", ""],
  ["empty within quotes", '""'],
  ["of 256 characters", `${longest}x`],
  ["of 256 characters within quotes", `"${longest}x"`],
  ["not ASCII", "é"],
  ["not printable", "a\tb"],
];

export const idempotencyCases: Case[] = [
  ownCase("a repeat gets the first answer's record, stores nothing and costs nothing", async (target) => {
    const first = await submitUnder(target, "a");
    isRecorded(first, 1);
    await read(target);
    for (const [key, path] of [["a", "/v1/diagnosis"], ['"a"', "/v1/prompts"]] as const) {
      const repeat = await submitUnder(target, key, goodBody, path);
      assert.is(repeat.text, first.text);
      isRecorded(repeat, 2);
    }
    const { reads, submits } = await usageOf(target);
    assert.equal([reads, submits, (await recordsOf(target)).length], [1, 1, 1]);
  }),
  ownCase("a submit with another key, or with none, is another record", async (target) => {
    const answers = [await submitUnder(target, "a"), await submitUnder(target, "A"), await submit(target)];
    assert.is(new Set(answers.map((answer) => isRecorded(answer))).size, 3);
  }),
  ownCase("another body or deployment under a key is 422, and the first can still be repeated", async (target) => {
    const { promptId, workspaceId } = target;
    const body = { name: "other", promptId };
    const other = await target.manage<{ id: DeploymentId }>("POST", `/workspaces/${workspaceId}/deployments`, body);
    const id = isRecorded(await submitUnder(target, "a"));
    isRefusal(await submitUnder(target, "a", otherBody), 422, reused);
    isRefusal(await submitUnder({ ...target, deployId: other.id }, "a"), 422, reused);
    assert.is(isRecorded(await submitUnder(target, "a"), 1), id);
  }),
  ownCase("an idempotency key belongs to the workspace, whichever API key sends it", async (target) => {
    const id = isRecorded(await submitUnder(target, "a"));
    assert.is.not(isRecorded(await submitUnder({ ...target, ...await target.createTenant() }, "a", otherBody)), id);
    const { key } = await target.manage<{ key: string }>("POST", `/workspaces/${target.workspaceId}/keys`, {});
    assert.is(isRecorded(await submitUnder({ ...target, key }, "a")), id);
  }),
  ...bodies.map(([name, body, isRepeat]) =>
    ownCase(`a body with ${name} is ${isRepeat ? "the same" : "another"} body`, async (target) => {
      const id = isRecorded(await submitUnder(target, "a"));
      const answer = await submitUnder(target, "a", body);
      if (isRepeat) assert.is(isRecorded(answer), id);
      else isRefusal(answer, 422, reused);
    })
  ),
  ...forms.map(([name, quoted, bare]): Case => [`a key with ${name} equals the bare one`, async (target) => {
    assert.is(isRecorded(await submitUnder(target, quoted)), isRecorded(await submitUnder(target, bare)));
  }]),
  ...malformedKeys.map(([name, key]) =>
    ownCase(`answers 400 to an Idempotency-Key that is ${name}, and counts nothing`, async (target) => {
      isRefusal(await submitUnder({ ...target, deployId: "dep_0" }, key), 400, malformed);
      isRefusal(await submitUnder(target, key), 400, malformed);
      isRefusal(await submitUnder({ ...target, key: newApiKey() }, key), 401, "Invalid API key");
      assert.is((await usageOf(target)).used, 0);
    })
  ),
  ownCase("a repeat is answered even if the quota is exhausted and the deployment inactive by now", async (target) => {
    const id = isRecorded(await submitUnder(target, "a"), 1, 1);
    isExhausted(await submit(target), 1, 1);
    assert.is(isRecorded(await submitUnder(target, "a"), 1, 1), id);
    isRefusal(await submitUnder(target, "a", otherBody), 422, reused);
    await target.manage("POST", `/deployments/${target.deployId}/deactivate`);
    assert.is(isRecorded(await submitUnder(target, "a"), 1, 1), id);
  }, { monthlyLimit: 1 }),
  ownCase("a refused submit does not use its key up", async (target) => {
    assert.is((await submitUnder(target, "a", "{}")).status, 400);
    assert.is((await submitUnder({ ...target, key: newApiKey() }, "a")).status, 401);
    isNotFound(await submitUnder({ ...target, deployId: "dep_0" }, "a"));
    isExhausted(await submitUnder(target, "a"), 0, 0);
    await target.manage("PATCH", `/workspaces/${target.workspaceId}`, { monthlyLimit: 1 });
    const id = isRecorded(await submitUnder(target, "a", otherBody), 1, 1);
    assert.is(isRecorded(await submitUnder(target, "a", otherBody), 1, 1), id);
  }, { monthlyLimit: 0 }),
  ownCase("of many submits at once under one key one is stored, and all get its answer", async (target) => {
    const answers = await Promise.all(Array.from({ length: 30 }, () => submitUnder(target, "a")));
    const ids = new Set(answers.map((answer) => isRecorded(answer, 1)));
    assert.equal((await recordsOf(target)).map(({ id }) => id), [...ids]);
  }),
  ownCase("of two at once under one key with different bodies one is stored, and the other refused", async (target) => {
    const answers = await Promise.all([submitUnder(target, "a"), submitUnder(target, "a", otherBody)]);
    assert.equal(answers.map(({ status }) => status).sort(), [201, 422]);
    assert.equal([(await recordsOf(target)).length, (await usageOf(target)).used], [1, 1]);
  }),
  ownCase("a read ignores the key, even an invalid one", async (target) => {
    for (const [index, key] of ["a", "a", ""].entries()) {
      assert.is(usedOf(await read(target, `Idempotency-Key: ${key}`)), index + 1);
    }
    isRecorded(await submitUnder(target, "a"), 4);
  }),
];
