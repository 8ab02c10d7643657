// Lists in parts. A cursor names the last entry that was given: newest come first, so whatever is added while someone pages
// through stands before the first part, and in none of the others.
import type { Page, PageRequest } from "../common/domain.ts";
import { unusable } from "../common/errors.ts";
import type { Database, Row, Statement } from "./database.ts";

/** How many entries a part has unless asked otherwise. */
export const defaultPageSize = 50;

/** What a page's query is bound to: `:cursor` is null on the first, and `:rows` is how many to read. */
export type PageArgs = { cursor: string | null; rows: number };

/** Reads a page by a query for rows that come after a cursor, newest first; one row more tells whether it goes on. */
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

/** Gives what throws when it is given a cursor for the second time: a list that leads back to itself has no end. */
export function createCursorCheck(): (cursor: string) => void {
  const seen = new Set<string>();
  return (cursor) => {
    if (seen.has(cursor)) throw unusable(`The list has no end: cursor ${cursor} came twice`);
    seen.add(cursor);
  };
}

/** The items of each page of a list, to its end; `list` gives the page that a cursor leads to, or the first. */
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
