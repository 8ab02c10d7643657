// Pages of lists. A cursor names the last entry of a page. The newest entries come first, so entries that are added meanwhile
// come before the first page and never shift the next ones.
import type { Page, PageRequest } from "../common/domain.ts";
import { unusable } from "../common/errors.ts";
import type { Database, Row, Statement } from "./database.ts";

/** How many entries a page has by default. */
export const defaultPageSize = 50;

/** What the query of a page is bound to: `:cursor` is null for the first page, and `:rows` is how many to read. */
type PageArgs = { cursor: string | null; rows: number };

/** Reads a page by a query for the rows after a cursor, newest first. A row beyond the limit tells whether pages follow. */
export async function readPage<T>(
  database: Database,
  { limit = defaultPageSize, cursor }: PageRequest,
  query: (page: PageArgs) => Statement,
  toItem: (row: Row) => T,
  cursorOf: (item: T) => string | number,
): Promise<Page<T>> {
  const items = (await database.read(query({ cursor: cursor ?? null, rows: limit + 1 }))).map(toItem);
  const shown = items.slice(0, limit);
  return { items: shown, nextCursor: items.length > limit ? String(cursorOf(shown.at(-1)!)) : null };
}

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
 * Finds the first item of a list whose pages may be short or empty. Reads pages until one has an item, until the list ends, or
 * until `isOver`, which it asks after each page.
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
