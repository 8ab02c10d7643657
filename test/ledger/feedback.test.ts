// Batches of feedback: each is one transaction, and comes to what its pieces come to one after the other.
// Runs on every runtime.
import fc from "fast-check";
import { currentRuntime } from "../runtimes.ts";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { hashApiKey } from "../../src/common/ids.ts";
import type { WorkspaceId } from "../../src/common/ids.ts";
import type { Database } from "../../src/database/database.ts";
import { giveFeedback } from "../../src/feedback/feedback.ts";
import type { FeedbackResult } from "../../src/feedback/feedback.ts";
import { recordLimits, targetOf } from "../../src/feedback/feedback-state.ts";
import type { Piece, Target } from "../../src/feedback/feedback-state.ts";
import { verifyFeedback } from "../../src/feedback/verify-feedback.ts";
import { createTenant, createWorld, goodBody, noon } from "../helpers.ts";
import { longest, storeFeedback } from "../stored-feedback.ts";
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

/** What verify finds, and words that are not used as often as they say. */
const faultsOf = async ({ database }: Ledger) => [
  ...(await verifyFeedback(database, undefined, () => {})).rows,
  ...await database.read({
    sql: `select word, sum(uses) from (
        select word, uses from feedback_words union all select name, -1 from feedback
        union all select value, -1 from feedback where typeof(value) = 'text'
      ) group by word having sum(uses) <> 0`,
  }),
];

/** The same database, which counts its operations, and the characters of what it reads. */
function counting(database: Database) {
  const counts = { reads: 0, writes: 0 }, size = { most: 0 };
  const counted: Database = {
    ...database,
    async read(statement) {
      counts.reads++;
      const rows = await database.read(statement);
      size.most = Math.max(size.most, JSON.stringify(rows).length);
      return rows;
    },
    write: (statements) => (counts.writes++, database.write(statements)),
  };
  return { counts, size, database: counted };
}

const outcomeOf = (result: FeedbackResult) =>
  result.refusal ?? [result.isChanged, result.givenAt, result.recordId === null];

