// Decides batches of like requests. SQL reads them as the table `batch` and returns a state for each batch, from which
// the decisions of its requests follow. Both formats are private to this file: `batchColumns` to SQL, `BatchState`
// back.
import { slotId } from "../common/ids.ts";
import type { DeploymentId, KeyId, RecordId, WorkspaceId } from "../common/ids.ts";
import { toSqlJson } from "../common/json-text.ts";
import { indeterminateError } from "../database/database.ts";
import type { Row, Statement } from "../database/database.ts";
import { text } from "../database/row.ts";
import type { Admission, Audit, CallBatch, Decision } from "./admission.ts";
import { authorized, authorizedOrAccepted, hasRollout, hasVersion, isForbidden } from "./authorize.ts";
import { visibleDeployments } from "./authorize.ts";
import { keyLifetime } from "./idempotency-keys.ts";
import { maxTexts } from "./prompt-cache.ts";
import type { FoundPrompt, FoundRollout, Serve, ServedTexts } from "./prompt-cache.ts";
import { jsonTable, nextPosition } from "./statements.ts";
import type { Attempt } from "./statements.ts";
import { usageOf } from "./usage.ts";

/**
 * The columns of the table `batch`, in the order of the JSON arrays that are its rows. Undefined becomes null there.
 */
const batchColumns: Record<string, (batch: CallBatch, known: string | null) => unknown> = {
  key_hash: ({ first }) => first.keyHash,
  // An id or a reference.
  deployment: ({ first }) => first.deployId,
  operation: ({ first }) => first.operation,
  first_slot: ({ firstSlot }) => firstSlot,
  count: ({ admissions }) => admissions.length,
  // The stamps of the versions whose texts are cached, or empty. If null, no texts are returned.
  known_version: (_, known) => known,
  idempotency_key: ({ first }) => first.idempotency?.key,
  // The version that the records are for. Null means the live one.
  prompt_version: ({ first }) => first.promptVersion,
  // The rollout that chose it.
  rollout_id: ({ first }) => first.rollout,
};

const batchTable = jsonTable("batch", Object.keys(batchColumns), "batches");

/** Encodes the table `batch` as JSON. Bind it to `:batches`. */
export function encodeBatches(batches: CallBatch[], knownVersion: (batch: CallBatch) => string): string {
  let found = 0; // texts
  return toSqlJson(batches.map((batch) => {
    let known = batch.first.operation === "read" ? knownVersion(batch) : null;
    // A rollout has two.
    if (known === "" && (found += 2) > maxTexts) known = null;
    return Object.values(batchColumns).map((valueOf) => valueOf(batch, known));
  }));
}

const isStoredKey = "workspace_id = w.id and key = b.idempotency_key and created_at >= :validSince";

const argsOf = (batches: string, { commit, now, month }: Attempt) => ({
  batches,
  commit,
  now,
  month,
  validSince: now - keyLifetime,
});

/**
 * Logs as much of each batch as the quota of its workspace allows. Batches take quota in order, and the accepted
 * requests of a batch are its first ones. Logs nothing if an earlier attempt was committed.
 */
export const logCalls = (batches: string, attempt: Attempt): Statement => ({
  sql: logSql,
  args: argsOf(batches, attempt),
});

// `ahead` counts the requests of the workspace's earlier batches. If one of them was cut, it exceeds the remaining
// quota.
const logSql = `
  with ${batchTable}
  insert into calls (position, count, number, workspace_id, api_key_id, deployment_id, prompt_version, operation, rollout_id)
  select ${nextPosition} + first_slot, min(count, monthly_limit - used - ahead), used + ahead + 1,
    workspace_id, api_key_id, deployment_id, version, operation, rollout_id
  from (
    select b.operation, b.rollout_id, b.first_slot, b.count, k.api_key_id, w.id as workspace_id, w.monthly_limit,
      d.id as deployment_id, coalesce(b.prompt_version, d.current_version) as version,
      coalesce(q.reads + q.submits, 0) as used,
      sum(b.count) over (partition by w.id order by b.ordinal rows unbounded preceding) - b.count as ahead
    from batch b ${authorized}
    where ${hasVersion} and ${hasRollout} and (b.idempotency_key is null or not exists (select 1 from idempotency_keys where ${isStoredKey}))
  )
  where used + ahead < monthly_limit and not exists (select 1 from commits where id = :commit)
  order by first_slot`;

/** State of a batch whose key is valid, as SQL returns it. */
export type BatchState = {
  /**
   * Reason why no request of the batch can be accepted, even with quota left.
   * - `operation`: the key does not permit the operation.
   * - `deployment`: the workspace does not have the deployment, the key is for another one, or it is inactive or
   *   archived.
   * - `version`: the prompt does not have the version.
   * - `rollout`: the deployment does not have the rollout, or the version is not part of it.
   */
  refusal: "operation" | "deployment" | "version" | "rollout" | null;
  deployId: DeploymentId | null;
  limit: number;
  used: number;
  /** Number of reads in `used`. */
  reads: number;
  upgradeUrl: string | null;
  /**
   * Number of accepted requests of the batch. If any, the deployment and the version are those they were accepted for.
   */
  accepted: number;
  /** The first accepted request's number in its month. */
  sequence: number;
  prompt: FoundPrompt | null;
  /** The submit that is stored under the idempotency key. */
  original: { recordId: RecordId; fingerprint: string } | null;
  workspaceId: WorkspaceId;
  keyId: KeyId;
  /** The visible deployments as JSON text, if the operation is `revisions` and the key may read. */
  revisions: string | null;
};

