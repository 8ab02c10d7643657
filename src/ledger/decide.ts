// One decision, from batches of like requests to the answers. SQL reads the batches as the table `batch` and returns a state
// for each, and a state becomes the decisions of its requests. Both formats are declared here, and read nowhere else:
// `batchColumns` on the way to SQL, `BatchState` on the way back.
import { slotId } from "../common/ids.ts";
import type { DeploymentId, KeyId, RecordId, WorkspaceId } from "../common/ids.ts";
import { toSqlJson } from "../common/json-text.ts";
import type { JsonText } from "../common/json-text.ts";
import { indeterminateError } from "../database/database.ts";
import type { Row, Statement } from "../database/database.ts";
import { text } from "../database/row.ts";
import { idempotencyOf } from "./admission.ts";
import type { Admission, Audit, CallBatch, Decision } from "./admission.ts";
import { authorized, authorizedOrAccepted, isForbidden, isVersion, visibleDeployments } from "./authorize.ts";
import { keptFor } from "./idempotency-keys.ts";
import { mostTexts } from "./prompt-cache.ts";
import type { FoundPrompt, Serve } from "./prompt-cache.ts";
import { nextPosition } from "./statements.ts";
import type { Attempt } from "./statements.ts";
import { usageOf } from "./usage.ts";

/** The columns of the table `batch`, in the order of the JSON arrays that are its rows. */
const batchColumns = [
  "key_hash",
  // An id or a reference.
  "deployment",
  "operation",
  "first_slot",
  "count",
  // The stamp of the version whose texts this process has, empty for none; null to get no texts.
  "known_version",
  "idempotency_key",
  // The version that records are for; null for the live one.
  "prompt_version",
] as const;

type BatchRow = Record<(typeof batchColumns)[number], string | number | null>;

const batchTable = `batch as materialized (
    select key as ordinal, ${batchColumns.map((column, index) => `value ->> ${index} as ${column}`).join(", ")}
    from json_each(:batches)
  )`;

/** The table `batch` as JSON, to be bound to `:batches`. */
export function encodeBatches(batches: CallBatch[], knownVersion: (batch: CallBatch) => string): string {
  let texts = 0;
  const rows = batches.map((batch): BatchRow => {
    const { keyHash, deployId, operation, firstSlot, idempotencyKey, promptVersion, admissions } = batch;
    let version = operation === "read" ? knownVersion(batch) : null;
    if (version === "" && ++texts > mostTexts) version = null;
    return {
      key_hash: keyHash,
      deployment: deployId,
      operation,
      first_slot: firstSlot,
      count: admissions.length,
      known_version: version,
      idempotency_key: idempotencyKey ?? null,
      prompt_version: promptVersion ?? null,
    };
  });
  return toSqlJson(rows.map((row) => batchColumns.map((column) => row[column])));
}

const ofKey = "workspace_id = w.id and key = b.idempotency_key and created_at >= :keptSince";

const argsOf = (batches: string, { commit, now, month }: Attempt) => ({
  batches,
  commit,
  now,
  month,
  keptSince: now - keptFor,
});

/**
 * Logs as much of each batch as the quota of its workspace allows. Batches take quota in order, and the accepted requests of
 * a batch are its first ones. Logs nothing if an earlier attempt was committed.
 */
export const logCalls = (batches: string, attempt: Attempt): Statement => ({
  sql: logSql,
  args: argsOf(batches, attempt),
});

const logSql = `
  with ${batchTable}
  insert into calls (position, count, number, workspace_id, api_key_id, deployment_id, prompt_version, operation)
  select ${nextPosition} + first_slot, min(count, monthly_limit - used - ahead), used + ahead + 1,
    workspace_id, api_key_id, deployment_id, version, operation
  from (
    select b.operation, b.first_slot, b.count, k.api_key_id, w.id as workspace_id, w.monthly_limit,
      d.id as deployment_id, coalesce(b.prompt_version, d.current_version) as version,
      coalesce(q.reads + q.submits, 0) as used,
      -- What the workspace's earlier batches ask for: once one of them is cut, that is more than is left.
      sum(b.count) over (partition by w.id order by b.ordinal rows unbounded preceding) - b.count as ahead
    from batch b ${authorized}
    where ${isVersion} and (b.idempotency_key is null or not exists (select 1 from idempotency_keys where ${ofKey}))
  )
  where used + ahead < monthly_limit and not exists (select 1 from commits where id = :commit)
  order by first_slot`;

