// Reads of stored diagnosis records. They are written by the ledger alone, and deleted by deletions.ts.
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

/** Which records of a deployment to list; `text` stands in the input or the output, whatever the case of its ASCII letters. */
export type DiagnosisFilter = TimeRange & {
  deployId: DeploymentId;
  sessionId?: string | undefined;
  status?: number | undefined;
  promptVersion?: number | undefined;
  text?: string | undefined;
};

// Of documents in one answer, since a libSQL server gives no more than 10 MB; and as many characters are enough for a page.
const pageBytes = 4 * 1024 * 1024;
// Of documents that one query looks for a text in, or takes away: some 10 ms, in which no one else gets a turn. So much of an
// export is held while its client reads it.
const workBytes = 1024 * 1024;
const searchBatch = 1024; // records that one query looks for a text in

// Text is looked for in the documents, all else in the index.
const scanLimits: Record<"index" | "documents", ScanLimit> = {
  index: { query: 16_384, page: 4_194_304 },
  documents: { query: 4_096, page: 131_072 },
};

/** The records of a deployment, newest first; `range` is where they stand, for who knows it from the page before. */
export async function listDiagnoses(
  database: Database,
  filter: DiagnosisFilter,
  request: PageRequest,
  range?: LogRange,
): Promise<Page<Diagnosis>> {
  const { rows, nextCursor } = await readRows(database, filter, request, false, range);
  return { items: rows.map(toDiagnosis), nextCursor };
}

/** Where the records stand in the log, without reading them; no more of them than can be taken away in one go. */
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
  const mostBytes = isForPositions || isSearch || isExport ? workBytes : pageBytes;
  const query = (range: LogRange & { limit: number }) => ({
    sql,
    args: { ...given, ...range, mostBytes, ...(isSearch ? { limit: searchBatch } : {}) },
  });
  const before = Math.min(end, cursor === undefined ? end : Number(cursor));
  const scanLimit = scanLimits[isSearch ? "documents" : "index"];
  return await readNewest(database, query, { first, end: before }, limit, scanLimit, {
    isMeant: (row) => !isSearch || holdsText(row, filter.text!),
    isEnough: (rows) =>
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

// Where a member is repeated, SQLite takes the first and everyone else the last, so that it tells only which records may be
// meant. It refuses JSON that is nested 1000 levels deep, and such a record is no reason not to find the others.
const mayHoldText = `iif(json_valid(d.document), exists (
    select 1 from json_each(d.document, '$.content') where type = 'text' and instr(lower(value), lower(:text)) > 0
  ), true)`;

/** Whether the input or the output of a record holds a text. */
function holdsText(row: Row, sought: string): boolean {
  const { input, output } = JSON.parse(readMembers(text(row, "document")).get("content") ?? "{}");
  return [input, output].some((member) => toLower(member ?? "").includes(toLower(sought)));
}

/** As SQLite does. */
const toLower = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** The first of the positions, as many as :mostBytes of documents stand at, but one at least. */
const firstOf = (positions: string): string =>
  `(
    select position from (
      select position, sum(octet_length(document)) over newer as bytes, row_number() over newer as nth
      from diagnoses where position in (${positions})
      window newer as (order by position desc rows unbounded preceding)
    )
    where nth = 1 or bytes <= :mostBytes
    order by position desc
  )`;

/** A query for records at positions; a search gives those that may hold the text, and the last, where it has come to. */
const recordsAt = (positions: string, isSearch: boolean): string => `
  with chosen as materialized (select position from ${positions})
  select d.position, ${idAt("diag", "d.position")} as id, d.prompt_version, m.created_at, d.document
  from chosen
  cross join diagnoses d on d.position = chosen.position
  cross join ${commitAt("d.position")}
  ${isSearch ? `where ${mayHoldText} or d.position = (select min(position) from chosen)` : ""}
  order by d.position desc`;

/** Where a record of this id stands in the log, whether or not it was deleted; undefined where there was never one. */
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

/**
 * A record with its members as submitted, those the specification does not name too. Where one of those has the name of
 * a member of ours, ours stands, and theirs is found in `submitted`.
 */
function toDiagnosis(row: Row): Diagnosis {
  const submitted = readMembers(text(row, "document"));
  const shadowed: [string, string][] = [];
  const members: [string, JsonText][] = [];
  for (const [name, text] of submitted) {
    if (ours.has(name)) shadowed.push([name, text]);
    else members.push([name, jsonText(text)]);
  }
  return {
    id: text(row, "id"),
    ...notGiven,
    ...Object.fromEntries(members),
    ...(shadowed.length === 0 ? {} : { submitted: jsonText(stringifyMembers(shadowed)) }),
    promptVersion: integer(row, "prompt_version"),
    createdAt: integer(row, "created_at"),
  };
}

const ours = new Set(["id", "promptVersion", "createdAt", "submitted"]);

/** The specification's members in its order; a submit may lack the last four. */
const notGiven = {
  sessionId: null,
  status: null,
  content: null,
  latency: null,
  startAt: null,
  endAt: null,
  additional_properties: null,
};
