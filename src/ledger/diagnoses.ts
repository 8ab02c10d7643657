// Reads stored diagnosis records. The ledger writes them, and deletions.ts deletes them.
import type { Page, PageRequest } from "../common/domain.ts";
import { readSlotId } from "../common/ids.ts";
import type { DeploymentId, RecordId, WorkspaceId } from "../common/ids.ts";
import { jsonText, readMembers, stringifyMembers } from "../common/json-text.ts";
import type { JsonText } from "../common/json-text.ts";
import type { Diagnosis } from "../schema/ledger.ts";
import { commitAt, findLogRange, idAt, inTime, newestPositions, readNewest } from "./blocks.ts";
import type { LogRange, ScanLimit, TimeRange } from "./blocks.ts";
import type { Database, Row } from "../database/database.ts";
import { defaultPageSize } from "../database/page.ts";
import { integer, text } from "../database/row.ts";

/** Which records of a deployment to list. `text` is a part of the input or the output, ignoring the case of ASCII letters. */
export type DiagnosisFilter = TimeRange & {
  deployId: DeploymentId;
  sessionId?: string | undefined;
  status?: number | undefined;
  promptVersion?: number | undefined;
  text?: string | undefined;
};

// Bytes of documents in one reply, since a libSQL server returns at most 10 MB. A page ends after as many characters.
const pageBytes = 4 * 1024 * 1024;
// Bytes of documents that one query searches or one transaction deletes: some 10 ms, in which nothing else runs. An export
// holds this much in memory while its client reads it.
const workBytes = 1024 * 1024;
const searchBatch = 1024; // records that one query searches for a text

// A text is searched for in the documents. The index serves all other filters.
const scanLimits: Record<"index" | "documents", ScanLimit> = {
  index: { query: 16_384, page: 4_194_304 },
  documents: { query: 4_096, page: 131_072 },
};

/** The records of a deployment, newest first. `range` is their range of the log, if known from the page before. */
export async function listDiagnoses(
  database: Database,
  filter: DiagnosisFilter,
  request: PageRequest,
  range?: LogRange,
): Promise<Page<Diagnosis>> {
  const { rows, nextCursor } = await readRows(database, filter, request, false, range);
  return { items: rows.map(toDiagnosis), nextCursor };
}

/** The positions of records, without reading them. A page has no more of them than one transaction should delete. */
export async function listPositions(
  database: Database,
  filter: Omit<DiagnosisFilter, "text">,
  request: PageRequest,
): Promise<Page<number>> {
  const { rows, nextCursor } = await readRows(database, filter, request, true);
  return { items: rows.map((row) => integer(row, "position")), nextCursor };
}

async function readRows(
  database: Database,
  filter: DiagnosisFilter,
  { limit = defaultPageSize, cursor }: PageRequest,
  isForPositions: boolean,
  range?: LogRange,
) {
  const { first, end } = range ?? await findLogRange(database, filter);
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
  const isSearch = filter.text !== undefined;
  const positions = firstOf(newestPositions("diagnoses", toCondition(filter)));
  const sql = isForPositions ? `select position from ${positions}` : recordsAt(positions, isSearch);
  const isExport = range !== undefined;
  const maxBytes = isForPositions || isSearch || isExport ? workBytes : pageBytes;
  const query = (range: LogRange & { limit: number }) => ({
    sql,
    args: { ...given, ...range, maxBytes, ...(isSearch ? { limit: searchBatch } : {}) },
  });
  const before = Math.min(end, cursor === undefined ? end : Number(cursor));
  const scanLimit = scanLimits[isSearch ? "documents" : "index"];
  return await readNewest(database, query, { first, end: before }, limit, scanLimit, {
    matches: (row) => !isSearch || containsText(row, filter.text!),
    isFull: (rows) =>
      isForPositions
        ? rows.length > 0
        : rows.reduce((sum, row) => sum + lengthOf(row), 0) >= (isExport ? workBytes : pageBytes),
  });
}

const lengthOf = ({ document }: Row): number => typeof document === "string" ? document.length : 0;

