// Batches of feedback: each is one transaction, and comes to what its pieces come to one after the other.
// Runs on every runtime.
import fc from "fast-check";
import { currentRuntime } from "../runtimes.ts";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { hashApiKey } from "../../src/common/ids.ts";
import type { Database } from "../../src/database/database.ts";
import { feedbackLimits, giveFeedback } from "../../src/ledger/feedback.ts";
import type { FeedbackResult } from "../../src/ledger/feedback.ts";
import { targetOf } from "../../src/ledger/feedback-state.ts";
import type { Piece, Target } from "../../src/ledger/feedback-state.ts";
import { verifyFeedback } from "../../src/ledger/verify-feedback.ts";
import { createTenant, createWorld, goodBody, noon } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { openSnapshot, takeSnapshot } from "../snapshots.ts";

const test = suite("batches of feedback");

type Ledger = Pick<World, "database">;

let made: ReturnType<typeof makeStage> | undefined;

/** A database with some records, which have feedback already: a copy, as making one takes several times as long. */
async function createStage(): Promise<{ world: Ledger; keyHash: string; otherHash: string; targets: Target[] }> {
  const { snapshot, ...stage } = await (made ??= makeStage());
  return { ...stage, world: { database: await openSnapshot(snapshot) } };
}

async function makeStage() {
  const world = await createWorld();
  const other = await createTenant(world.admin, 100, "Other");
  const keyHash = await hashApiKey(world.key);
  const ids: string[] = [];
  for (const key of ["order-1", "order-2"]) {
    const { json } = await world.submit(goodBody, world.deployId, world.key, { "Idempotency-Key": key });
    ids.push((json as { id: string }).id);
  }
  const targets = await Promise.all([...ids, "order-1", "early", "early-2"].map(targetOf));
  const [first] = targets as [Target];
  const thumb = pieceOf(keyHash, first, { value: false });
  await giveFeedback(world.database, [thumb, { ...thumb, value: true }, { ...thumb, author: "ann" }], noon - 1);
  await giveFeedback(world.database, [pieceOf(keyHash, targets[3]!, {})], noon - 1);
  const snapshot = await takeSnapshot(world.database);
  return { snapshot, keyHash, otherHash: await hashApiKey(other.key), targets };
}

const pieceOf = (keyHash: string, target: Target, more: Partial<Piece>): Piece => ({
  ...{ giver: { keyHash }, target, name: "thumb", author: "", value: true, comment: "", source: "user" },
  ...more,
});

const said = "name, author, value, comment, source, given_at";
const tables = {
  feedback: `position, change, ${said}`,
  earlier_feedback: `position, change, ended_at, ${said}`,
  waiting_feedback: `key, ${said}`,
  feedback_names: "name, kind",
};

/** All feedback, without what differs between two worlds. */
const stored = ({ database }: Ledger) =>
  Promise.all(
    Object.entries(tables).map(([table, columns]) =>
      database.read({ sql: `select ${columns} from ${table} order by ${columns}` })
    ),
  );

const faultsOf = async ({ database }: Ledger) => (await verifyFeedback(database, undefined, () => {})).rows;

/** The same database, which counts its operations. */
function counting(database: Database) {
  const counts = { reads: 0, writes: 0 };
  const counted: Database = {
    ...database,
    read: (statement) => (counts.reads++, database.read(statement)),
    write: (statements) => (counts.writes++, database.write(statements)),
  };
  return { counts, database: counted };
}

const outcomeOf = (result: FeedbackResult) =>
  result.refusal ?? [result.isChanged, result.givenAt, result.recordId === null];

const piece = fc.record({
  nth: fc.nat({ max: 4 }),
  name: fc.constantFrom("thumb", "thumb", "score"),
  author: fc.constantFrom("", "", "ann", "bob"),
  value: fc.oneof(
    { weight: 4, arbitrary: fc.boolean() },
    { weight: 2, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(0.5, "good") },
  ),
  comment: fc.constantFrom("", "because", "\u00e9".repeat(300)),
  isOther: fc.nat({ max: 9 }).map((n) => n === 0),
});

test("a batch comes to what its pieces come to one after the other", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 40 }), async (batch) => {
      const outcomes: unknown[][] = [], rows: unknown[] = [];
      for (const isWhole of [true, false]) {
        const { world, keyHash, otherHash, targets } = await createStage();
        const pieces = batch.map(({ nth, isOther, ...more }) =>
          pieceOf(isOther ? otherHash : keyHash, targets[nth]!, more)
        );
        const results: FeedbackResult[] = [];
        for (const part of isWhole ? [pieces] : pieces.map((one) => [one])) {
          results.push(...(await giveFeedback(world.database, part, noon)).results);
        }
        outcomes.push(results.map(outcomeOf));
        rows.push(await stored(world));
        assert.equal(await faultsOf(world), []);
      }
      assert.equal(outcomes[0], outcomes[1]);
      assert.equal(rows[0], rows[1]);
    }),
    // Each runtime has the same code and nearly the same SQLite, so a few show what differs.
    { numRuns: isFull && currentRuntime === "Node" ? 300 : 15, includeErrorInReport: true },
  );
});

test("many changes of one piece are one transaction, and the last of them are its history", async () => {
  const { world, keyHash, targets: [target] } = await createStage();
  const { counts, database } = counting(world.database);
  const pieces = Array.from(
    { length: 500 },
    (_, nth) => pieceOf(keyHash, target!, { name: "score", value: nth % 50 === 49 ? undefined : nth }),
  );
  const { results } = await giveFeedback(database, pieces, noon);
  assert.equal(counts, { reads: 1, writes: 1 });
  assert.ok(results.every((result) => result.refusal === undefined && result.isChanged));
  const history = await world.database.read({
    sql: "select change, value from earlier_feedback where name = 'score' order by change",
  });
  assert.is(history.length, 99);
  assert.is(history.at(-1)!.value, 498);
  assert.is(history.at(-1)!.change, 490);
  assert.equal(await faultsOf(world), []);
});

