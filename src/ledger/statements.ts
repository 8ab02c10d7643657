// The statements that complete a commit once its calls are logged. Their number does not depend on the size of the
// group.
//
// A request has a slot in its group, from 0. An accepted request also has a position in the log, which is its commit's
// position plus the slot, and a sequence number in its workspace's month, from 1 to the limit.
//
// A repeated attempt at a group that was committed, but whose reply was lost, changes nothing.
import { toSqlJson } from "../common/json-text.ts";
import type { Statement } from "../database/database.ts";
import type { Submit, SubmitSlots } from "./admission.ts";
import { acceptedCall } from "./blocks.ts";

/** State shared by all attempts at a group, by which a later one finds what an earlier one committed. */
export type Attempt = {
  /** The id under which the group is committed. */
  commit: string;
  /** The time of the decision, in Unix ms. */
  now: number;
  month: string;
  /** The end of the month, in Unix ms. */
  resetsAt: number;
};

/**
 * A table of JSON arrays, whose members are its columns, with their places as `ordinal`. Bind the array of them as
 * `argument`.
 */
export const jsonTable = (name: string, columns: readonly string[], argument: string): string =>
  `${name} as materialized (
    select key as ordinal, ${columns.map((column, index) => `value ->> ${index} as ${column}`).join(", ")}
    from json_each(:${argument})
  )`;

/** The position at which the next commit begins. */
export const nextPosition = "coalesce((select next_position from commits order by position desc limit 1), 1)";

/** Adds a commit with all calls that have none yet. Adds nothing without such calls. */
export const addCommit = ({ commit, now, month }: Attempt): Statement => ({
  sql: addSql,
  args: { commit, now, month },
});

const addSql = `
  insert into commits (position, next_position, id, month, created_at)
  select s.position, max(c.position + c.count), :commit, :month, :now
  from (select ${nextPosition} as position) s cross join calls c on c.position >= s.position
  group by s.position`;

/** Counts the commit's calls. A call whose number does not exceed the count has been counted already. */
export const countCalls = ({ commit }: Attempt): Statement => ({ sql: countSql, args: { commit } });

const countSql = `
  insert into quota_usage (workspace_id, month, reads, submits)
  select c.workspace_id, m.month, sum(iif(c.operation = 'read', c.count, 0)), sum(iif(c.operation = 'submit', c.count, 0))
  from commits m cross join calls c on c.position >= m.position and c.position < m.next_position
  left join quota_usage q on q.workspace_id = c.workspace_id and q.month = m.month
  where m.id = :commit and c.number > coalesce(q.reads + q.submits, 0)
  group by c.workspace_id, m.month
  on conflict do update set reads = reads + excluded.reads, submits = submits + excluded.submits`;

const keyUseInterval = 3_600_000; // ms

/** Updates when the keys of the commit's calls were last used, at most once an hour for each. */
export const updateLastUsed = ({ commit, now }: Attempt): Statement => ({
  sql: lastUsedSql,
  args: { commit, now, staleBefore: now - keyUseInterval },
});

const lastUsedSql = `
  update api_key_secrets set last_used_at = :now
  where api_key_id in (
    select c.api_key_id from commits m cross join calls c on c.position >= m.position and c.position < m.next_position
    where m.id = :commit
  ) and (last_used_at is null or last_used_at <= :staleBefore)`;

/** Encodes a value of each submit as a JSON array, indexed by slot. */
export const bySlot = (slots: SubmitSlots, valueOf: (submit: Submit) => string | number | null): string =>
  toSqlJson(slots.map((submit) => submit && valueOf(submit)));

/** Stores the records of the accepted submits, each at its call's position. */
export const storeRecords = (slots: SubmitSlots, { commit }: Attempt): Statement => ({
  sql: storeSql,
  args: {
    commit,
    documents: bySlot(slots, ({ record }) => record.document),
    sessions: bySlot(slots, ({ record }) => record.sessionId),
    statuses: bySlot(slots, ({ record }) => record.status),
    measures: bySlot(slots, ({ record }) => record.measures),
  },
});

// A record may have been deleted since an earlier attempt was committed.
const storeSql = `
  insert into diagnoses (position, deployment_id, prompt_version, session_id, status, measures, document)
  select m.position + r.key, c.deployment_id, c.prompt_version,
    :sessions ->> r.key, :statuses ->> r.key, :measures ->> r.key, r.value
  from commits m cross join json_each(:documents) r cross join ${acceptedCall}
  where m.id = :commit and r.value is not null
    and not exists (select 1 from deleted_diagnoses where position = m.position + r.key)
  on conflict do nothing`;
