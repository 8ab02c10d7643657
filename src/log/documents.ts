// Reads the documents of records, and searches them: for a text in the input or the output, ignoring case, and for
// values at paths of the additional properties.
import { fold } from "../support/fold.ts";
import { isSameNumber, numberPattern, readMembers } from "../common/json-text.ts";
import type { Database } from "../database/database.ts";
import { integer, text as textOf } from "../database/row.ts";

/** Conditions that a document must meet. */
export type DocumentFilter = {
  /** Text within the input or the output. */
  text?: string | undefined;
  /** Values at paths of the additional properties, all of them. */
  where?: { path: string; value: string }[] | undefined;
};

/** True if a filter requires reading documents. */
export const needsDocuments = ({ text, where = [] }: DocumentFilter): boolean => text !== undefined || where.length > 0;

// Bytes of documents that one query reads, or one transaction deletes: some 10 ms, in which nothing else runs.
export const workBytes = 1024 * 1024;
const batchRecords = 1024;

/** The members of a document as JSON texts. Undefined if it is damaged. */
export function readDocument(document: string): Map<string, string> | undefined {
  try {
    // Valid JSON text contains neither: NULs of a sector of zeros, nor bytes that are not text.
    if (/[\0\ufffd]/.test(document)) JSON.parse(document);
    return readMembers(document);
  } catch {
    return undefined;
  }
}

/** The documents at positions, in the order of these, read in parts of bounded size. */
export async function* readDocuments(
  database: Database,
  positions: number[],
): AsyncGenerator<{ position: number; document: string }> {
  for (let at = 0; at < positions.length;) {
    const wanted = JSON.stringify(positions.slice(at, at + batchRecords));
    const rows = await database.read({ sql: readSql, args: { positions: wanted } });
    for (const row of rows) yield { position: integer(row, "position"), document: textOf(row, "document") };
    // A record that was deleted meanwhile has no row.
    const last = rows.at(-1);
    at = last === undefined ? at + batchRecords : positions.indexOf(integer(last, "position"), at) + 1;
  }
}

/**
 * A query for the first of :positions whose records (d) have at most so many bytes together, and for at least one. `bytes` is
 * the size of one.
 */
export const firstPositions = (bytes = "octet_length(d.document)"): string => `
  select nth, position from (
    select p.key as nth, p.value as position, row_number() over wanted as rank,
      sum(${bytes}) over (order by p.key rows unbounded preceding) as bytes
    from json_each(:positions) p cross join diagnoses d on d.position = p.value
    window wanted as (order by p.key)
  ) where rank = 1 or bytes <= ${workBytes}`;

const readSql = `
  with chosen as materialized (${firstPositions()})
  select d.position, d.document from chosen cross join diagnoses d on d.position = chosen.position order by chosen.nth`;

/** Creates a test of documents. */
export function matchesDocument({ text, where = [] }: DocumentFilter): (document: string) => boolean {
  const needle = text === undefined ? undefined : fold(text);
  return (document) => {
    const members = readDocument(document);
    if (members === undefined) return false;
    const properties = members.get("additional_properties") ?? "null";
    if (!where.every((value) => hasValue(properties, value))) return false;
    if (needle === undefined) return true;
    const { input, output } = JSON.parse(members.get("content") ?? "{}");
    return [input, output].some((member) => typeof member === "string" && fold(member).includes(needle));
  };
}

/** True if JSON text has a value at a path. A name may contain dots: `gen_ai.system` or `usage.total`. */
function hasValue(json: string, { path, value }: { path: string; value: string }): boolean {
  if (!json.startsWith("{")) return false;
  const members = readMembers(json);
  const own = members.get(path);
  if (own !== undefined && isValue(own, value)) return true;
  for (let dot = path.indexOf("."); dot >= 0; dot = path.indexOf(".", dot + 1)) {
    const inner = members.get(path.slice(0, dot));
    if (inner !== undefined && hasValue(inner, { path: path.slice(dot + 1), value })) return true;
  }
  return false;
}

const number = new RegExp(`^${numberPattern}$`);

/** True if the JSON text of a scalar has a value: a string by its characters, a number however it is written. */
function isValue(json: string, value: string): boolean {
  if (json.startsWith('"')) return JSON.parse(json) === value;
  return json === value || number.test(json) && number.test(value) && isSameNumber(json, value);
}
