// Large batches of feedback beside other requests.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Database } from "../../src/database/database.ts";
import { createWorld, openMemory } from "../helpers.ts";

const test = suite("groups of feedback");

const count = 500; // pieces

/** A world on a clock that only writes move: in it one of feedback takes 10 ms, and any other 1 ms. */
async function createPacedWorld() {
  const database = await openMemory();
  const writes: ("feedback" | "other")[] = [];
  const { now } = performance;
  let at = now.call(performance);
  performance.now = () => at;
  const paced: Database = {
    ...database,
    write(statements) {
      const isFeedback = statements.some(({ sql }) => sql.includes("waiting_feedback"));
      writes.push(isFeedback ? "feedback" : "other");
      at += isFeedback ? 10 : 1;
      return database.write(statements);
    },
  };
  const world = await createWorld({ database: paced, maxBodyBytes: 100_000, monthlyLimit: 1e6 });
  writes.length = 0;
  const give = async () => {
    const feedback = Array.from(
      { length: count },
      (_, nth) => ({ record: `order-${nth}`, name: "thumb", value: true }),
    );
    const answer = await world.send("/v1/feedback", { method: "POST", body: JSON.stringify({ feedback }) });
    return (answer.json as { results: { isChanged: boolean }[] }).results.filter(({ isChanged }) => isChanged).length;
  };
  return { world, writes, give, restore: () => void (performance.now = now) };
}

test("a large batch is one transaction where no other request is in flight", async () => {
  const { writes, give, restore } = await createPacedWorld();
  assert.is(await give(), count);
  assert.equal(writes, ["feedback"]);
  restore();
});

test("beside other requests a large batch is given in parts, and those have three times as long in between", async () => {
  const { world, writes, give, restore } = await createPacedWorld();
  let isOver = false;
  const reading = Array.from({ length: 4 }, async () => {
    while (!isOver) assert.is((await world.read()).status, 200);
  });
  assert.is(await give(), count);
  isOver = true;
  await Promise.all(reading);
  restore();
  const gaps = writes.join(" ").split("feedback").slice(1, -1).map((others) => others.trim().split(" ").length);
  assert.ok(gaps.length >= 4, `${gaps.length + 1} parts`);
  assert.ok(gaps.every((others) => others >= 30), `${gaps} transactions between them`);
});

test.run();