const jsonObject = (members: Record<string, string>) =>
  `json_object(${Object.entries(members).map(([name, sql]) => `'${name}', ${sql}`).join(", ")})`;

/** `DEPLOYMENT@VERSION@TIME `: a database restored from a backup may have another version of the same number. */
const stamp = "d.id || '@' || s.version || '@' || s.created_at || ' '";

/** The texts of a version (v), which are found unless they are cached. */
const texts = { title: "v.title", description: "v.description", messages: "v.messages", llmConfig: "v.llm_config" };

/** The condition that a rollout (r) of the deployment (d) is in progress. */
const isActive = "r.deployment_id = d.id and r.ended_at is null";

const rolloutMembers = {
  id: "r.id",
  share: "r.share",
  salt: "r.salt",
  promptId: "d.prompt_id",
  version: "r.version",
  stamp: "r.id",
  ...texts,
} satisfies Record<keyof FoundRollout, string>;

// A repeated attempt serves the version that the first one logged, which may not be live any more.
const servedRollout = `(
      select ${jsonObject(rolloutMembers)} from rollouts r
      left join prompt_versions v on v.prompt_id = d.prompt_id and v.version = r.version and not instr(b.known_version, r.id)
      where ${isActive} and r.base_version = c.prompt_version
    )`;

const promptMembers = {
  workspaceId: "w.id",
  workspaceName: "w.name",
  deployName: "d.name",
  promptId: "d.prompt_id",
  version: "coalesce(c.prompt_version, d.current_version)",
  stamp,
  ...texts,
  rollout: servedRollout,
} satisfies Record<keyof FoundPrompt, string>;

const revisionMembers = {
  reference: "p.name || '@' || d.name",
  revision: "d.revision",
  version: "d.current_version",
  isActive: "json(iif(d.is_active, 'true', 'false'))",
  rollout: `(
        select json_object('id', r.id, 'percent', r.share / 10.0) from rollouts r where ${isActive}
      )`,
};

const stateMembers = {
  refusal: `case when ${isForbidden} then 'operation' when d.id is null then 'deployment'
    when not ${hasVersion} then 'version' when not ${hasRollout} then 'rollout' end`,
  deployId: "d.id",
  limit: "w.monthly_limit",
  used: "coalesce(q.reads + q.submits, 0)",
  reads: "coalesce(q.reads, 0)",
  upgradeUrl: "w.upgrade_url",
  accepted: "coalesce(c.count, 0)",
  sequence: "coalesce(c.number, 0)",
  prompt: `case when b.operation = 'read' then ${jsonObject(promptMembers)} end`,
  // A key for another deployment does not see the record.
  original: `case when b.idempotency_key is not null
      and (k.deployment_id is null or d.id is not null or k.deployment_id = b.deployment) then (
      select json_object('recordId', record_id, 'fingerprint', fingerprint) from idempotency_keys where ${isStoredKey}
    ) end`,
  workspaceId: "w.id",
  keyId: "k.api_key_id",
  revisions: `case when b.operation = 'revisions' and not k.submit_only then (
      select json_group_object(d.id, ${jsonObject(revisionMembers)}) || '' from ${visibleDeployments}
    ) end`,
} satisfies Record<keyof BatchState, string>;

/**
 * Returns one row with the states of all batches as JSON, which costs far less than a row for each. The commit's id in
 * it identifies the group that the reply is for.
 */
export const findStates = (batches: string, attempt: Attempt): Statement => ({
  sql: findSql,
  onDamage: "refuse",
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
    and not instr(b.known_version, ${stamp})`;

/** Reads the state of each batch. It is null if the key is invalid. */
export function readStates([row]: Row[], { commit }: Attempt): (BatchState | null)[] {
  // A proxy in front of a server may deliver a reply twice.
  if (text(row!, "commit_id") !== commit) throw indeterminateError("The database sent the reply to another group");
  return JSON.parse(text(row!, "states"));
}

/** True if one more request like those of the batch could be accepted. */
export const hasRoom = (state: BatchState | null): boolean =>
  state !== null && state.refusal === null && state.used < state.limit;

/**
 * Returns a decision for each request. A request has none if the reason for its refusal is lost: an earlier attempt was
 * committed without its batch, which could be accepted now.
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
    // All requests of a batch get the same prompt.
    const served = state?.prompt && state.accepted > 0 ? serve(batch, state.deployId!, state.prompt) : undefined;
    for (const [offset, admission] of admissions.entries()) {
      const decision: Decision | undefined = state === null
        ? { outcome: "key_invalid", audit }
        : toDecision(admission, state, offset, firstSlot + offset, attempt, served, audit);
      if (decision !== undefined) decisions.set(admission, decision);
    }
  }
  return decisions;
}

/** `offset` is the request's place in its batch, `slot` its place in the group. */
function toDecision(
  admission: Admission,
  { refusal, limit, used, reads, upgradeUrl, accepted, sequence, original, revisions }: BatchState,
  offset: number,
  slot: number,
  { commit, month, resetsAt }: Attempt,
  served: ServedTexts | undefined,
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
  if (original !== null) {
    const { recordId, fingerprint } = original;
    return fingerprint === admission.idempotency?.fingerprint
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
  return served === undefined
    ? { outcome: "recorded", recordId: slotId("diag", commit, slot), quota, audit }
    : { outcome: "read", ...served, quota, audit };
}
