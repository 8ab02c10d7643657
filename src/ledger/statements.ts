// The statements that decide a group of requests: a fixed number of them, whatever the size of the group.
//
// A request has a place in its group, from 0; when it is accepted also a position in the call log, which is that of its
// commit plus its place, and a number in its workspace's month, from 1 to the limit.
//
// :runs          requests that are alike, in one entry each: an array of RunEntry
// :commit        the id under which the group is committed
// :now, :month   the moment at which the group is decided, and its month
//
// Runs take quota in order. Where less is left than a run wants, the run is cut: its first requests are accepted.
// A group that has taken effect already, but whose reply was lost, takes none again and is answered as it was decided.
import { acceptedCall } from "./blocks.ts";
import type { Statement } from "../database/database.ts";
import { keptFor } from "./idempotency-keys.ts";
import type { Keys } from "./idempotency-keys.ts";

/** Requests that are alike have places in the group one after the other, beginning with `first`. */
export type RunEntry = [
  keyHash: string,
  deployId: string,
  operation: string,
  first: number,
  count: number,
  /** `VERSION@TIME` of the version whose texts need not be read, empty for none; null where no text is asked for. */
  knownVersion: string | null,
  idempotencyKey: string | null,
];

/** A group of requests as the statements take it; what is by place is a JSON array, null where a request has none. */
export type Payload = {
  runs: string;
  commit: string;
  now: number;
  month: string;
  /** The records of submits, by place; undefined where there is no submit. */
  records: { documents: string; sessions: string; statuses: string; measures: string } | undefined;
  /** Undefined where there is none. */
  keys: Keys | undefined;
};

// The joins are the authorization: a run (r) finds its key's secret (k), workspace (w), deployment (d) and quota (q). Where it
// has been accepted already, it finds them whatever has become of them since.
const authorized = (join: "cross join" | "left join", hasBeenAccepted: string) => `
  ${join} api_key_secrets k on k.hash = r.value ->> 0
    and (${hasBeenAccepted} or k.expires_at is null or k.expires_at > :now)
  ${join} workspaces w on w.id = k.workspace_id
  ${join} deployments d on d.id = r.value ->> 1 and d.workspace_id = k.workspace_id
    and (${hasBeenAccepted} or d.is_active = 1)
  left join quota_usage q on q.workspace_id = w.id and q.month = :month`;

/** The position at which the next commit begins. */
const nextPosition = "coalesce((select next_position from commits order by position desc limit 1), 1)";

/** Logs as much of each run as its workspace's quota allows; it takes the next numbers of its month. */
export const logCalls = ({ runs, commit, now, month }: Payload): Statement => ({
  sql: logSql,
  args: { runs, commit, now, month, keptSince: now - keptFor },
});

const logSql = `
  insert into calls (position, count, number, workspace_id, api_key_id, deployment_id, prompt_version, operation)
  select ${nextPosition} + first, min(count, monthly_limit - used - ahead), used + ahead + 1,
    workspace_id, api_key_id, deployment_id, current_version, operation
  from (
    select r.value ->> 2 as operation, r.value ->> 3 as first, r.value ->> 4 as count, k.api_key_id,
      w.id as workspace_id, w.monthly_limit, d.id as deployment_id, d.current_version,
      coalesce(q.reads + q.submits, 0) as used,
      -- What the workspace's runs before this one want. If one of them is cut, that is more than is left.
      sum(r.value ->> 4) over (partition by w.id order by r.key rows unbounded preceding) - (r.value ->> 4) as ahead
    from json_each(:runs) r ${authorized("cross join", "false")}
    where r.value ->> 6 is null
      or not exists (
        select 1 from idempotency_keys
        where workspace_id = w.id and key = r.value ->> 6 and created_at >= :keptSince
      )
  )
  where used + ahead < monthly_limit and not exists (select 1 from commits where id = :commit)
  order by first`;

/** Ends the commit: its calls are those that stand in no other. Where there are none, there is no commit. */
export const addCommit = ({ commit, now, month }: Payload): Statement => ({
  sql: addSql,
  args: { commit, now, month },
});

const addSql = `
  insert into commits (position, next_position, id, month, created_at)
  select s.position, max(c.position + c.count), :commit, :month, :now
  from (select ${nextPosition} as position) s cross join calls c on c.position >= s.position
  group by s.position`;

