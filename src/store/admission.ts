// The statements that decide a group of requests: a fixed number of them, whatever the size of the group.
//
// :combos        what requests have in common: an array of [key hash, deployment id, operation, known version]
// :turns         for each request, in order of arrival, the index of its combo; its place here is the request's turn
// :group         what the ids of the group's calls begin with; the turn in two hexadecimal digits ends them
// :now, :month   the moment at which the group is decided, and its month
//
// A group that has taken effect already, but whose reply was lost, takes none again and is answered as it was decided.
import type { Statement } from "./database.ts";

/** A group of requests as the statements take it; arrays are JSON, with null where a request has no such thing. */
export type Payload = {
  combos: string;
  turns: string;
  group: string;
  now: number;
  month: string;
  /** The records of submits, by turn; undefined where there is no submit. */
  records: { documents: string; sessions: string; statuses: string } | undefined;
  /** Idempotency keys and the fingerprints of what was sent with them, by turn; undefined where there is none. */
  keys: { keys: string; fingerprints: string } | undefined;
};

// The joins are the authorization: a combo (c) finds its key (k), workspace (w) and deployment (d).
const authorized = (join: "cross join" | "left join") => `
  ${join} api_keys k on k.hash = c.value ->> 0
    and k.revoked_at is null and (k.expires_at is null or k.expires_at > :now)
  ${join} workspaces w on w.id = k.workspace_id
  ${join} deployments d on d.id = c.value ->> 1 and d.workspace_id = k.workspace_id and d.is_active = 1
  left join quota_usage q on q.workspace_id = w.id and q.month = :month`;

const callId = (turn: string) => `:group || printf('%02x', ${turn})`;
const inGroup = (id: string) => `${id} >= :group and ${id} < :group || 'g'`;

/** Each request takes the next number of its month as long as that is within the limit, and is logged with it. */
export const acceptCalls = ({ combos, turns, group, now, month, keys }: Payload): Statement => ({
  sql: keys === undefined ? acceptWithoutKeys : acceptWithKeys,
  args: { combos, turns, group, now, month, ...(keys === undefined ? {} : { keys: keys.keys }) },
});

const accept = (condition: string) => `
  with authorized as materialized (
    select c.key as combo, c.value ->> 2 as operation, k.id as api_key_id, w.id as workspace_id, w.monthly_limit,
      d.id as deployment_id, d.current_version, coalesce(q.reads + q.submits, 0) as used
    from json_each(:combos) c ${authorized("cross join")}
    where not exists (select 1 from calls where ${inGroup("id")})
  )
  insert into calls (id, workspace_id, month, number, api_key_id, deployment_id, prompt_version, operation, created_at)
  select ${callId("turn")}, workspace_id, :month, number, api_key_id, deployment_id, current_version, operation, :now
  from (
    select t.key as turn, a.*, used + row_number() over (partition by workspace_id order by t.key) as number
    from json_each(:turns) t cross join authorized a on a.combo = t.value
    ${condition}
  )
  where number <= monthly_limit
  order by turn`;

const acceptWithoutKeys = accept("");
const acceptWithKeys = accept(`
    where not exists (
      select 1 from idempotency_keys i where i.workspace_id = a.workspace_id and i.key = :keys ->> t.key
    )`);

/** Counts what was accepted: the group's calls that are numbered beyond what is counted. */
export const countCalls = ({ group }: Payload): Statement => ({ sql: count, args: { group } });

const count = `
  insert into quota_usage (workspace_id, month, reads, submits)
  select c.workspace_id, c.month, sum(c.operation = 'read'), sum(c.operation = 'submit')
  from calls c left join quota_usage q on q.workspace_id = c.workspace_id and q.month = c.month
  where ${inGroup("c.id")} and c.number > coalesce(q.reads + q.submits, 0)
  group by c.workspace_id, c.month
  on conflict do update set reads = reads + excluded.reads, submits = submits + excluded.submits`;

