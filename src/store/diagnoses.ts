// Reads of stored diagnosis records. They are written by the ledger alone.
import type { Diagnosis } from "../domain.ts";
import { jsonText, readMembers, stringify } from "../json-text.ts";
import { commitAt, idAt, newestPositions } from "./blocks.ts";
import type { Database, Row } from "./database.ts";
import { integer, text } from "./row.ts";

/** Which records of a deployment to list, and how many at most. */
export type DiagnosisFilter = { deployId: string; sessionId?: string; status?: number; limit: number };

const pageBytes = 4 * 1024 * 1024; // of documents in one answer: a libSQL server gives no more than 10 MB

/** Records, newest first. */
export async function listDiagnoses(database: Database, filter: DiagnosisFilter): Promise<Diagnosis[]> {
  const found: Diagnosis[] = [];
  let before = Number.MAX_SAFE_INTEGER;
  while (found.length < filter.limit) {
    const rows = await readPage(database, { ...filter, limit: filter.limit - found.length }, before);
    if (rows.length === 0) break;
    found.push(...rows.map(toDiagnosis));
    before = integer(rows.at(-1)!, "position");
  }
  return found;
}

/** Up to the limit, but no more than fit in an answer; one at least, where there is one. */
function readPage(
  database: Database,
  { deployId, sessionId, status, limit }: DiagnosisFilter,
  before: number,
): Promise<Row[]> {
  const condition = `r.deployment_id = :deployId
    ${sessionId === undefined ? "" : "and r.session_id = :sessionId"}
    ${status === undefined ? "" : "and r.status = :status"}`;
  return database.read({
    sql: `
      select d.position, ${idAt("diag", "d.position")} as id, d.prompt_version, m.created_at, d.document
      from (
        select *, sum(octet_length(document)) over (order by position desc) as bytes,
          row_number() over (order by position desc) as place
        from diagnoses where position in (${newestPositions("diagnoses", condition)})
      ) d
      cross join ${commitAt("d.position")}
      where place = 1 or bytes <= :pageBytes
      order by d.position desc`,
    args: {
      deployId,
      before,
      limit,
      pageBytes,
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(status === undefined ? {} : { status }),
    },
  });
}

/**
 * A record with its members as submitted, those the specification does not name too. Where one of those has the name of
 * a member of ours, ours stands, and theirs is found in `submitted`.
 */
function toDiagnosis(row: Row): Diagnosis {
  const members = [...readMembers(text(row, "document"))].map(([name, text]) => [name, jsonText(text)] as const);
  const isShadowed = (name: string) => ["id", "promptVersion", "createdAt", "submitted"].includes(name);
  const shadowed = members.filter(([name]) => isShadowed(name));
  return {
    id: text(row, "id"),
    ...notGiven,
    ...Object.fromEntries(members.filter(([name]) => !isShadowed(name))),
    ...(shadowed.length === 0 ? {} : { submitted: jsonText(stringify(Object.fromEntries(shadowed))) }),
    promptVersion: integer(row, "prompt_version"),
    createdAt: integer(row, "created_at"),
  };
}

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