/** Counts the commit's calls: those that are numbered beyond what is counted. */
export const countCalls = ({ commit }: Payload): Statement => ({ sql: countSql, args: { commit } });

const countSql = `
  insert into quota_usage (workspace_id, month, reads, submits)
  select c.workspace_id, m.month, sum(iif(c.operation = 'read', c.count, 0)), sum(iif(c.operation = 'submit', c.count, 0))
  from commits m cross join calls c on c.position >= m.position and c.position < m.next_position
  left join quota_usage q on q.workspace_id = c.workspace_id and q.month = m.month
  where m.id = :commit and c.number > coalesce(q.reads + q.submits, 0)
  group by c.workspace_id, m.month
  on conflict do update set reads = reads + excluded.reads, submits = submits + excluded.submits`;

/** Stores the records of the submits that were accepted, each at its call's position. */
export const storeRecords = (records: NonNullable<Payload["records"]>, { commit }: Payload): Statement => ({
  sql: storeSql,
  args: { ...records, commit },
});

const storeSql = `
  insert into diagnoses (position, deployment_id, prompt_version, session_id, status, measures, document)
  select m.position + r.key, c.deployment_id, c.prompt_version,
    :sessions ->> r.key, :statuses ->> r.key, :measures ->> r.key, r.value
  from commits m cross join json_each(:documents) r cross join ${acceptedCall}
  where m.id = :commit and r.value is not null
    -- A record may have been deleted since an attempt whose outcome was unknown.
    and not exists (select 1 from deleted_diagnoses where position = m.position + r.key)
  on conflict do nothing`;

/** What a read is served; the texts are null where it is not accepted, or they were not asked for. */
export type FoundPrompt = [
  workspaceId: string,
  workspaceName: string,
  deployName: string,
  promptId: string,
  version: number,
  /** When it was published, in Unix ms; null where the read is not accepted. */
  publishedAt: number | null,
  title: string | null,
  description: string | null,
  messages: string | null,
  llmConfig: string | null,
];

/** What was found for a run; nothing but `isKeyValid` where that is 0. */
export type Finding = [
  isKeyValid: 0 | 1,
  /** Whether the key's workspace has the deployment, and it is active. */
  isFound: 0 | 1,
  limit: number,
  used: number,
  upgradeUrl: string | null,
  /** Of the run's first call, where it was accepted; then all else is as it was decided, whatever has changed since. */
  number: number | null,
  /** How many of the run's requests were accepted, the first ones; null where none was. */
  accepted: number | null,
  prompt: FoundPrompt | null,
  /** What is stored under the idempotency key. */
  kept: [recordId: string, fingerprint: string] | null,
  workspaceId: string,
  keyId: string,
  /** Those among `used` that were reads. */
  reads: number,
];

/**
 * Gives one row: a Finding for each run as JSON, which costs far less than a row per run, and the id of the commit that was
 * asked about, which tells the reply from that to another group.
 */
export const findGroup = ({ runs, commit, now, month }: Payload): Statement => ({
  sql: findSql,
  args: { runs, commit, now, month, keptSince: now - keptFor },
});

const findSql = `
  select json_group_array(case when k.hash is null then json_array(0) else json_array(
    1, d.id is not null, w.monthly_limit, coalesce(q.reads + q.submits, 0), w.upgrade_url, c.number, c.count,
    case when r.value ->> 2 = 'read' then json_array(
      w.id, w.name, d.name, d.prompt_id, coalesce(c.prompt_version, d.current_version), s.created_at,
      v.title, v.description, v.messages, v.llm_config
    ) end,
    case when r.value ->> 6 is not null then (
      select json_array(record_id, fingerprint) from idempotency_keys
      where workspace_id = w.id and key = r.value ->> 6 and created_at >= :keptSince
    ) end,
    w.id, k.api_key_id, coalesce(q.reads, 0)
  ) end) as findings, :commit as commit_id
  from json_each(:runs) r
  left join commits m on m.id = :commit
  left join calls c on c.position = m.position + (r.value ->> 3) and c.position < m.next_position
  ${authorized("left join", "c.position is not null")}
  left join prompt_versions s indexed by prompt_versions_by_time
    on c.position is not null and r.value ->> 2 = 'read' and s.prompt_id = d.prompt_id and s.version = c.prompt_version
  left join prompt_versions v on v.prompt_id = s.prompt_id and v.version = s.version
    and s.version || '@' || s.created_at <> r.value ->> 5`;