const toCondition = (filter: DiagnosisFilter): string =>
  [
    "r.deployment_id = :deployId",
    ...(filter.sessionId === undefined ? [] : ["r.session_id = :sessionId"]),
    ...(filter.status === undefined ? [] : ["r.status = :status"]),
    ...(filter.promptVersion === undefined ? [] : ["r.prompt_version = :promptVersion"]),
    inTime(filter, "r.position"),
  ].join(" and ");

// Finds candidates only: if a member is repeated, SQLite takes the first, and JSON.parse the last. SQLite also rejects JSON
// that is nested 1000 levels deep. Such a record is a candidate too, so that it does not fail the search.
const mayContainText = `iif(json_valid(d.document), exists (
    select 1 from json_each(d.document, '$.content') where type = 'text' and instr(lower(value), lower(:text)) > 0
  ), true)`;

/** Whether the input or the output of a record contains a text. */
function containsText(row: Row, search: string): boolean {
  const { input, output } = JSON.parse(readMembers(text(row, "document")).get("content") ?? "{}");
  return [input, output].some((member) => toLower(member ?? "").includes(toLower(search)));
}

/** Lowers ASCII letters only, as SQLite does. */
const toLower = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** The first positions, whose documents have at most :maxBytes together. At least one position. */
const firstOf = (positions: string): string =>
  `(
    select position from (
      select position, sum(octet_length(document)) over newer as bytes, row_number() over newer as nth
      from diagnoses where position in (${positions})
      window newer as (order by position desc rows unbounded preceding)
    )
    where nth = 1 or bytes <= :maxBytes
    order by position desc
  )`;

/** A query for records at positions. A search returns those that may contain the text, and the last, to continue from there. */
const recordsAt = (positions: string, isSearch: boolean): string => `
  with chosen as materialized (select position from ${positions})
  select d.position, ${idAt("diag", "d.position")} as id, d.prompt_version, m.created_at, d.document
  from chosen
  cross join diagnoses d on d.position = chosen.position
  cross join ${commitAt("d.position")}
  ${isSearch ? `where ${mayContainText} or d.position = (select min(position) from chosen)` : ""}
  order by d.position desc`;

/** Finds a record by its id. A deleted record has only a position. Returns undefined if no record ever had the id. */
export async function findDiagnosis(
  database: Database,
  id: RecordId,
): Promise<{ position: number; workspaceId: WorkspaceId; diagnosis: Diagnosis | undefined } | undefined> {
  const slot = readSlotId("diag", id);
  if (slot === undefined) return undefined;
  const [row] = await database.read({
    sql: `
      select m.position + :slot as position, :id as id, m.created_at, coalesce(d.prompt_version, 0) as prompt_version,
        d.document, c.workspace_id
      from commits m
      cross join calls c on c.position = (select max(position) from calls where position <= m.position + :slot)
      left join diagnoses d on d.position = m.position + :slot
      left join deleted_diagnoses x on x.position = m.position + :slot
      where m.id = :commitId and m.position + :slot < m.next_position
        and (d.position is not null or x.position is not null)`,
    args: { id, ...slot },
  });
  if (row === undefined) return undefined;
  const diagnosis = row.document === null ? undefined : toDiagnosis(row);
  return { position: integer(row, "position"), workspaceId: text(row, "workspace_id"), diagnosis };
}

/** A record with all members as submitted. A member with a reserved name is moved into `submitted`. */
function toDiagnosis(row: Row): Diagnosis {
  const submitted = readMembers(text(row, "document"));
  const shadowed: [string, string][] = [];
  const members: [string, JsonText][] = [];
  for (const [name, text] of submitted) {
    if (reserved.has(name)) shadowed.push([name, text]);
    else members.push([name, jsonText(text)]);
  }
  return {
    id: text(row, "id"),
    ...absent,
    ...Object.fromEntries(members),
    ...(shadowed.length === 0 ? {} : { submitted: jsonText(stringifyMembers(shadowed)) }),
    promptVersion: integer(row, "prompt_version"),
    createdAt: integer(row, "created_at"),
  };
}

const reserved = new Set(["id", "promptVersion", "createdAt", "submitted"]);

/** The specification's members in its order. A submit may lack the last four. */
const absent = {
  sessionId: null,
  status: null,
  content: null,
  latency: null,
  startAt: null,
  endAt: null,
  additional_properties: null,
};
