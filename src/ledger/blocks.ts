// Scans of the log. The indexes of its tables begin with the block of 256 positions that contains the row, so a scan
// visits one block after the other. See sql/002-create-ledger.sql.
import type { PageRequest } from "../common/domain.ts";
import type { Database, Row, Statement } from "../database/database.ts";
import { defaultPageSize } from "../database/page.ts";
import { integer, integerOrNull } from "../database/row.ts";

/** A range of log positions: from `first`, included, to `end`, excluded. */
export type LogRange = { first: number; end: number };

/** The block that a position is in. */
export const blockOf = (position: number): number => Math.floor(position / 256);

/** A time range in Unix ms: `from` is included, `to` is excluded. */
export type TimeRange = { from?: number | undefined; to?: number | undefined };

const block = 4_096; // positions, by the index of commits by time
const maxCommitLength = 256; // positions

/** The positions that can hold rows of a time range. They can hold other rows too: filter with `inTime`. */
export async function findLogRange(database: Database, { from, to }: TimeRange): Promise<LogRange> {
  // The clocks of processes differ, so commits are not in order of time.
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
  return { first: Math.max(first, oldest * block), end: Math.min(end, (newest + 1) * block + maxCommitLength) };
}

/** The time of the commit that contains a position. */
const timeAt = (position: string): string =>
  `(select created_at from commits where position <= ${position} order by position desc limit 1)`;

/** The condition that a position is in a time range. Bind `:from` and `:to`. */
export const inTime = ({ from, to }: TimeRange, position: string): string =>
  `${from === undefined ? "true" : `${timeAt(position)} >= :from`}
    and ${to === undefined ? "true" : `${timeAt(position)} < :to`}`;

/** The `with` clause of a table with the blocks of a range, oldest first. */
export const blocksOfRange = `
  with recursive block(number) as (
    select :first >> 8 union all select number + 1 from block where number < (:end - 1) >> 8
  )`;

/**
 * A query for the positions of the newest calls (r) that satisfy a condition, from `first` on and below :end, at most
 * :limit of them. The condition should start with the columns that follow the block in an index.
 */
export const newestPositions = (condition: string, first = ":first"): string => `
  with recursive block(number) as (
    select (:end - 1) >> 8
    union all select number - 1 from block where number > (${first}) >> 8
  )
  select position from (
    select r.position
    from block cross join calls r on r.position >> 8 = block.number and ${condition}
      and r.position >= ${first} and r.position < :end
    -- Rows within a block are unordered, so the last block is read whole before sorting.
    limit :limit + 255
  )
  order by position desc limit :limit`;

/**
 * Number of positions to scan: at most `query` in one query, and at least `least` for a page that stays empty, however
 * long that takes.
 */
type ScanLimit = { query: number; least: number };

/**
 * A page of the log. Once `isOver`, a search for it ends, though the page is not full and the log goes on. Without it,
 * a search ends after the least number of positions.
 */
export type SearchRequest = PageRequest & { isOver?: (() => boolean) | undefined };

/** True if a search goes on after scanning this many positions. */
export const goesOn = ({ isOver }: SearchRequest, scanned: number, { least }: { least: number }): boolean =>
  scanned < least || isOver?.() === false;

/**
 * Reads a page of rows, newest first, by repeating a query over parts of a range. `nextCursor` is null at the end. A
 * page is short or empty if the search ended first.
 */
export async function readNewest(
  database: Database,
  query: (range: LogRange & { limit: number }) => Statement,
  { first, end: start }: LogRange,
  { limit = defaultPageSize, ...request }: SearchRequest,
  scanLimit: ScanLimit,
): Promise<{ rows: Row[]; nextCursor: string | null }> {
  const rows: Row[] = [];
  let end = start;
  // One row more than the limit shows whether there is a next page.
  while (end > first && rows.length <= limit && goesOn(request, start - end, scanLimit)) {
    const low = Math.max(first, end - scanLimit.query);
    const found = await database.read(query({ first: low, end, limit: limit + 1 - rows.length }));
    rows.push(...found);
    end = found.length === 0 ? low : integer(found.at(-1)!, "position");
  }
  if (rows.length > limit) return { rows: rows.slice(0, limit), nextCursor: String(rows[limit - 1]!.position) };
  return { rows, nextCursor: end > first ? String(end) : null };
}

/** Joins the commit (m) that contains a position. `commits` may name a subset of them. */
export const commitAt = (position: string, commits = "commits"): string =>
  `${commits} m on m.position = (select max(position) from commits where position <= ${position})`;

/** The id of the call or record at a position of its commit (m). */
export const idAt = (prefix: "call" | "diag", position: string): string =>
  `'${prefix}_' || m.id || printf('%02x', ${position} - m.position)`;

/**
 * Joins the calls row (c) of a slot (r.key) of a commit (m), if that slot was accepted. Other commits follow its end.
 */
export const acceptedCall = `calls c on m.position + r.key < m.next_position
      and c.position = (select max(position) from calls where position <= m.position + r.key)
      and c.position + c.count > m.position + r.key`;
