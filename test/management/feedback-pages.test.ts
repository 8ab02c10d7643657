// The feedback on a record in pages, however much there is of it, and pages of records with much of it.
import fc from "fast-check";
import * as assert from "uvu/assert";
import { toHexadecimal } from "../../src/common/ids.ts";
import type { Statement } from "../../src/database/database.ts";
import type { RecordFeedback } from "../../src/management/feedback/feedback.ts";
import { createWorld, goodBody } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { suite } from "../suite.ts";
import { readPages, refusedAs, taken } from "./management.ts";

const test = suite("pages of feedback");

type Piece = { name: string; author: string; comment: string; change: number; endedAt: number | null };

const short = fc.constantFrom("a", "b", "ä", "\u{1f600}", "z".repeat(64));
const piece: fc.Arbitrary<Piece> = fc.record({
  name: fc.constantFrom("a", "b", "n".repeat(64)),
  author: fc.oneof(fc.constant(""), short),
  comment: fc.oneof({ weight: 9, arbitrary: short }, fc.constant("\u0001".repeat(8_192))),
  change: fc.integer({ min: 1, max: 3 }),
  endedAt: fc.oneof(fc.constant(null), fc.integer({ min: 1, max: 3 })),
});
/** One current piece for each name and author, and an earlier one for each of its changes. */
const pieces = fc.uniqueArray(piece, {
  maxLength: 40,
  selector: ({ name, author, change, endedAt }) =>
    endedAt === null ? [name, author].join() : [name, author, change].join(),
});

/** Gives a record these pieces as they are. */
async function store({ database }: World, position: number, all: readonly Piece[]): Promise<void> {
  const insert = ({ endedAt, ...piece }: Piece): Statement => {
    const columns = {
      position,
      ...piece,
      value: "x",
      source: "user",
      given_at: 0,
      ...endedAt !== null && { ended_at: endedAt },
    };
    const names = Object.keys(columns);
    const table = endedAt === null ? "feedback" : "earlier_feedback";
    return {
      sql: `insert into ${table} (${names.join(", ")}) values (${names.map((name) => `:${name}`).join(", ")})`,
      args: columns,
    };
  };
  await database.write(all.map(insert));
}

async function submit(world: World, body: object = goodBody): Promise<{ id: string; position: number }> {
  const { id } = taken<{ id: string }>(await world.submit(body), 201);
  const [row] = await world.database.read({ sql: "select max(position) as position from diagnoses" });
  return { id, position: Number(row!.position) };
}

/** As SQLite compares texts. */
function byBytes(one: string, other: string): number {
  const [first, second] = [one, other].map((text) => toHexadecimal(new TextEncoder().encode(text)));
  return first! < second! ? -1 : Number(first! > second!);
}

/** As the pieces of a record follow one another. */
const byKey = (one: Key, other: Key): number =>
  byBytes(one.name, other.name) || byBytes(one.author, other.author) || one.change - other.change;
type Key = Pick<Piece, "name" | "author" | "change">;

type Shown = { name: string; author: string; comment: string; endedAt?: number | undefined };
const toShown = ({ name, author, comment, endedAt }: Shown) => [name, author, comment, endedAt];

const read = async (world: World, id: string, query: string): Promise<RecordFeedback> =>
  taken(await world.manage("GET", `/diagnoses/${id}/feedback${query}`));

test("the pages of a record have each piece once: what holds, and behind it what has ended, on each page oldest first", async () => {
  const world = await createWorld();
  await fc.assert(
    fc.asyncProperty(pieces, fc.integer({ min: 1, max: 41 }), async (all, limit) => {
      const { id, position } = await submit(world);
      await store(world, position, all);
      const seen: RecordFeedback[] = [];
      for (let cursor: string | null = ""; cursor !== null;) {
        const page: RecordFeedback = await read(world, id, `?limit=${limit}${cursor && `&cursor=${cursor}`}`);
        assert.ok(page.feedback.length + page.earlier.length <= limit);
        seen.push(page);
        cursor = page.nextCursor;
      }
      const sorted = all.map((piece) => ({ ...piece, endedAt: piece.endedAt ?? undefined })).sort(byKey);
      const past = sorted.filter(({ endedAt }) => endedAt !== undefined);
      assert.equal(
        seen.flatMap(({ feedback }) => feedback).map(toShown),
        sorted.filter(({ endedAt }) => endedAt === undefined).map(toShown),
      );
      for (const { earlier } of seen) {
        const next = past.splice(0, earlier.length);
        assert.equal(earlier.map(toShown), next.sort((one, other) => one.endedAt! - other.endedAt!).map(toShown));
      }
      assert.equal(past, []);
    }),
    { numRuns: 40 },
  );
});

/** Pieces of 8 kB each. */
const many = (count: number, more: Partial<Piece> = {}): Piece[] =>
  Array.from({ length: count }, (_, nth) => (
    {
      name: `n${nth % 50}`,
      author: `a${Math.floor(nth / 50)}`,
      comment: "x".repeat(8_000),
      change: 1,
      endedAt: null,
      ...more,
    }
  ));

test("a page without a limit has all of what is usual, and of long comments about a megabyte", async () => {
  const world = await createWorld();
  const { id, position } = await submit(world);
  await store(world, position, many(300));
  await store(world, position, many(300, { endedAt: 1 }));
  const { feedback, earlier, nextCursor } = await read(world, id, "");
  assert.ok(feedback.length > 100 && feedback.length < 140, `${feedback.length}`);
  assert.equal([earlier, typeof nextCursor], [[], "string"]);
  const usual = await submit(world);
  await store(world, usual.position, many(300, { comment: "x" }));
  const all = await read(world, usual.id, "");
  assert.equal([all.feedback.length, all.nextCursor], [300, null]);
});

test("a cursor that is none is refused", async () => {
  const world = await createWorld();
  const { id } = await submit(world);
  for (const cursor of ["00", "zz", "5b22225d", "7b7d", "5b312c322c335d"]) {
    refusedAs(400, "invalid", await world.manage("GET", `/diagnoses/${id}/feedback?cursor=${cursor}`));
  }
});

type Listed = { id: string; feedback?: object[] };

test("the feedback on records counts for the length of a page, and no record is left out", async () => {
  const world = await createWorld();
  const ids: string[] = [];
  for (let nth = 0; nth < 12; nth++) {
    const { id, position } = await submit(world);
    await store(world, position, many(100));
    ids.push(id);
  }
  const pages = await readPages<Listed>(world, `/deployments/${world.deployId}/diagnoses?limit=1000`);
  assert.equal(pages.map(({ length }) => length), [6, 6]);
  assert.equal(pages.flat().map(({ id }) => id), ids.reverse());
});

test.run();