/** What was found for a batch whose key is valid. */
export type BatchState = {
  /**
   * Why no request of the batch can be accepted, whatever the quota: the key is not for this operation; its workspace has no
   * such deployment, it is for another one, or that is not open to requests; the prompt has no such version.
   */
  refusal: "operation" | "deployment" | "version" | null;
  deployId: DeploymentId | null;
  limit: number;
  used: number;
  /** How many of `used` were reads. */
  reads: number;
  upgradeUrl: string | null;
  /** How many requests of the batch were accepted. Then all else is as it was decided, whatever has changed since. */
  accepted: number;
  /** The number of the first accepted request in its month. */
  sequence: number;
  prompt: FoundPrompt | null;
  /** What is stored under the idempotency key. */
  kept: { recordId: RecordId; fingerprint: string } | null;
  workspaceId: WorkspaceId;
  keyId: KeyId;
  /** The deployments of the workspace as JSON text, where they were asked for. */
  revisions: string | null;
};

const jsonObject = (members: Record<string, string>) =>
  `json_object(${Object.entries(members).map(([name, sql]) => `'${name}', ${sql}`).join(", ")})`;

const promptMembers = {
  workspaceId: "w.id",
  workspaceName: "w.name",
  deployName: "d.name",
  promptId: "d.prompt_id",
  version: "coalesce(c.prompt_version, d.current_version)",
  publishedAt: "s.created_at",
  title: "v.title",
  description: "v.description",
  messages: "v.messages",
  llmConfig: "v.llm_config",
} satisfies Record<keyof FoundPrompt, string>;

const revisionMembers = {
  reference: "reference",
  revision: "revision",
  version: "current_version",
  isActive: "json(iif(is_active, 'true', 'false'))",
};

const stateMembers = {
  refusal: `case when ${isForbidden} then 'operation' when d.id is null then 'deployment'
    when not ${isVersion} then 'version' end`,
  deployId: "d.id",
  limit: "w.monthly_limit",
  used: "coalesce(q.reads + q.submits, 0)",
  reads: "coalesce(q.reads, 0)",
  upgradeUrl: "w.upgrade_url",
  accepted: "coalesce(c.count, 0)",
  sequence: "coalesce(c.number, 0)",
  prompt: `case when b.operation = 'read' then ${jsonObject(promptMembers)} end`,
  kept: `case when b.idempotency_key is not null
      -- To a key for another deployment the record is as if absent.
      and (k.deployment_id is null or d.id is not null or k.deployment_id = b.deployment) then (
      select json_object('recordId', record_id, 'fingerprint', fingerprint) from idempotency_keys where ${ofKey}
    ) end`,
  workspaceId: "w.id",
  keyId: "k.api_key_id",
  revisions: `case when b.operation = 'revisions' then (
      select json_group_object(id, ${jsonObject(revisionMembers)}) || '' from (
        select d.id, p.name || '@' || d.name as reference, d.revision, d.current_version, d.is_active
        from ${visibleDeployments} order by d.id
      )
    ) end`,
} satisfies Record<keyof BatchState, string>;

/**
 * Returns one row: the states of all batches as JSON, which costs far less than a row each, and the id of the commit, which
 * tells this reply from that to another group.
 */
export const findStates = (batches: string, attempt: Attempt): Statement => ({
  sql: findSql,
  args: argsOf(batches, attempt),
});

const states = `json_group_array(case when k.hash is not null then ${jsonObject(stateMembers)} end)`;

