// The ledger: decides requests, and in the same transaction counts them, logs them and stores their records.
// Nothing else writes quota_usage, calls or diagnoses, so quota used = calls = reads served + records stored.
import type { Quota } from "../domain.ts";
import { newId, recordIdOf } from "../ids.ts";
import type { JsonText } from "../json-text.ts";
import { jsonText, makeWellFormed } from "../json-text.ts";
import { monthOf } from "../month.ts";
import type { Database, Row } from "./database.ts";
import { integer, integerOrNull, text, textOrNull } from "./row.ts";

/** A record to store; `document` is the JSON object that is read back. */
export type NewDiagnosis = { sessionId: string; status: number; document: string };

/** A request that asks to be admitted. `at` is when it arrived (Unix ms), and decides its month. */
export type Read = { operation: "read"; keyHash: string; deployId: string; at: number };
export type Submit = { operation: "submit"; keyHash: string; deployId: string; at: number; record: NewDiagnosis };

/** A prompt as the specification serves it. */
export type ServedPrompt = {
  id: string;
  title: string;
  description: string;
  messages: JsonText;
  deploy: { id: string; name: string; currentVersion: number; isActive: boolean };
  workspace: { id: string; name: string };
  llmConfig: JsonText;
};

/** Why a request was not accepted. It has left nothing in the database. */
export type Refused =
  | { outcome: "key_invalid" }
  | { outcome: "deployment_not_found" }
  | { outcome: "quota_exhausted"; quota: Quota };
export type Served = { outcome: "read"; prompt: ServedPrompt; quota: Quota };
export type Recorded = { outcome: "recorded"; recordId: string; quota: Quota };
type Verdict = Served | Recorded | Refused;

export type Ledger = {
  /** Decides a request and makes it count, in one round trip. */
  admit(read: Read): Promise<Served | Refused>;
  admit(submit: Submit): Promise<Recorded | Refused>;
  /** Whether a key is valid, for a request that is refused for something else; it leaves nothing behind. */
  isKeyValid(keyHash: string, at: number): Promise<boolean>;
};

export function createLedger(database: Database): Ledger {
  return {
    admit: (async (admission: Read | Submit) => (await admitGroup(database, [admission]))[0]) as Ledger["admit"],
    isKeyValid: async (keyHash, at) => (await database.read({ sql: findKey, args: { keyHash, at } })).length > 0,
  };
}

/** Decides requests in one transaction; those of one workspace take its quota in the order given. */
async function admitGroup(database: Database, admissions: (Read | Submit)[]): Promise<Verdict[]> {
  const group = admissions.map((admission) => (
    { ...admission, callId: newId("call", admission.at), month: monthOf(admission.at) }
  ));
  const requests = toPayload(group.map(({ callId, keyHash, deployId, operation, at, month }) => (
    { callId, keyHash, deployId, operation, at, month }
  )));
  const records = toPayload(
    group.flatMap((request) =>
      request.operation === "submit"
        ? [{ callId: request.callId, recordId: recordIdOf(request.callId), ...request.record }]
        : []
    ),
  );
  const [, , , verdicts] = await database.write([
    { sql: acceptCalls, args: { requests } },
    { sql: countCalls, args: { requests } },
    { sql: storeRecords, args: { records } },
    { sql: listVerdicts, args: { requests } },
  ]);
  return group.map((request, index) => toVerdict(request, verdicts![index]!));
}

/** A JSON array for json_each, which would store the escape of a lone surrogate as bytes that no one can read back. */
const toPayload = (rows: object[]) => makeWellFormed(JSON.stringify(rows));

function toVerdict(request: (Read | Submit) & { callId: string; month: string }, row: Row): Verdict {
  if (row.key_id === null) return { outcome: "key_invalid" };
  if (row.deployment_id === null) return { outcome: "deployment_not_found" };
  const quota = {
    month: request.month,
    limit: integer(row, "monthly_limit"),
    used: integerOrNull(row, "number") ?? integer(row, "used"),
    upgradeUrl: textOrNull(row, "upgrade_url"),
  };
  if (row.number === null) return { outcome: "quota_exhausted", quota };
  if (request.operation === "submit") return { outcome: "recorded", recordId: recordIdOf(request.callId), quota };
  return { outcome: "read", prompt: toServedPrompt(row), quota };
}

