// Reads stored diagnosis records. The ledger writes them, and deletions.ts deletes them.
import type { Page, PageRequest } from "../common/domain.ts";
import { readSlotId } from "../common/ids.ts";
import type { RecordId, WorkspaceId } from "../common/ids.ts";
import { jsonText, stringifyMembers } from "../common/json-text.ts";
import type { JsonText } from "../common/json-text.ts";
import type { Diagnosis } from "../schema/ledger.ts";
import type { Database, Row } from "../database/database.ts";
import { defaultPageSize, pageBytes } from "../database/page.ts";
import { integer, integerOrNull, text, textOrNull } from "../database/row.ts";
import { commitAt, findLogRange, goesOn, idAt } from "../ledger/blocks.ts";
import type { LogRange, SearchRequest } from "../ledger/blocks.ts";
import { firstPositions, readDocument, workBytes } from "./documents.ts";
import { feedbackAt, feedbackBytesAt } from "./record-feedback.ts";
import { scan, workOf } from "./scan.ts";
import type { ScanOptions } from "./scan.ts";

// Numbers of positions: in the first query, in one query at most, and the least that are scanned for a page.
const scanLimits = {
  index: { first: 512, query: 16_384, least: 65_536 },
  numbers: { first: 512, query: 16_384, least: 16_384 },
  documents: { first: 512, query: 1_024, least: 4_096 },
};

const limitsOf = ({ filter }: ScanOptions) => scanLimits[workOf(filter)];

/** The end of the log that comes first. */
export type Order = "newest" | "oldest";

/**
 * `report` is called with the share of the log that was searched, from 0 to 1, and with 1 where the search ends
 * earlier.
 */
export type ListRequest = SearchRequest & {
  order?: Order | undefined;
  report?: ((share: number) => void) | undefined;
};

/**
 * The records that match, in the order of the log. `range` is their range of the log, if known from the page before.
 */
export async function listDiagnoses(
  database: Database,
  matching: ScanOptions,
  request: ListRequest,
  range?: LogRange,
): Promise<Page<Diagnosis>> {
  const { positions, nextCursor } = await findPositions(database, matching, request, range);
  const maxBytes = range === undefined ? pageBytes : workBytes;
  const items: Diagnosis[] = [];
  let bytes = 0;
  for await (const row of readRecords(database, positions)) {
    items.push(toDiagnosis(row));
    bytes += text(row, "document").length + text(row, "feedback").length;
    // The next page begins after this record.
    if (bytes >= maxBytes && items.length < positions.length) {
      return { items, nextCursor: String(integer(row, "position")) };
    }
  }
  return { items, nextCursor };
}

/** The positions of records, without reading them. A page holds at most as many as one transaction should delete. */
export async function listPositions(
  database: Database,
  matching: ScanOptions,
  request: PageRequest,
): Promise<Page<number>> {
  const { positions, nextCursor } = await findPositions(database, matching, request);
  if (positions.length === 0) return { items: [], nextCursor };
  const rows = await database.read({
    sql: `${firstPositions()} order by nth`,
    args: { positions: JSON.stringify(positions) },
  });
  const items = rows.map((row) => integer(row, "position"));
  const last = items.at(-1);
  return { items, nextCursor: last === undefined || last === positions.at(-1) ? nextCursor : String(last) };
}

/** Finds a page of positions. A page is short or empty if the search ended first. */
export async function findPositions(
  database: Database,
  matching: ScanOptions,
  { limit = defaultPageSize, cursor, order = "newest", report, ...request }: ListRequest,
  range?: LogRange,
  limits = limitsOf(matching),
): Promise<{ positions: number[]; nextCursor: string | null }> {
  const isNewest = order === "newest";
  let { first, end } = range ?? await findLogRange(database, matching.filter);
  if (cursor !== undefined && isNewest) end = Math.min(end, Number(cursor));
  else if (cursor !== undefined) first = Math.max(first, Number(cursor) + 1);
  const found: number[] = [];
  const whole = end - first;
  let length = limits.first;
  for (let scanned = 0; first < end && found.length <= limit && goesOn(request, scanned, limits); scanned += length) {
    if (scanned > 0) length = Math.min(4 * length, limits.query);
    const part = isNewest
      ? { first: Math.max(first, end - length), end }
      : { first, end: Math.min(end, first + length) };
    const positions: number[] = [];
    await scan(database, matching, part, ({ position }) => void positions.push(position));
    found.push(...positions.sort((a, b) => isNewest ? b - a : a - b));
    if (isNewest) end = part.first;
    else first = part.end;
    report?.(1 - (end - first) / whole);
  }
  report?.(1);
  // One position more than the limit shows whether there is a next page.
  if (found.length > limit) {
    const positions = found.slice(0, limit);
    return { positions, nextCursor: String(positions.at(-1)) };
  }
  return { positions: found, nextCursor: first < end ? String(isNewest ? end : first - 1) : null };
}

