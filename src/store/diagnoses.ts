// Reads of stored diagnosis records. They are written by the ledger alone.
import type { Diagnosis } from "../domain.ts";
import { jsonText, readMembers, stringify } from "../json-text.ts";
import type { Database, Row } from "./database.ts";

/** Which records of a deployment to list, and how many at most. */
export type DiagnosisFilter = { deployId: string; sessionId?: string; status?: number; limit: number };

/** Records, newest first. */
export async function listDiagnoses(database: Database, filter: DiagnosisFilter): Promise<Diagnosis[]> {
  const { deployId, sessionId, status, limit } = filter;
  const rows = await database.read({
    sql: `select * from diagnoses where deployment_id = :deployId
        ${sessionId === undefined ? "" : "and session_id = :sessionId"}
        ${status === undefined ? "" : "and status = :status"}
      order by position desc limit :limit`,
    args: {
      deployId,
      limit,
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(status === undefined ? {} : { status }),
    },
  });
  return rows.map(toDiagnosis);
}

/**
 * A record with its members as submitted, those the specification does not name too. Where one of those has the name of
 * a member of ours, ours stands, and theirs is found in `submitted`.
 */
function toDiagnosis(row: Row): Diagnosis {
  const members = [...readMembers(String(row.document))].map(([name, text]) => [name, jsonText(text)] as const);
  const isShadowed = (name: string) => ["id", "promptVersion", "createdAt", "submitted"].includes(name);
  const shadowed = members.filter(([name]) => isShadowed(name));
  return {
    id: String(row.id),
    ...notGiven,
    ...Object.fromEntries(members.filter(([name]) => !isShadowed(name))),
    ...(shadowed.length === 0 ? {} : { submitted: jsonText(stringify(Object.fromEntries(shadowed))) }),
    promptVersion: Number(row.prompt_version),
    createdAt: Number(row.created_at),
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
