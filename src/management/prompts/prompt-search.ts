// Searches prompts for a text, ignoring case. Messages are stored as they were sent, where a letter may be an escape,
// and SQLite folds ASCII alone. So SQLite excludes prompts that cannot have the text, and the rest is decided here.
import type { Page, PageRequest } from "../../common/domain.ts";
import { fold } from "../../support/fold.ts";
import type { WorkspaceId } from "../../common/ids.ts";
import { mapStrings } from "../../common/json-text.ts";
import type { Database, Row } from "../../database/database.ts";
import { defaultPageSize } from "../../database/page.ts";
import { text as textOf } from "../../database/row.ts";
import { yielding } from "../../database/yielding.ts";

const sliceRows = 256;
const sliceBytes = 256 * 1024; // of messages: some milliseconds, in which nothing else runs
const pageSlices = 64; // read for one page

type Search<Item> = {
  workspaceId: WorkspaceId;
  text: string;
  /** Selects prompts with the number of their newest version. */
  select: string;
  /** A condition of the prompts to search. */
  listed: string;
  toItem(row: Row): Item;
};

/**
 * Prompts with a text in the name, in the title, or in a string of the newest version's messages, newest first. A page
 * is short or empty if the search has read much.
 */
export async function searchPrompts<Item extends { id: string }>(
  database: Database,
  { workspaceId, text, select, listed, toItem }: Search<Item>,
  { limit = defaultPageSize, cursor }: PageRequest,
): Promise<Page<Item>> {
  const needle = fold(text), source = yielding(database);
  const isMatch = (value: string) => fold(value).includes(needle);
  const args = { workspaceId, ...plainForms(needle), sliceRows, sliceBytes };
  const found: Item[] = [];
  let before = cursor ?? "~";
  for (let nth = 0; nth < pageSlices; nth++) {
    const rows = await source.read({ sql: sliceSql(select, listed), args: { ...args, before } });
    const last = rows.at(-1);
    if (last === undefined) return { items: found, nextCursor: null };
    found.push(...rows.filter((row) => holds(row, isMatch)).map(toItem));
    // One prompt more than the limit means that there is a next page.
    if (found.length > limit) return { items: found.slice(0, limit), nextCursor: found[limit - 1]!.id };
    before = textOf(last, "id");
  }
  return { items: found, nextCursor: before };
}

/** True if a prompt has a text that matches. */
const holds = (row: Row, isMatch: (value: string) => boolean): boolean =>
  isMatch(textOf(row, "name")) || isMatch(textOf(row, "title")) || holdsString(textOf(row, "messages"), isMatch);

/** True if JSON text has a string that matches, except as a key. */
function holdsString(json: string, isMatch: (value: string) => boolean): boolean {
  let isFound = false;
  mapStrings(json, (string) => {
    isFound ||= isMatch(JSON.parse(string) as string);
    return string;
  });
  return isFound;
}

/** A folded text as SQLite folds ASCII, in plain text and in JSON. */
function plainForms(folded: string) {
  const plain = folded.toLowerCase();
  return { plain, json: JSON.stringify(plain).slice(1, -1) };
}

/** Next candidates. In ASCII without escapes of letters and slashes, SQLite finds the text itself. */
const sliceSql = (select: string, listed: string): string => `
  select * from (
    select *, row_number() over (order by id desc) as nth,
      sum(octet_length(messages)) over (order by id desc rows unbounded preceding) as bytes
    from (
      select p.*, v.messages
      from (select * from (${select}) where workspace_id = :workspaceId and ${listed} and id < :before) p
      cross join prompt_versions v on v.prompt_id = p.id and v.version = p.latest_version
      where instr(lower(name), :plain) > 0 or instr(lower(p.title), :plain) > 0 or instr(lower(messages), :json) > 0
        or instr(messages, '\\u') > 0 or instr(messages, '\\/') > 0
        or octet_length(p.title) > length(p.title) or octet_length(messages) > length(messages)
      order by p.id desc limit :sliceRows
    )
  ) where nth = 1 or bytes <= :sliceBytes
  order by id desc`;