const piece = fc.record({
  nth: fc.nat({ max: 4 }),
  name: fc.constantFrom("thumb", "thumb", "score", longest.name(1), "good"),
  author: fc.constantFrom("", "", "ann", "bob", longest.author(1), longest.author(2)),
  value: fc.oneof(
    { weight: 4, arbitrary: fc.boolean() },
    { weight: 2, arbitrary: fc.constant(undefined) },
    { weight: 3, arbitrary: fc.constantFrom(0.5, -1e15, "good", "thumb", "1", longest.label(1), longest.label(2)) },
  ),
  comment: fc.constantFrom("", "because", "\u00e9".repeat(300), "\u0001".repeat(8_192)),
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
  const { authors } = recordLimits;
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

const refusalsIn = (results: FeedbackResult[]) => results.map(({ refusal }) => refusal ?? "stored");

test("a record takes as many pieces, bytes and changes as it may have, and no more", async () => {
  const { world, keyHash, targets: [, target] } = await createStage();
  const of = (nth: number, more: Partial<Piece> = {}) =>
    pieceOf(keyHash, target!, { name: `n${nth % 50}`, author: `a${nth}`, value: 1, ...more });
  const give = async (...pieces: Piece[]) => refusalsIn((await giveFeedback(world.database, pieces, noon)).results);
  const all = Array.from({ length: recordLimits.pieces }, (_, nth) => of(nth));
  assert.ok((await give(...all)).every((outcome) => outcome === "stored"));
  assert.equal(await give(of(100)), ["too_many_pieces"]);
  // A piece makes room for another one, also in one batch.
  assert.equal(await give(of(0, { value: undefined }), of(101), of(0)), ["stored", "stored", "too_many_pieces"]);
  assert.equal(await give(of(1, { value: 2 })), ["stored"]);
  // Of 8 kB, 31 or 32 comments are as much as a record may have. What is shorter than before is taken.
  const comment = "c".repeat(8_192);
  const long = await give(...Array.from({ length: 40 }, (_, nth) => of(nth + 2, { comment })));
  const stored = long.indexOf("too_many_bytes");
  assert.ok(stored === 31 || stored === 30, `${stored}`);
  assert.ok(long.slice(stored).every((refusal) => refusal === "too_many_bytes"));
  assert.equal(await give(of(2, { comment: comment.slice(1) })), ["stored"]);
  assert.equal(await give(of(2, { value: undefined }), of(stored + 2, { comment })), ["stored", "stored"]);
  assert.equal(await faultsOf(world), []);
});

test("a record that was changed a thousand times takes no more changes, but what it has can be withdrawn", async () => {
  const { world, keyHash, targets: [, target] } = await createStage();
  const of = (author: number, value: number | undefined) =>
    pieceOf(keyHash, target!, { name: "n", author: `a${author}`, value });
  let stored = 0;
  for (let round = 0; stored < recordLimits.changes; round++) {
    const given = Array.from({ length: 19 }, (_, author) => of(author, round));
    const { results } = await giveFeedback(world.database, given, noon + round);
    const changed = refusalsIn(results).filter((refusal) => refusal === "stored").length;
    if (round > 0) stored += changed;
    assert.ok(changed > 0);
  }
  const outcomes = await giveFeedback(world.database, [of(0, -1), of(19, 1), of(0, undefined), of(0, 1)], noon);
  assert.equal(refusalsIn(outcomes.results), ["too_many_changes", "too_many_changes", "stored", "too_many_changes"]);
  // Neither does one author after the other get around it.
  const { results } = await giveFeedback(world.database, [of(20, 1), of(20, undefined), of(21, 1)], noon);
  assert.equal(refusalsIn(results), ["too_many_changes", "stored", "too_many_changes"]);
  assert.equal(await faultsOf(world), []);
});

test("what a batch reads does not depend on how long the pieces are that it replaces", async () => {
  const { world, keyHash, targets: [, target] } = await createStage();
  const most: number[] = [];
  for (const comment of ["", "\u0001".repeat(2_000)]) {
    const of = (nth: number, more: Partial<Piece>) =>
      pieceOf(keyHash, target!, { name: `n${nth % 50}`, author: `a${Math.floor(nth / 50)}`, comment, ...more });
    const pieces = (value: boolean) => Array.from({ length: 100 }, (_, nth) => of(nth, { value }));
    await giveFeedback(world.database, pieces(true), noon);
    const { size, database } = counting(world.database);
    const { results } = await giveFeedback(database, pieces(false), noon);
    assert.ok(results.every((result) => result.refusal === undefined && result.isChanged));
    // The same comment again, and only the same, is no change.
    const again = await giveFeedback(database, [...pieces(false), of(0, { value: false, comment: "other" })], noon);
    assert.equal(again.results.map((result) => result.refusal ?? result.isChanged).indexOf(true), 100);
    most.push(size.most);
  }
  assert.ok(most[1]! < most[0]! + 1_000, most.join());
});

test("a record that has more feedback than is taken today takes changes and no new pieces", async () => {
  const pieces = Array.from({ length: 1_000 }, (_, nth) => ({
    ...{ name: longest.name(nth % 50), author: longest.author(Math.floor(nth / 50)), value: longest.label(nth) },
    comment: "c".repeat(1_000),
  }));
  for (const rounds of [1, 3]) {
    const { world, keyHash, targets: [, target] } = await createStage();
    const [row] = await world.database.read({
      sql: "select max(d.position) as position, workspace_id from diagnoses d, calls",
    });
    const workspaceId = row!.workspace_id as WorkspaceId,
      of = (nth: number, value: string | undefined) => {
        const { name, author } = pieces[nth]!;
        return pieceOf(keyHash, target!, { name, author, value });
      };
    await storeFeedback(world.database, workspaceId, [Number(row!.position)], pieces, rounds);
    const given = [of(999, "other"), of(0, undefined), of(0, "again"), { ...of(1, "new"), author: "" }];
    const { results } = await giveFeedback(world.database, given, noon);
    const [change, piece] = rounds === 1 ? ["stored", "too_many_authors"] : ["too_many_changes", "too_many_changes"];
    assert.equal(refusalsIn(results), [change, "stored", change, piece]);
    assert.equal(await faultsOf(world), []);
  }
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