const findSql = `
  with ${batchTable}
  select ${states} as states, :commit as commit_id
  from batch b
  left join commits m on m.id = :commit
  left join calls c on c.position = m.position + b.first_slot and c.position < m.next_position
  ${authorizedOrAccepted}
  left join prompt_versions s indexed by prompt_versions_by_time
    on c.position is not null and b.operation = 'read' and s.prompt_id = d.prompt_id and s.version = c.prompt_version
  left join prompt_versions v on v.prompt_id = s.prompt_id and v.version = s.version
    and d.id || '@' || s.version || '@' || s.created_at <> b.known_version`;

/** A null stands for a batch whose key is not valid. */
export function readStates([row]: Row[], { commit }: Attempt): (BatchState | null)[] {
  // A proxy in front of a server may deliver a reply twice.
  if (text(row!, "commit_id") !== commit) throw indeterminateError("The database sent the reply to another group");
  return JSON.parse(text(row!, "states"));
}

/** Whether one more request like those of the batch could be accepted. */
export const hasRoom = (state: BatchState | null): boolean =>
  state !== null && state.refusal === null && state.used < state.limit;

/**
 * A decision for each request. One is missing where the reason of a refusal is lost: if an earlier attempt was committed
 * without the batch, and the batch could be accepted now.
 */
export function toDecisions(batches: CallBatch[], states: (BatchState | null)[], attempt: Attempt, serve: Serve) {
  const decisions = new Map<Admission, Decision>();
  const groupSize = batches.reduce((sum, { admissions }) => sum + admissions.length, 0);
  for (const [index, batch] of batches.entries()) {
    const { firstSlot, admissions } = batch;
    const state = states[index]!;
    const audit = {
      caller: state === null ? undefined : { workspaceId: state.workspaceId, keyId: state.keyId },
      deployId: state?.deployId ?? undefined,
      groupSize,
    };
    // All of a batch get the same prompt.
    const prompt = state?.prompt && state.accepted > 0 ? serve(batch, state.deployId!, state.prompt) : undefined;
    for (const [offset, admission] of admissions.entries()) {
      const decision: Decision | undefined = state === null
        ? { outcome: "key_invalid", audit }
        : toDecision(admission, state, offset, firstSlot + offset, attempt, prompt, audit);
      if (decision !== undefined) decisions.set(admission, decision);
    }
  }
  return decisions;
}

/** `offset` counts within the batch, `slot` within the group. */
function toDecision(
  admission: Admission,
  { refusal, limit, used, reads, upgradeUrl, accepted, sequence, kept, revisions }: BatchState,
  offset: number,
  slot: number,
  { commit, month, resetsAt }: Attempt,
  prompt: JsonText | undefined,
  audit: Audit,
): Decision | undefined {
  if (admission.operation === "check" || admission.operation === "revisions") {
    return { outcome: "checked", usage: usageOf({ month, limit, reads, submits: used - reads }), revisions, audit };
  }
  const isAccepted = offset < accepted;
  const quota = { limit, used: isAccepted ? sequence + offset : used, resetsAt, upgradeUrl };
  if (refusal === "operation") {
    return { outcome: admission.operation === "read" ? "read_forbidden" : "submit_forbidden", audit };
  }
  if (kept !== null) {
    const { recordId, fingerprint } = kept;
    return fingerprint === idempotencyOf(admission)?.fingerprint
      ? { outcome: "recorded", recordId, quota, audit }
      : { outcome: "key_reused", audit };
  }
  if (refusal !== null) return { outcome: `${refusal}_not_found`, audit };
  if (!isAccepted && accepted > 0) {
    // The batch was cut at the limit of that moment, which may have been raised since.
    const last = sequence + accepted - 1;
    return { outcome: "quota_exhausted", quota: { ...quota, limit: last, used: last }, audit };
  }
  if (!isAccepted) return used < limit ? undefined : { outcome: "quota_exhausted", quota, audit };
  return prompt === undefined
    ? { outcome: "recorded", recordId: slotId("diag", commit, slot), quota, audit }
    : { outcome: "read", prompt, quota, audit };
}
