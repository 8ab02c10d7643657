// Feedback on records.
// Runs on every runtime in CI.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { makeFeedbackToken } from "../../src/support/feedback-token.ts";
import { hashApiKey } from "../../src/common/ids.ts";
import type { RecordId } from "../../src/common/ids.ts";
import type { Database } from "../../src/database/database.ts";
import { giveFeedback } from "../../src/feedback/feedback.ts";
import type { Piece } from "../../src/feedback/feedback-state.ts";
import { createApiKey } from "../actions.ts";
import { bearer, createTenant, createWorld, goodBody, noon } from "../helpers.ts";
import type { Answer, World } from "../helpers.ts";

const test = suite("feedback");

const day = 86_400_000; // ms

/** Gives feedback on a record, under the world's key unless another bearer is given. */
const give = (world: World, id: string, name: string, body: unknown, key = world.key): Promise<Answer> =>
  world.send(`/v1/diagnosis/${encodeURIComponent(id)}/feedback/${name}`, {
    method: "PUT",
    headers: bearer(key),
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

const withdraw = (world: World, id: string, name: string, author?: string): Promise<Answer> =>
  world.send(`/v1/diagnosis/${id}/feedback/${name}${author === undefined ? "" : `?author=${author}`}`, {
    method: "DELETE",
  });

const giveMany = (world: World, feedback: unknown[]): Promise<Answer> =>
  world.send("/v1/feedback", { method: "POST", body: JSON.stringify({ feedback }) });

const record = async (world: World, body: object = goodBody, headers = {}): Promise<string> => {
  const answer = await world.submit(body, world.deployId, world.key, headers);
  assert.is(answer.status, 201);
  return (answer.json as { id: string }).id;
};

/** All feedback that is stored, as rows. */
const stored = async (world: World, table = "feedback") =>
  (await world.database.read({ sql: `select name, author, value, comment, source, given_at from ${table}` }))
    .map(({ name, author, value, comment, source, given_at }) => ({ name, author, value, comment, source, given_at }));

const thumb = (value: unknown, more = {}) => ({
  ...{ name: "thumb", author: "", value, comment: "", source: "user", given_at: noon },
  ...more,
});

test("feedback on a record is stored", async () => {
  const world = await createWorld();
  const id = await record(world);
  const answer = await give(world, id, "thumb", { value: true, comment: "It knew" });
  assert.is(answer.status, 200, answer.text);
  assert.equal(answer.json, { recordId: id, name: "thumb", author: "", isChanged: true, givenAt: noon });
  assert.equal(await stored(world), [thumb(1, { comment: "It knew" })]);
});

test("it costs no quota and is no call", async () => {
  const world = await createWorld({ monthlyLimit: 1 });
  const id = await record(world);
  assert.is((await give(world, id, "thumb", { value: false })).status, 200);
  const usage = await world.send("/v1/usage");
  assert.is((usage.json as { used: number }).used, 1);
});

test("the same again writes nothing, another value replaces it, and the earlier one stays in its history", async () => {
  const world = await createWorld();
  const id = await record(world);
  await give(world, id, "thumb", { value: true });
  world.now += 1000;
  const again = await give(world, id, "thumb", { value: true });
  assert.equal(again.json, { recordId: id, name: "thumb", author: "", isChanged: false, givenAt: noon });
  assert.is((await give(world, id, "thumb", { value: false })).status, 200);
  assert.equal(await stored(world), [thumb(0, { given_at: noon + 1000 })]);
  assert.equal(await stored(world, "earlier_feedback"), [thumb(1)]);
});

test("what is withdrawn can be given again", async () => {
  const world = await createWorld();
  const id = await record(world);
  await give(world, id, "thumb", { value: true });
  assert.is(((await withdraw(world, id, "thumb")).json as { isChanged: boolean }).isChanged, true);
  assert.equal(await stored(world), []);
  assert.is(((await withdraw(world, id, "thumb")).json as { isChanged: boolean }).isChanged, false);
  await give(world, id, "thumb", { value: true });
  await give(world, id, "thumb", { value: false });
  assert.equal(await stored(world), [thumb(0)]);
  assert.equal(await stored(world, "earlier_feedback"), [thumb(1), thumb(1)]);
});

test("each author has a voice of its own", async () => {
  const world = await createWorld();
  const id = await record(world);
  await give(world, id, "thumb", { value: true, author: "ann" });
  await give(world, id, "thumb", { value: false, author: "bob", source: "reviewer" });
  assert.equal(await stored(world), [
    thumb(1, { author: "ann" }),
    thumb(0, { author: "bob", source: "reviewer" }),
  ]);
  await withdraw(world, id, "thumb", "ann");
  assert.equal(await stored(world), [thumb(0, { author: "bob", source: "reviewer" })]);
});

test("a name has values of one kind in a workspace", async () => {
  const world = await createWorld();
  const id = await record(world);
  await give(world, id, "thumb", { value: true });
  for (const value of [1, "good"]) {
    const answer = await give(world, id, "thumb", { value });
    assert.is(answer.status, 409);
    assert.equal(answer.json, {
      error: "Feedback thumb has values of the kind boolean in this workspace",
      code: "feedback_kind_differs",
      field: "value",
    });
  }
  const other = await createTenant(world.admin, 100, "Other");
  const theirs = await world.submit(goodBody, other.deployId, other.key);
  const answer = await give(world, (theirs.json as { id: string }).id, "thumb", { value: 1 }, other.key);
  assert.is(answer.status, 200);
});

test("feedback that comes before its record waits for it, under its idempotency key", async () => {
  const world = await createWorld();
  const answer = await give(world, "order 4711/é".replace("é", "e"), "thumb", { value: true });
  assert.equal(answer.json, { recordId: null, name: "thumb", author: "", isChanged: true, givenAt: noon });
  assert.equal(await stored(world), []);
  assert.is(
    ((await give(world, "order 4711/e", "thumb", { value: true })).json as { isChanged: boolean }).isChanged,
    false,
  );
  await give(world, "order 4711/e", "thumb", { value: false });
  await give(world, "order 4711/e", "score", { value: 0.5 });
  await withdraw(world, encodeURIComponent("order 4711/e"), "score");
  world.now += day;
  const id = await record(world, goodBody, { "Idempotency-Key": "order 4711/e" });
  assert.equal(await stored(world), [thumb(0)]);
  assert.equal(await stored(world, "waiting_feedback"), []);
  const later = await give(world, "order 4711/e", "thumb", { value: true });
  assert.is((later.json as { recordId: string }).recordId, id);
});

test("feedback waits for two days", async () => {
  const world = await createWorld();
  await give(world, "never", "thumb", { value: true });
  world.now += 2 * day + 1;
  await give(world, await record(world), "thumb", { value: true });
  assert.equal(await stored(world, "waiting_feedback"), []);
});

test("feedback goes with its record", async () => {
  const world = await createWorld();
  const id = await record(world);
  await give(world, id, "thumb", { value: true });
  await give(world, id, "thumb", { value: false });
  await world.manage("DELETE", `/diagnoses/${id}`);
  assert.equal(await stored(world), []);
  assert.equal(await stored(world, "earlier_feedback"), []);
  const answer = await give(world, id, "thumb", { value: true });
  assert.is(answer.status, 404);
});

test("feedback on a deleted record by its idempotency key is refused, and what is given beside it is stored", async () => {
  const world = await createWorld();
  const gone = await record(world, goodBody, { "Idempotency-Key": "order-1" });
  const kept = await record(world, goodBody, { "Idempotency-Key": "order-2" });
  await give(world, gone, "thumb", { value: true });
  await world.manage("DELETE", `/diagnoses/${gone}`);
  const answer = await giveMany(world, [
    { record: "order-2", name: "score", value: 1 },
    { record: "order-1", name: "thumb", value: false },
    { record: "order-1", name: "thumb", value: null },
    { record: kept, name: "thumb", value: true },
  ]);
  assert.equal(answer.json, {
    results: [
      { status: 200, recordId: kept, isChanged: true },
      { status: 404, error: "Record of this idempotency key not found", code: "diagnosis_not_found" },
      { status: 404, error: "Record of this idempotency key not found", code: "diagnosis_not_found" },
      { status: 200, recordId: kept, isChanged: true },
    ],
  });
  const answers = await Promise.all([
    give(world, "order-1", "thumb", { value: true }),
    give(world, "order-2", "thumb", { value: false }),
  ]);
  assert.equal(answers.map(({ status }) => status), [404, 200]);
  assert.equal(await stored(world), [thumb(1, { name: "score" }), thumb(0)]);
  assert.equal(await stored(world, "waiting_feedback"), []);
});

/** Gives feedback on a record under two keys in one group, after the first of them has authenticated and then changed. */
async function giveBeside(world: World, id: string, key: string, change: () => Promise<unknown>): Promise<number[]> {
  await give(world, id, "warm", { value: true }, key);
  const { readable: body, writable } = new TransformStream<Uint8Array>();
  const writer = writable.getWriter();
  const path = `/v1/diagnosis/${id}/feedback/thumb`;
  const slow = world.send(path, { method: "PUT", headers: bearer(key), body, duplex: "half" } as RequestInit);
  // The body is read once the key has been authenticated.
  await writer.write(new TextEncoder().encode('{"value":true,'));
  await change();
  void writer.write(new TextEncoder().encode('"author":"ann"}'));
  void writer.close();
  const beside = give(world, id, "thumb", { value: true });
  return (await Promise.all([slow, beside])).map(({ status }) => status);
}

test("a key that ends while its feedback arrives is refused alone", async () => {
  const world = await createWorld();
  const id = await record(world);
  const { key, id: keyId } = await createApiKey(world.admin, world.workspaceId, {});
  const revoke = () => world.manage("POST", `/keys/${keyId}/revoke`);
  assert.equal(await giveBeside(world, id, key, revoke), [401, 200]);
  const { key: expiring } = await createApiKey(world.admin, world.workspaceId, { expiresAt: world.now + 60_000 });
  // deno-lint-ignore require-await -- a change may take time
  const expire = async () => void (world.now += 60_000);
  await withdraw(world, id, "thumb");
  assert.equal(await giveBeside(world, id, expiring, expire), [401, 200]);
  assert.equal((await stored(world)).map(({ name }) => name), ["thumb", "warm"]);
});

test("a record that uses an idempotency key again after two days takes what waits for it", async () => {
  const world = await createWorld();
  await record(world, goodBody, { "Idempotency-Key": "order-1" });
  // More expired keys than one transaction removes.
  await world.database.write([{
    sql: `insert into idempotency_keys (workspace_id, key, fingerprint, record_id, created_at)
      select workspace_id, 'old-' || value, fingerprint, record_id, 1 from idempotency_keys, json_each(:numbers)`,
    args: { numbers: JSON.stringify(Array.from({ length: 600 }, (_, nth) => nth)) },
  }]);
  world.now += 2 * day + 1;
  const early = await give(world, "order-1", "thumb", { value: true });
  assert.is((early.json as { recordId: null }).recordId, null);
  await record(world, goodBody, { "Idempotency-Key": "order-1" });
  assert.is((await stored(world)).length, 1);
  assert.equal(await stored(world, "waiting_feedback"), []);
});

test("feedback that was decided before its workspace was deleted leaves nothing of it", async () => {
  const world = await createWorld();
  const piece: Piece = {
    ...{ giver: { keyHash: await hashApiKey(world.key) }, target: { recordKey: "x" }, name: "thumb", author: "" },
    ...{ value: true, comment: "", source: "user" },
  };
  const between: Database = {
    ...world.database,
    async read(statement) {
      const rows = await world.database.read(statement);
      await world.manage("DELETE", `/workspaces/${world.workspaceId}?confirm=Acme`);
      return rows;
    },
  };
  const { results } = await giveFeedback(between, [piece], noon);
  assert.equal(results.map(({ refusal }) => refusal), ["key_invalid"]);
  assert.equal(await stored(world, "waiting_feedback"), []);
  assert.equal(await world.database.read({ sql: "select * from feedback_names" }), []);
});

test("feedback that others change again and again is refused alone", async () => {
  const world = await createWorld();
  const id = await record(world);
  const recordId = id as RecordId;
  const keyHash = await hashApiKey(world.key);
  const pieceOf = (name: string): Piece => ({
    ...{ giver: { keyHash }, target: { recordId }, name, author: "" },
    ...{ value: 1, comment: "", source: "user" },
  });
  await give(world, id, "hot", { value: 0 });
  const contending: Database = {
    ...world.database,
    async read(statement) {
      const rows = await world.database.read(statement);
      await world.database.write([{ sql: "update feedback set change = change + 1 where name = 'hot'" }]);
      return rows;
    },
  };
  const { results } = await giveFeedback(contending, [pieceOf("hot"), pieceOf("calm")], noon);
  assert.equal(results.map(({ refusal }) => refusal), ["contended", undefined]);
});

test("the record of another workspace looks like none", async () => {
  const world = await createWorld();
  const other = await createTenant(world.admin, 100, "Other");
  const id = await record(world);
  const unknown = id.replace(/..$/, "7f");
  for (const target of [id, unknown]) {
    const answer = await give(world, target, "thumb", { value: true }, other.key);
    assert.is(answer.status, 404);
    assert.equal(answer.json, { error: `Record ${target} not found`, code: "diagnosis_not_found" });
  }
  assert.equal(await stored(world), []);
});

test("a batch gives, replaces and withdraws in order, and refuses each piece alone", async () => {
  const world = await createWorld();
  const id = await record(world);
  const answer = await giveMany(world, [
    { record: id, name: "thumb", value: true },
    { record: id, name: "thumb", value: false, comment: "no" },
    { record: id, name: "score", value: 0.25, source: "program", author: "judge" },
    { record: id, name: "gone", value: "x" },
    { record: id, name: "gone", value: null },
    { record: "later", name: "thumb", value: true },
    { sessionId: "session-1", deployId: "greeting@production", name: "tone", value: "kind" },
    { sessionId: "session-2", deployId: "greeting@production", name: "tone", value: "kind" },
    { record: id, sessionId: "session-1", name: "thumb", value: true },
    { name: "thumb", value: true },
    { record: id, name: "thumb", value: "good" },
    { record: id, name: "thumb" },
  ]);
  assert.is(answer.status, 200, answer.text);
  const { results } = answer.json as { results: { status: number }[] };
  assert.equal(results.map(({ status }) => status), [200, 200, 200, 200, 200, 200, 200, 404, 400, 400, 409, 400]);
  assert.equal(await stored(world), [
    thumb(0.25, { name: "score", author: "judge", source: "program" }),
    thumb(0, { comment: "no" }),
    thumb("kind", { name: "tone" }),
  ]);
});

test("a batch is given in its order, by whatever names its record", async () => {
  const world = await createWorld({ maxBodyBytes: 100_000 });
  const id = await record(world, goodBody, { "Idempotency-Key": "order-1" });
  for (const names of [["order-1"], [id], [id, "order-1"], ["order-1", id]]) {
    const values = Array.from({ length: 50 }, (_, nth) => nth);
    const items = values.map((value) => ({ record: names[value % names.length], name: "score", value }));
    assert.is((await giveMany(world, items)).status, 200);
    assert.equal(await stored(world), [thumb(49, { name: "score" })]);
  }
});

test("a batch is given in order, however its pieces name a record", async () => {
  const world = await createWorld();
  const id = await record(world, goodBody, { "Idempotency-Key": "order-1" });
  const piece = (record: string, value: boolean | null) => ({ record, name: "thumb", value });
  await giveMany(world, [piece("order-1", null), piece("order-1", true), piece(id, false)]);
  assert.equal(await stored(world), [thumb(0)]);
  await giveMany(world, [piece(id, null), piece(id, false), piece("order-1", true)]);
  assert.equal(await stored(world), [thumb(1)]);
});

test("the newest record of a session is judged", async () => {
  const world = await createWorld();
  await record(world);
  const id = await record(world);
  await record(world, { ...goodBody, sessionId: "another" });
  const answer = await giveMany(world, [{
    sessionId: "session-1",
    deployId: world.deployId,
    name: "thumb",
    value: true,
  }]);
  assert.equal(answer.json, { results: [{ status: 200, recordId: id, isChanged: true }] });
});

const token = async (world: World, grant: object = {}) =>
  await makeFeedbackToken(await hashApiKey(world.key), {
    ...{ record: "order-1", names: ["thumb"], author: "ann", expires: noon / 1000 + 60 },
    ...grant,
  });

test("a token gives feedback on its record and its names, for its author, until it expires", async () => {
  const world = await createWorld();
  const id = await record(world, goodBody, { "Idempotency-Key": "order-1" });
  const plf = await token(world);
  const answer = await give(world, "order-1", "thumb", { value: true, source: "reviewer" }, plf);
  assert.is(answer.status, 200, answer.text);
  assert.equal(answer.headers.get("Access-Control-Allow-Origin"), "*");
  assert.equal(await stored(world), [thumb(1, { author: "ann" })]);
  const refused = async (id: string, name: string, body: object, key = plf) => {
    const { status, json } = await give(world, id, name, body, key);
    return [status, (json as { code: string }).code];
  };
  assert.equal(await refused(id, "thumb", { value: true }), [403, "feedback_token_for_others"]);
  assert.equal(await refused("order-1", "score", { value: 1 }), [403, "feedback_token_for_others"]);
  assert.equal(await refused("order-1", "thumb", { value: true, author: "bob" }), [403, "feedback_token_for_others"]);
  assert.equal(await refused("order-1", "thumb", { value: true }, `${plf.slice(0, -1)}_`), [
    401,
    "invalid_feedback_token",
  ]);
  assert.equal(await refused("order-1", "thumb", { value: true }, "plf_nonsense"), [401, "invalid_feedback_token"]);
  const odd = await token(world, { author: "two\nlines" });
  assert.equal(await refused("order-1", "thumb", { value: true }, odd), [401, "invalid_feedback_token"]);
  const many = await world.send("/v1/feedback", {
    method: "POST",
    headers: bearer(plf),
    body: JSON.stringify({ feedback: [{ record: "order-1", name: "thumb", value: true }] }),
  });
  assert.is(many.status, 403);
  assert.is((await world.read(world.deployId, plf)).status, 401);
  world.now += 60_000;
  assert.equal(await refused("order-1", "thumb", { value: true }), [401, "feedback_token_expired"]);
});

test("a token dies with its API key", async () => {
  const world = await createWorld();
  await record(world, goodBody, { "Idempotency-Key": "order-1" });
  const plf = await token(world);
  assert.is((await give(world, "order-1", "thumb", { value: true }, plf)).status, 200);
  await world.manage("POST", `/keys/${world.keyId}/revoke`);
  assert.is((await give(world, "order-1", "thumb", { value: false }, plf)).status, 401);
});

test("a key may be for feedback alone, and one for reads gives none", async () => {
  const world = await createWorld();
  const id = await record(world);
  const keyFor = async (power: object) => (await createApiKey(world.admin, world.workspaceId, power)).key;
  const feedbackOnly = await keyFor({ feedbackOnly: true });
  assert.is((await give(world, id, "thumb", { value: true }, feedbackOnly)).status, 200);
  assert.is((await world.read(world.deployId, feedbackOnly)).status, 403);
  assert.is((await world.submit(goodBody, world.deployId, feedbackOnly)).status, 403);
  const answer = await give(world, id, "thumb", { value: false }, await keyFor({ readOnly: true }));
  assert.equal([answer.status, answer.json], [403, {
    error: "This key may not give feedback",
    code: "feedback_forbidden",
  }]);
  assert.is((await give(world, id, "thumb", { value: false }, await keyFor({ submitOnly: true }))).status, 200);
  const { items } = (await world.manage("GET", `/workspaces/${world.workspaceId}/keys`)).json as {
    items: { readOnly: boolean; submitOnly: boolean; feedbackOnly: boolean }[];
  };
  const powers = items.map(({ readOnly, submitOnly, feedbackOnly }) => [readOnly, submitOnly, feedbackOnly].join());
  assert.equal(powers.sort(), ["false,false,false", "false,false,true", "false,true,false", "true,false,false"]);
});

test("a key for one deployment gives feedback on its records alone", async () => {
  const world = await createWorld();
  const { key } = await createApiKey(world.admin, world.workspaceId, { deployId: world.deployId });
  await world.manage("POST", `/workspaces/${world.workspaceId}/deployments`, {
    name: "staging",
    promptId: world.promptId,
  });
  const other = await world.submit(goodBody, "greeting@staging");
  const id = (other.json as { id: string }).id;
  assert.is((await give(world, id, "thumb", { value: true }, key)).status, 404);
  assert.is((await give(world, await record(world), "thumb", { value: true }, key)).status, 200);
  await give(world, "early", "thumb", { value: true }, key);
  await world.submit(goodBody, "greeting@staging", world.key, { "Idempotency-Key": "early" });
  assert.is((await stored(world)).length, 1);
});

test("a browser may ask from any page", async () => {
  const world = await createWorld();
  const answer = await world.send("/v1/diagnosis/order-1/feedback/thumb", {
    method: "OPTIONS",
    headers: { Origin: "https://shop.test", "Access-Control-Request-Method": "PUT" },
  });
  assert.is(answer.status, 204);
  assert.is(answer.headers.get("Access-Control-Allow-Origin"), "*");
  assert.is(answer.headers.get("Access-Control-Allow-Methods"), "PUT, DELETE");
});

test("bad values get a clear refusal, and nothing is stored", async () => {
  const world = await createWorld({ maxBodyBytes: 100_000 });
  const id = await record(world);
  const bodies = [
    "{",
    "[]",
    {},
    { value: null },
    '{"value":NaN}',
    '{"value":1e999}',
    { value: 1e16 },
    { value: "" },
    { value: "x".repeat(5000) },
    { value: "two\nlines" },
    { value: [] },
    { value: true, comment: "\0" },
    { value: true, comment: "é".repeat(4097) },
    { value: true, author: "x".repeat(129) },
    { value: true, author: "a\tb" },
    { value: true, source: "model" },
    { value: true, valeu: true },
  ];
  for (const body of bodies) {
    const answer = await give(world, id, "thumb", body);
    assert.is(answer.status, 400, `${JSON.stringify(body).slice(0, 100)} ${answer.text}`);
  }
  for (const name of ["-x", "a b", "x".repeat(65), "%00"]) {
    assert.is((await give(world, id, encodeURIComponent(name), { value: true })).status, 400, name);
  }
  assert.is((await give(world, "é", "thumb", { value: true })).status, 400);
  assert.is((await give(world, id, "thumb", `{"value":true,"comment":"${"x".repeat(70_000)}"}`)).status, 413);
  assert.equal(await stored(world), []);
  assert.equal(await stored(world, "feedback_names").catch(() => []), []);
});

test("a record has at most 50 names, and a name 20 authors", async () => {
  const world = await createWorld({ maxBodyBytes: 100_000 });
  const id = await record(world);
  const names = Array.from({ length: 51 }, (_, nth) => ({ record: id, name: `n${nth}`, value: true }));
  const authors = Array.from({ length: 21 }, (_, nth) => ({ record: id, name: "n0", author: `a${nth}`, value: true }));
  const statuses = async (items: object[]) =>
    ((await giveMany(world, items)).json as { results: { status: number }[] }).results.map(({ status }) => status);
  assert.equal((await statuses(names)).filter((status) => status === 409).length, 1);
  assert.equal((await statuses(authors)).filter((status) => status === 409).length, 2);
});

test("processes that give feedback at the same moment keep to the bounds together", async () => {
  const world = await createWorld();
  const keyHash = await hashApiKey(world.key);
  const recordId = await record(world) as RecordId;
  for (const target of [{ recordId }, { recordKey: "early" }]) {
    const pieceOf = (name: string, author: string): Piece => ({
      ...{ giver: { keyHash }, target, name, author, value: true, comment: "", source: "user" },
    });
    const authors = (from: string, count: number) =>
      Array.from({ length: count }, (_, nth) => pieceOf("thumb", from + nth));
    const names = (from: string, count: number) => Array.from({ length: count }, (_, nth) => pieceOf(from + nth, ""));
    let others: Piece[] | undefined;
    const database: Database = {
      ...world.database,
      async read(statement) {
        const rows = await world.database.read(statement);
        const pieces = others;
        others = undefined;
        if (pieces !== undefined) await giveFeedback(world.database, pieces, noon);
        return rows;
      },
    };
    const giveBoth = async (own: Piece[], rest: Piece[]): Promise<number> => {
      others = rest;
      const { results } = await giveFeedback(database, own, noon);
      return results.filter(({ refusal }) => refusal === undefined).length;
    };
    assert.is(await giveBoth(authors("a", 15), authors("b", 15)), 5);
    assert.is(await giveBoth(names("a", 30), names("b", 30)), 19);
  }
});

test("workspaces that use the same key do not count as one record", async () => {
  const world = await createWorld({ maxBodyBytes: 100_000 });
  const other = await createTenant(world.admin, 100, "Other");
  const feedback = Array.from({ length: 20 }, (_, nth) => ({ record: "1", name: "n", author: `a${nth}`, value: true }));
  const body = JSON.stringify({ feedback });
  const answers = await Promise.all(
    [world.key, other.key].map((key) => world.send("/v1/feedback", { method: "POST", headers: bearer(key), body })),
  );
  const statuses = answers.flatMap(({ json }) => (json as { results: { status: number }[] }).results);
  assert.equal([...new Set(statuses.map(({ status }) => status))], [200]);
});

test("a workspace may give so much feedback in a minute", async () => {
  const world = await createWorld({ maxBodyBytes: 100_000 });
  let refused: Answer | undefined;
  for (let nth = 0; nth < 200 && refused === undefined; nth++) {
    const items = Array.from({ length: 500 }, (_, nth) => ({ record: `k${nth}`, name: "n", value: null }));
    const answer = await world.send("/v1/feedback", { method: "POST", body: JSON.stringify({ feedback: items }) });
    if (answer.status === 429) refused = answer;
  }
  assert.is(refused?.headers.get("Retry-After"), "60");
});

test("other methods are refused", async () => {
  const world = await createWorld();
  const answer = await world.send("/v1/diagnosis/x/feedback/thumb", { method: "POST", body: "{}" });
  assert.is(answer.status, 405);
  assert.is(answer.headers.get("Allow"), "PUT, DELETE");
  assert.is((await world.send("/v1/feedback")).status, 405);
  assert.is((await world.send("/v1/diagnosis/x/feedback")).status, 404);
});

test("without a key it is refused like any other request", async () => {
  const world = await createWorld();
  const answer = await world.send("/v1/diagnosis/x/feedback/thumb", { method: "PUT", headers: {}, body: "{}" });
  assert.is(answer.status, 401);
  assert.equal(answer.json, { error: "Missing or invalid authorization header", code: "unauthorized" });
});

test.run();
