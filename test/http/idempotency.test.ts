// How long an Idempotency-Key is kept.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { verifyBalanced } from "../balanced.ts";
import { createWorld, goodBody } from "../helpers.ts";
import type { Answer, World } from "../helpers.ts";

const test = suite("Idempotency-Key");

const kept = 2 * 86_400_000;
const otherBody = { ...goodBody, sessionId: "session-2" };

const submitUnder = (world: World, idempotencyKey: string, body: unknown = goodBody) =>
  world.submit(body, world.deployId, world.key, { "Idempotency-Key": idempotencyKey });

/** The id of the record in an answer. */
function recordOf({ status, json, text }: Answer): string {
  assert.is(status, 201, text);
  return (json as { id: string }).id;
}

test("a key is kept for two days, and can then be used for another submit", async () => {
  const world = await createWorld();
  const id = recordOf(await submitUnder(world, "a"));
  world.now += kept;
  assert.is(recordOf(await submitUnder(world, "a")), id);
  world.now += 1;
  assert.is.not(recordOf(await submitUnder(world, "a", otherBody)), id);
  const [ledger] = await verifyBalanced(world.admin);
  assert.is(ledger?.records, 2);
});

test("keys older than two days have no effect, even if they have not been removed yet", async () => {
  const world = await createWorld({ monthlyLimit: 10_000 });
  const names = Array.from({ length: 1100 }, (_, nth) => `key-${nth}`);
  const first = await Promise.all(names.map((name) => submitUnder(world, name)));
  world.now += kept + 1;
  // Each group removes 512.
  const last = names.slice(-3);
  const again = await Promise.all(last.map((name) => submitUnder(world, name, otherBody)));
  assert.is(new Set([...first, ...again].map(recordOf)).size, 1103);
  const repeated = await Promise.all(last.map((name) => submitUnder(world, name, otherBody)));
  assert.equal(repeated.map(recordOf), again.map(recordOf));
  const [ledger] = await verifyBalanced(world.admin);
  assert.is(ledger?.records, 1103);
});

test("a key older than two days is removed even if nothing more can be accepted", async () => {
  const world = await createWorld({ monthlyLimit: 1 });
  recordOf(await submitUnder(world, "a"));
  // After refused requests, the next concurrent ones are read before anything is written.
  assert.is((await world.read()).status, 429);
  world.now += kept + 1;
  const answers = await Promise.all([submitUnder(world, "a"), submitUnder(world, "b"), world.read()]);
  assert.equal(answers.map(({ status }) => status), [429, 429, 429]);
});

test.run();