/** Columns of a record (d) other than its position, id and version. */
const recordColumns =
  `m.created_at, d.document, d.session_id, d.status, d.deployment_id, c.rollout_id, c.api_key_id, c.workspace_id,
  p.name || '@' || y.name as reference, (
    select value ->> 'name' from workspaces w cross join json_each(w.statuses)
    where w.id = c.workspace_id and value ->> 'status' = d.status
  ) as status_name, ${feedbackAt("d.position", "c.workspace_id")} as feedback`;

/** Joins the deployment (y) of a record (d) with its prompt (p). */
const withDeployment = "left join deployments y on y.id = d.deployment_id left join prompts p on p.id = y.prompt_id";

const callAt = (position: string) =>
  `calls c on c.position = (select max(position) from calls where position <= ${position})`;

/** The records at positions, in the order of these, read in parts of bounded size. */
async function* readRecords(database: Database, positions: number[]): AsyncGenerator<Row> {
  const sql = `
    with chosen as materialized (${firstPositions(`octet_length(d.document) + ${feedbackBytesAt("d.position")}`)})
    select d.position, ${idAt("diag", "d.position")} as id, d.prompt_version, ${recordColumns}
    from chosen
    cross join diagnoses d on d.position = chosen.position
    cross join ${commitAt("d.position")}
    cross join ${callAt("d.position")}
    ${withDeployment}
    order by chosen.nth`;
  for (let at = 0; at < positions.length;) {
    const rows = await database.read({ sql, args: { positions: JSON.stringify(positions.slice(at)) } });
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    at = positions.indexOf(integer(last, "position"), at) + 1;
  }
}

/**
 * Finds columns of the commit (m), the call (c) and the record (d) with an id. All columns of a deleted record (d) are
 * null.
 */
async function findById(database: Database, id: RecordId, columns: string, joins = ""): Promise<Row | undefined> {
  const slot = readSlotId("diag", id);
  if (slot === undefined) return undefined;
  const [row] = await database.read({
    sql: `
      select m.position + :slot as position, d.prompt_version, ${columns}
      from commits m
      cross join ${callAt("m.position + :slot")}
      left join diagnoses d on d.position = m.position + :slot
      left join deleted_diagnoses x on x.position = m.position + :slot
      ${joins}
      where m.id = :commitId and m.position + :slot < m.next_position
        and (d.position is not null or x.position is not null)`,
    args: slot,
  });
  return row;
}

/** Finds a record by its id. Returns undefined if no record ever had the id, and null if it was deleted. */
export async function findDiagnosis(database: Database, id: RecordId): Promise<Diagnosis | null | undefined> {
  const row = await findById(database, id, `${idAt("diag", "d.position")} as id, ${recordColumns}`, withDeployment);
  return row === undefined ? undefined : row.document === null ? null : toDiagnosis(row);
}

/** Position of a record, found without reading it. A deleted record has no version. */
export type RecordPlace = { position: number; workspaceId: WorkspaceId; promptVersion: number | null };

/** Finds where a record is by its id. Returns undefined if no record ever had the id. */
export async function findPlace(database: Database, id: RecordId): Promise<RecordPlace | undefined> {
  const row = await findById(database, id, "c.workspace_id");
  return row && {
    position: integer(row, "position"),
    workspaceId: text(row, "workspace_id"),
    promptVersion: integerOrNull(row, "prompt_version"),
  };
}

/** A record with all members as submitted. A member with a reserved name is moved into `submitted`. */
function toDiagnosis(row: Row): Diagnosis {
  const document = text(row, "document");
  const found = readDocument(document);
  const submitted = found ?? new Map(Object.entries({
    sessionId: JSON.stringify(text(row, "session_id")),
    status: String(integer(row, "status")),
    content: JSON.stringify({ output: document }),
  }));
  const shadowed: [string, string][] = [];
  const members: [string, JsonText][] = [];
  for (const [name, text] of submitted) {
    if (reserved.has(name)) shadowed.push([name, text]);
    else members.push([name, jsonText(text)]);
  }
  const feedback = text(row, "feedback"), rollout = textOrNull(row, "rollout_id");
  return {
    id: text(row, "id"),
    ...absent,
    ...Object.fromEntries(members),
    ...(shadowed.length === 0 ? {} : { submitted: jsonText(stringifyMembers(shadowed)) }),
    promptVersion: integer(row, "prompt_version"),
    ...(rollout === null ? {} : { rollout }),
    createdAt: integer(row, "created_at"),
    deployId: text(row, "deployment_id"),
    reference: textOrNull(row, "reference"),
    keyId: text(row, "api_key_id"),
    statusName: textOrNull(row, "status_name"),
    ...(feedback === "[]" ? {} : { feedback: jsonText(feedback) }),
    ...(found === undefined ? { isDamaged: jsonText("true") } : {}),
  };
}

const reserved = new Set([
  ...["id", "promptVersion", "rollout", "createdAt", "submitted"],
  ...["deployId", "reference", "keyId", "statusName", "isDamaged", "feedback"],
]);

/** The specification's members in its order. The last four are optional in a submit. */
const absent = {
  sessionId: null,
  status: null,
  content: null,
  latency: null,
  startAt: null,
  endAt: null,
  additional_properties: null,
};
