// Pages of lists. A cursor names the last entry of a page. The newest entries come first, so entries that are added
// meanwhile come before the first page and never shift the next ones.
import type { Page, PageRequest } from "../common/domain.ts";
import { unusable } from "../common/errors.ts";
import type { Database, Row, Statement } from "./database.ts";

/** Default number of entries in a page. */
export const defaultPageSize = 50;

/** Arguments of the query for a page: `:cursor` is null for the first page, and `:rows` is the number to read. */
type PageArgs = { cursor: string | null; rows: number };

/** Bytes of texts after which a page ends: a libSQL server returns at most 10 MB, and the whole of a page is in memory. */
export const pageBytes = 4 * 1024 * 1024;

// Rows that one query reads. What people and programs write into a row is bounded to some 40 kB.
const chunkRows = 100;

/**
 * Reads a page by a query for the rows after a cursor, newest first. A row beyond the limit tells whether pages follow. A page
 * of long rows is shorter.
 */
export async function readPage<T>(
  database: Database,
  { limit = defaultPageSize, cursor: start }: PageRequest,
  query: (page: PageArgs) => Statement,
  toItem: (row: Row) => T,
  cursorOf: (item: T) => string | number,
): Promise<Page<T>> {
  const items: T[] = [];
  let cursor = start ?? null, length = 0;
  for (;;) {
    const size = Math.min(limit - items.length, chunkRows);
    const rows = await database.read(query({ cursor, rows: size + 1 }));
    for (const row of rows.slice(0, size)) {
      items.push(toItem(row));
      length += lengthOf(row);
    }
    if (rows.length <= size) return { items, nextCursor: null };
    cursor = String(cursorOf(items.at(-1)!));
    // A UTF-16 unit takes up to three bytes, in most texts one.
    if (items.length === limit || 2 * length >= pageBytes) return { items, nextCursor: cursor };
  }
}

/** The length of the texts of a row, in UTF-16 units. */
const lengthOf = (row: Row): number =>
  Object.values(row).reduce<number>((sum, value) => typeof value === "string" ? sum + value.length : sum, 0);

/** Makes a function that throws if a cursor comes twice: such a list would never end. */
export function createCursorCheck(): (cursor: string) => void {
  const seen = new Set<string>();
  return (cursor) => {
    if (seen.has(cursor)) throw unusable(`The list has no end: cursor ${cursor} came twice`);
    seen.add(cursor);
  };
}

/** The items of each page of a list. `list` returns the page after a cursor, or the first one. */
export async function* eachPage<Item>(
  list: (cursor: string | undefined) => Promise<Page<Item>>,
): AsyncGenerator<Item[]> {
  const check = createCursorCheck();
  let cursor: string | undefined;
  do {
    const { items, nextCursor } = await list(cursor);
    if (nextCursor !== null) check(nextCursor);
    yield items;
    cursor = nextCursor ?? undefined;
  } while (cursor !== undefined);
}

/**
 * The result of a search for one item. A search that ran out of time may have missed one: it could go on from `cursor`.
 */
export type SearchResult<Item> =
  | { outcome: "found"; item: Item }
  | { outcome: "none" }
  | { outcome: "out_of_time"; cursor: string };

/**
 * Finds the first item of a list whose pages may be short or empty. Reads pages until one has an item, until the list
 * ends, or until `isOver`, which is checked after each page.
 */
export async function findFirst<Item>(
  list: (cursor: string | undefined) => Promise<Page<Item>>,
  isOver: () => boolean,
): Promise<SearchResult<Item>> {
  const check = createCursorCheck();
  let cursor: string | undefined;
  for (;;) {
    const { items: [item], nextCursor } = await list(cursor);
    if (item !== undefined) return { outcome: "found", item };
    if (nextCursor === null) return { outcome: "none" };
    if (isOver()) return { outcome: "out_of_time", cursor: nextCursor };
    check(nextCursor);
    cursor = nextCursor;
  }
}