test("a batch fills and frees the places of a record in its order", async () => {
  const { world, keyHash, targets } = await createStage();
  const { authors } = feedbackLimits;
  const of = (nth: number, more: Partial<Piece> = {}) => pieceOf(keyHash, targets[1]!, { author: `a${nth}`, ...more });
  const full = Array.from({ length: authors }, (_, nth) => of(nth));
  await giveFeedback(world.database, full, noon);
  const { results } = await giveFeedback(
    world.database,
    [of(98), of(0, { value: undefined }), of(99), of(0), of(1, { value: undefined }), of(1, { value: false })],
    noon,
  );
  const outcomes = results.map(({ refusal }) => refusal ?? "stored");
  assert.equal(outcomes, ["too_many_authors", "stored", "stored", "too_many_authors", "stored", "stored"]);
  const [row] = await world.database.read({ sql: "select count(*) as count from feedback where author like 'a_%'" });
  assert.is(row!.count, authors + 1); // with Ann's on the other record
});

/** Gives pieces while another process gives others, between what it reads and what it writes. */
async function giveBeside(
  database: Database,
  pieces: Piece[],
  others: Piece[],
  results: FeedbackResult[] = [],
): Promise<FeedbackResult[]> {
  let left: Piece[] | undefined = others;
  const beside: Database = {
    ...database,
    async read(statement) {
      const rows = await database.read(statement), now = left;
      left = undefined;
      for (const one of now ?? []) results.push(...(await giveFeedback(database, [one], noon)).results);
      return rows;
    },
  };
  return (await giveFeedback(beside, pieces, noon)).results;
}

test("changes of one piece by two processes are numbered without a gap", async () => {
  for (const length of [1, 2, 4]) {
    for (const values of [[true], [true, undefined], [true, false, undefined], [undefined]]) {
      const { world, keyHash, targets } = await createStage();
      for (const target of targets) {
        const of = (value: Piece["value"]) => pieceOf(keyHash, target, { value, comment: "theirs" });
        const own = Array.from(
          { length },
          (_, nth) => pieceOf(keyHash, target, { value: nth % 2 === 0, comment: "ours" }),
        );
        const results = await giveBeside(world.database, own, values.map(of));
        assert.ok(results.every(({ refusal }) => refusal === undefined));
        await giveFeedback(world.database, [of(false), of(undefined)], noon);
      }
      assert.equal(await faultsOf(world), []);
    }
  }
});

const change = fc.record({
  value: fc.constantFrom(true, true, false, undefined),
  comment: fc.constantFrom("", "", "because"),
});

test("of two processes that change one piece, each is told what it changed, as if one came after the other", async () => {
  const changes = fc.array(change, { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 4 }), changes, changes, async (nth, own, others) => {
      const run = async (give: (database: Database, pieces: Piece[], rest: Piece[]) => Promise<FeedbackResult[][]>) => {
        const { world, keyHash, targets } = await createStage();
        const toPiece = (more: Partial<Piece>) => pieceOf(keyHash, targets[nth]!, more);
        const results = await give(world.database, own.map(toPiece), others.map(toPiece));
        const rows = await Promise.all(
          ["feedback", "waiting_feedback"].map((table) =>
            world.database.read({ sql: `select name, author, value, comment from ${table} order by name, author` })
          ),
        );
        assert.equal(await faultsOf(world), []);
        return JSON.stringify([results.map((each) => each.map((result) => outcomeOf(result))), rows]);
      };
      const inTurn = async (database: Database, first: Piece[], second: Piece[]): Promise<FeedbackResult[][]> => [
        (await giveFeedback(database, first, noon)).results,
        (await giveFeedback(database, second, noon)).results,
      ];
      const together = await run(async (database, pieces, rest) => {
        const results: FeedbackResult[] = [];
        return [await giveBeside(database, pieces, rest, results), results];
      });
      const orders = [
        await run(inTurn),
        await run(async (database, pieces, rest) => (await inTurn(database, rest, pieces)).reverse()),
      ];
      assert.ok(orders.includes(together), `${together} is neither of\n${orders.join("\n")}`);
    }),
    { numRuns: isFull && currentRuntime === "Node" ? 400 : 40 },
  );
});

test("the same at once on several services is a change for at most one of them", async () => {
  const changesOf = (results: FeedbackResult[]) => results.map((result) => result.refusal ?? result.isChanged).sort();
  for (const value of [true, false, undefined]) {
    for (const nth of [0, 1, 2, 3, 4]) {
      const alone = await createStage(), { world, keyHash, targets } = await createStage();
      const [one, ...others] = Array.from({ length: 3 }, () => pieceOf(keyHash, targets[nth]!, { value }));
      const { results: [expected] } = await giveFeedback(alone.world.database, [one!], noon);
      // All have read before one of them writes.
      let readers = 0, release = () => {};
      const gate = new Promise<void>((resolve) => release = resolve);
      const database: Database = {
        ...world.database,
        async read(statement) {
          const rows = await world.database.read(statement);
          if (++readers === 3) release();
          await gate;
          return rows;
        },
      };
      const given = await Promise.all([one!, ...others].map((piece) => giveFeedback(database, [piece], noon)));
      assert.equal(
        changesOf(given.flatMap(({ results }) => results)),
        [false, false, ...changesOf([expected!])],
        `${value} ${nth}`,
      );
    }
  }
});

test.run();