/** Stores the records of the submits that were accepted, each at its call's position. */
export const storeRecords = (records: NonNullable<Payload["records"]>, { group }: Payload): Statement => ({
  sql: store,
  args: { ...records, group },
});

const store = `
  insert into diagnoses (position, id, deployment_id, prompt_version, session_id, status, created_at, document)
  select c.position, 'diag' || substr(c.id, 5), c.deployment_id, c.prompt_version,
    :sessions ->> r.key, :statuses ->> r.key, c.created_at, r.value
  from json_each(:documents) r cross join calls c on c.id = ${callId("r.key")}
  where r.value is not null
  on conflict do nothing`;

/** Keeps the idempotency keys of the submits that were accepted. */
export const keepKeys = (keys: NonNullable<Payload["keys"]>, { group }: Payload): Statement => ({
  sql: keep,
  args: { ...keys, group },
});

const keep = `
  insert into idempotency_keys (workspace_id, key, fingerprint, record_id, created_at)
  select c.workspace_id, r.value, :fingerprints ->> r.key, 'diag' || substr(c.id, 5), c.created_at
  from json_each(:keys) r cross join calls c on c.id = ${callId("r.key")}
  where r.value is not null
  on conflict do nothing`;

/** What was found for a combo; the texts of a prompt only for a read, and only where its version is not the known one. */
export type Finding = {
  isKeyValid: 0 | 1;
  isFound: 0 | 1;
  limit: number;
  used: number;
  upgradeUrl: string | null;
  workspaceId: string;
  workspaceName: string;
  deployName: string;
  promptId: string;
  version: number;
  title: string | null;
  description: string | null;
  messages: string | null;
  llmConfig: string | null;
};

/** The group as it stands in the database. */
export type Findings = {
  /** By index of the combo. */
  combos: Record<string, Finding>;
  /** The number in its month of each accepted request, by turn in two hexadecimal digits. */
  numbers: Record<string, number>;
  /** What is stored under the idempotency keys of the group's workspaces, by turn. */
  keys: Record<string, { recordId: string; fingerprint: string }>;
};

/** Gives one row with one column: Findings as JSON, which costs far less than a row per combo. */
export const findGroup = ({ combos, turns, group, now, month, keys }: Payload): Statement => ({
  sql: keys === undefined ? findWithoutKeys : findWithKeys,
  args: { combos, group, now, month, ...(keys === undefined ? {} : { turns, keys: keys.keys }) },
});

const find = (keys: string) => `
  select json_object(
    'numbers', json((select json_group_object(substr(id, -2), number) from calls where ${inGroup("id")})),
    'combos', json((
      select json_group_object(c.key, json_object(
        'isKeyValid', k.id is not null, 'isFound', d.id is not null,
        'limit', w.monthly_limit, 'used', coalesce(q.reads + q.submits, 0), 'upgradeUrl', w.upgrade_url,
        'workspaceId', w.id, 'workspaceName', w.name, 'deployName', d.name,
        'promptId', d.prompt_id, 'version', d.current_version,
        'title', v.title, 'description', v.description, 'messages', v.messages, 'llmConfig', v.llm_config
      ))
      from json_each(:combos) c ${authorized("left join")}
      left join prompt_versions v on v.prompt_id = d.prompt_id and v.version = d.current_version
        and c.value ->> 2 = 'read' and v.version <> c.value ->> 3
    )),
    'keys', json(${keys})
  ) as findings`;

const findWithoutKeys = find("'{}'");
const findWithKeys = find(`(
      select json_group_object(r.key, json_object('recordId', i.record_id, 'fingerprint', i.fingerprint))
      from json_each(:keys) r
      cross join json_each(:combos) c on c.key = :turns ->> r.key
      cross join api_keys k on k.hash = c.value ->> 0
      cross join idempotency_keys i on i.workspace_id = k.workspace_id and i.key = r.value
    )`);
