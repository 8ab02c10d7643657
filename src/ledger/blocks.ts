// Walking through the log. The indexes of its tables begin with the block of 256 positions that a row stands in, so what is
// looked for is looked for in one block after the other. See sql/002-create-ledger.sql.
import type { Database, Row, Statement } from "../database/database.ts";
import { integer, integerOrNull } from "../database/row.ts";

/** A stretch of the log: the positions from `first` on, and below `end`. */
export type Stretch = { first: number; end: number };

/** A time range in Unix ms: from a moment on, and before another. */
export type TimeRange = { from?: number | undefined; to?: number | undefined };

const block = 4_096; // positions, by the index of commits by time
const longestCommit = 256; // positions

/** The stretch of the log in which everything of a time range stands; what else stands there, `inTime` tells. */
export async function findStretch(database: Database, { from, to }: TimeRange): Promise<Stretch> {
  // The clocks of those who commit may differ, so a commit's time says nothing of the times before and after it.
  const firstBlock = (blocks: "up" | "down") =>
    `(
    select number from ${blocks} where exists (
      select 1 from commits where position >> 12 = number and created_at >= :from and created_at < :to
    ) limit 1
  )`;
  const [row] = await database.read({
    sql: `
      with recursive log(first, end) as materialized (
        select coalesce((select min(position) from commits), 1),
          coalesce((select next_position from commits order by position desc limit 1), 1)
      ),
      up(number) as (
        select first >> 12 from log union all select number + 1 from up where number < (select end >> 12 from log)
      ),
      down(number) as (
        select end >> 12 from log union all select number - 1 from down where number > (select first >> 12 from log)
      )
      select first, end, ${firstBlock("up")} as oldest, ${firstBlock("down")} as newest from log`,
    args: { from: from ?? Number.MIN_SAFE_INTEGER, to: to ?? Number.MAX_SAFE_INTEGER },
  });
  const first = integer(row!, "first"), end = integer(row!, "end");
  const oldest = integerOrNull(row!, "oldest"), newest = integerOrNull(row!, "newest");
  if (oldest === null || newest === null) return { first: end, end };
  return { first: Math.max(first, oldest * block), end: Math.min(end, (newest + 1) * block + longestCommit) };
}

/** When the commit was made that a position lies in. */
const timeAt = (position: string): string =>
  `(select created_at from commits where position <= ${position} order by position desc limit 1)`;

/** The condition that a position lies in a time range, to be bound to `:from` and `:to`. */
export const inTime = ({ from, to }: TimeRange, position: string): string =>
  `${from === undefined ? "true" : `${timeAt(position)} >= :from`}
    and ${to === undefined ? "true" : `${timeAt(position)} < :to`}`;

/** The numbers of the blocks of a stretch, oldest first, as a table that a query begins with. */
export const blocksOfStretch = `
  with recursive block(number) as (
    select :first >> 8 union all select number + 1 from block where number < (:end - 1) >> 8
  )`;

/**
 * A query for the positions of the newest rows (r) of a table that a condition holds for, from a position on and below
 * :end, and at most :limit of them. The condition compares columns that follow the block in an index first.
 */
export const newestPositions = (table: "calls" | "diagnoses", condition: string, first = ":first"): string => `
  with recursive block(number) as (
    select (:end - 1) >> 8
    union all select number - 1 from block where number > (${first}) >> 8
  )
  select position from (
    select r.position
    from block cross join ${table} r on r.position >> 8 = block.number and ${condition}
      and r.position >= ${first} and r.position < :end
    -- Within a block the rows are in no order, so the last block is taken whole before they are sorted.
    limit :limit + 255
  )
  order by position desc limit :limit`;

/** How much of the log is looked at: by one query, and for one page. */
export type Reach = { query: number; page: number };

/** Which of the rows that a query gives are meant, and whether those found are enough for a page, however few. */
type Choice = { isMeant(row: Row): boolean; isEnough(rows: Row[]): boolean };

/**
 * Reads rows, newest first, by a query for those in a stretch; a query may give fewer than there are, but not none. Gives
 * as many as asked for, and where it goes on: null where there is nothing more. A page may be short, or empty, where much
 * had to be looked at.
 */
export async function readNewest(
  database: Database,
  query: (stretch: Stretch & { limit: number }) => Statement,
  { first, end }: Stretch,
  limit: number,
  reach: Reach,
  { isMeant, isEnough }: Choice = { isMeant: () => true, isEnough: () => false },
): Promise<{ rows: Row[]; nextCursor: string | null }> {
  const rows: Row[] = [];
  const bottom = Math.max(first, end - reach.page);
  // One more than asked for tells whether it goes on.
  while (end > bottom && rows.length <= limit && !isEnough(rows)) {
    const low = Math.max(bottom, end - reach.query);
    const found = await database.read(query({ first: low, end, limit: limit + 1 - rows.length }));
    rows.push(...found.filter(isMeant));
    end = found.length === 0 ? low : integer(found.at(-1)!, "position");
  }
  if (rows.length > limit) return { rows: rows.slice(0, limit), nextCursor: String(rows[limit - 1]!.position) };
  return { rows, nextCursor: end > first ? String(end) : null };
}

/** The commit (m) that a position lies in, out of all or of those that a query has chosen. */
export const commitAt = (position: string, commits = "commits"): string =>
  `${commits} m on m.position = (select max(position) from commits where position <= ${position})`;

/** The id of what stands at a position of its commit (m). */
export const idAt = (prefix: "call" | "diag", position: string): string =>
  `'${prefix}_' || m.id || printf('%02x', ${position} - m.position)`;

/** The call (c) that a place (r.key) in a commit (m) belongs to, if it was accepted; behind its end stand those of others. */
export const acceptedCall = `calls c on m.position + r.key < m.next_position
      and c.position = (select max(position) from calls where position <= m.position + r.key)
      and c.position + c.count > m.position + r.key`;