const toServedPrompt = (row: Row): ServedPrompt => ({
  id: text(row, "prompt_id"),
  title: text(row, "title"),
  description: text(row, "description"),
  messages: jsonText(text(row, "messages")),
  deploy: {
    id: text(row, "deployment_id"),
    name: text(row, "deployment_name"),
    currentVersion: integer(row, "current_version"),
    isActive: true,
  },
  workspace: { id: text(row, "workspace_id"), name: text(row, "workspace_name") },
  llmConfig: jsonText(text(row, "llm_config")),
});

const findKey = `
  select 1 from api_keys
  where hash = :keyHash and revoked_at is null and (expires_at is null or expires_at > :at)`;

// A request (r) finds its key (k), workspace (w) and deployment (d); the joins are the authorization.
const authorized = (join: "join" | "left join") => `
  ${join} api_keys k on k.hash = r.value ->> 'keyHash'
    and k.revoked_at is null and (k.expires_at is null or k.expires_at > r.value ->> 'at')
  ${join} workspaces w on w.id = k.workspace_id
  ${join} deployments d on d.id = r.value ->> 'deployId' and d.workspace_id = k.workspace_id and d.is_active = 1
  left join quota_usage q on q.workspace_id = w.id and q.month = r.value ->> 'month'`;

// Each takes the next number of its month, as long as that is within the limit; the others are left out.
const acceptCalls = `
  insert into calls (id, workspace_id, month, number, api_key_id, deployment_id, prompt_version, operation, created_at)
  select call_id, workspace_id, month, number, api_key_id, deployment_id, current_version, operation, at
  from (
    select r.key as turn, r.value ->> 'callId' as call_id, w.id as workspace_id, r.value ->> 'month' as month,
      coalesce(q.reads + q.submits, 0)
        + row_number() over (partition by w.id, r.value ->> 'month' order by r.key) as number,
      w.monthly_limit, k.id as api_key_id, d.id as deployment_id, d.current_version,
      r.value ->> 'operation' as operation, r.value ->> 'at' as at
    from json_each(:requests) r ${authorized("join")}
  )
  where number <= monthly_limit
  order by turn`;

const countCalls = `
  insert into quota_usage (workspace_id, month, reads, submits)
  select c.workspace_id, c.month, sum(c.operation = 'read'), sum(c.operation = 'submit')
  from json_each(:requests) r join calls c on c.id = r.value ->> 'callId'
  group by c.workspace_id, c.month
  on conflict do update set reads = reads + excluded.reads, submits = submits + excluded.submits`;

const storeRecords = `
  insert into diagnoses (position, id, deployment_id, prompt_version, session_id, status, document, created_at)
  select c.position, r.value ->> 'recordId', c.deployment_id, c.prompt_version,
    r.value ->> 'sessionId', r.value ->> 'status', r.value ->> 'document', c.created_at
  from json_each(:records) r join calls c on c.id = r.value ->> 'callId'`;

// One row per request, in order: null where the key, the deployment or the number is missing.
const listVerdicts = `
  select k.id as key_id, d.id as deployment_id, d.name as deployment_name, c.number,
    w.id as workspace_id, w.name as workspace_name, w.monthly_limit, w.upgrade_url,
    coalesce(q.reads + q.submits, 0) as used, d.current_version,
    v.prompt_id, v.title, v.description, v.messages, v.llm_config
  from json_each(:requests) r ${authorized("left join")}
  left join calls c on c.id = r.value ->> 'callId'
  left join prompt_versions v on v.prompt_id = d.prompt_id and v.version = d.current_version
    and c.operation = 'read'
  order by r.key`;
