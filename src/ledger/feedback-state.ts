// What is there before feedback is given: one query reads it for many pieces.
import { readSlotId, sha256 } from "../common/ids.ts";
import type { DeploymentId, RecordId, WorkspaceId } from "../common/ids.ts";
import { toSqlJson } from "../common/json-text.ts";
import type { Database, Row } from "../database/database.ts";
import { integer, integerOrNull, text, textOrNull } from "../database/row.ts";
import type { FeedbackKind, FeedbackSource, FeedbackValue } from "../schema/feedback.ts";
import { idAt } from "./blocks.ts";
import { keyLifetime } from "./idempotency-keys.ts";
import { jsonTable } from "./statements.ts";

/** Who gives feedback: the bearer of an API key, or whoever manages a workspace. */
export type Giver = { keyHash: string } | { workspaceId: WorkspaceId };

/**
 * The record that feedback is about: its id, its position in the log, or the SHA-256 of the idempotency key that it was sent
 * under or will be.
 */
export type Target = { recordId: RecordId } | { position: number } | { recordKey: string };

/** The record that its id or the idempotency key that it is sent under names. */
export const targetOf = async (reference: string): Promise<Target> =>
  readSlotId("diag", reference) === undefined
    ? { recordKey: await sha256(reference) }
    : { recordId: reference as RecordId };

/** A piece of feedback to give, or without a value to withdraw. Its author and its name tell it from others on the record. */
export type Piece = {
  giver: Giver;
  target: Target;
  name: string;
  author: string;
  value: FeedbackValue | undefined;
  comment: string;
  source: FeedbackSource;
};

/** What a workspace has settled about a name. */
export type NameRule = {
  kind: FeedbackKind;
  isDeclared: boolean;
  minimum: number | null;
  maximum: number | null;
  labels: string[] | null;
};

/** A number, 0 or 1 for a boolean, or a label. */
export type StoredValue = number | string;

export const toStored = (value: FeedbackValue): StoredValue => typeof value === "boolean" ? Number(value) : value;

/** What the database has about a piece of feedback before it is given. */
export type State = {
  /** Null if the giver's API key is invalid. */
  workspaceId: WorkspaceId | null;
  /** Whether the giver's key may not give feedback. */
  isForbidden: boolean;
  /** Null if no record is found. */
  position: number | null;
  recordId: RecordId | null;
  deployId: DeploymentId | null;
  /** Whether a record has arrived under the idempotency key. If it is not found, it was deleted. */
  hasArrived: boolean;
  /** Whether the giver may see the record, if there is one. */
  isOwn: boolean;
  /** The only deployment that the giver's key is for. */
  onlyDeployId: DeploymentId | null;
  current: { value: StoredValue; comment: string; source: string; givenAt: number; change: number } | undefined;
  /** The number of the last change of this piece, given or withdrawn. */
  lastChange: number;
  /** How many names are on the record, and how many authors this one has. */
  names: number;
  authors: number;
  rule: NameRule | undefined;
  /** Whether the workspace has declared names, and how many it has in all. */
  hasDeclared: boolean;
  namesOfWorkspace: number;
  /** How many pieces of the workspace wait for their records. */
  waiting: number;
};

const pieceColumns = [
  "hash",
  "workspace",
  "commit_id",
  "slot",
  "record_key",
  "position",
  "name",
  "author",
];

function toRow({ giver, target, name, author }: Piece): (string | number | null)[] {
  const { commitId = null, slot = null } = "recordId" in target ? readSlotId("diag", target.recordId) ?? {} : {};
  return [
    "keyHash" in giver ? giver.keyHash : null,
    "workspaceId" in giver ? giver.workspaceId : null,
    commitId,
    slot,
    "recordKey" in target ? target.recordKey : null,
    "position" in target ? target.position : null,
    name,
    author,
  ];
}

const hexadecimal = (text: string) => `(instr('0123456789abcdef', ${text}) - 1)`;
const slotOf = (id: string) => `16 * ${hexadecimal(`substr(${id}, 30, 1)`)} + ${hexadecimal(`substr(${id}, 31, 1)`)}`;

const ofWorkspace = "from feedback_names where workspace_id = t.workspace_id";
const onRecord = "from feedback where position = t.position";
const onKey = "from waiting_feedback where t.position is null and workspace_id = t.workspace_id and key = t.record_key";

const readSql = `
  with ${jsonTable("piece", pieceColumns, "pieces")},
  given as materialized (
    select p.*, coalesce(s.id, k.workspace_id) as workspace_id, k.deployment_id as only_deployment,
      k.read_only and not k.submit_only as is_forbidden
    from piece p
    left join workspaces s on s.id = p.workspace and s.id not in (select id from deleted_workspaces)
    left join api_key_secrets k on k.hash = p.hash and (k.expires_at is null or k.expires_at > :now)
  ),
  target as materialized (
    select g.*, coalesce(
      g.position,
      (select m.position + g.slot from commits m where m.id = g.commit_id and m.position + g.slot < m.next_position),
      (
        select m.position + ${slotOf("i.record_id")}
        from idempotency_keys i cross join commits m on m.id = substr(i.record_id, 6, 24)
        where i.workspace_id = g.workspace_id and i.key = g.record_key and i.created_at >= :validSince
      )
    ) as at
    from given g
  ),
  found as materialized (
    select t.ordinal, t.workspace_id, t.only_deployment, coalesce(t.is_forbidden, 0) as is_forbidden, t.name, t.author,
      t.record_key, t.at is not null as has_arrived, d.position, d.deployment_id,
      ${idAt("diag", "d.position")} as record_id,
      -- A caller without a workspace, as one whose key has just ended, owns none.
      d.position is null or coalesce(
        t.workspace_id = (select workspace_id from calls where position <= d.position order by position desc limit 1)
          and (t.only_deployment is null or t.only_deployment = d.deployment_id),
        0
      ) as is_own
    from target t
    left join diagnoses d on d.position = t.at
    left join commits m on m.position = (select max(position) from commits where position <= d.position)
  )
  select t.workspace_id, t.only_deployment, t.is_forbidden, t.position, t.deployment_id, t.record_id, t.has_arrived, t.is_own,
    coalesce(f.value, q.value) as value, coalesce(f.comment, q.comment) as comment,
    coalesce(f.source, q.source) as source, coalesce(f.given_at, q.given_at) as given_at,
    coalesce(f.change, iif(q.value is null, 0, 1)) as change,
    coalesce(f.change, (
      select max(change) from earlier_feedback
      where position = t.position and name = t.name and author = t.author
    ), 0) as last_change,
    (select count(distinct name) ${onRecord}) + (select count(distinct name) ${onKey}) as names,
    (select count(*) ${onRecord} and name = t.name) + (select count(*) ${onKey} and name = t.name) as authors,
    n.kind, n.is_declared, n.minimum, n.maximum, n.labels,
    exists (select 1 ${ofWorkspace} and is_declared) as has_declared,
    iif(n.kind is null, (select count(*) ${ofWorkspace}), 0) as names_of_workspace,
    iif(t.position is null and t.record_key is not null, (
      select count(*) from (select 1 from waiting_feedback where workspace_id = t.workspace_id limit :maxWaiting)
    ), 0) as waiting
  from found t
  left join feedback f on f.position = t.position and f.name = t.name and f.author = t.author
  left join waiting_feedback q on t.position is null
    and q.workspace_id = t.workspace_id and q.key = t.record_key and q.name = t.name and q.author = t.author
  left join feedback_names n on n.workspace_id = t.workspace_id and n.name = t.name
  order by t.ordinal`;

export const maxWaiting = 100_000; // pieces of a workspace that wait for their records

/** Reads what is there for each piece, in their order. */
export async function readStates(database: Database, pieces: Piece[], now: number): Promise<State[]> {
  const args = { pieces: toSqlJson(pieces.map(toRow)), now, validSince: now - keyLifetime, maxWaiting };
  return (await database.read({ sql: readSql, args })).map(toState);
}

function toState(row: Row): State {
  const kind = textOrNull(row, "kind") as FeedbackKind | null;
  const labels = textOrNull(row, "labels");
  return {
    workspaceId: textOrNull(row, "workspace_id") as WorkspaceId | null,
    isForbidden: integer(row, "is_forbidden") === 1,
    position: integerOrNull(row, "position"),
    recordId: textOrNull(row, "record_id") as RecordId | null,
    deployId: textOrNull(row, "deployment_id") as DeploymentId | null,
    hasArrived: integer(row, "has_arrived") === 1,
    isOwn: integer(row, "is_own") === 1,
    onlyDeployId: textOrNull(row, "only_deployment") as DeploymentId | null,
    current: row.value === null ? undefined : {
      value: row.value as StoredValue,
      comment: text(row, "comment"),
      source: text(row, "source"),
      givenAt: integer(row, "given_at"),
      change: integer(row, "change"),
    },
    lastChange: integer(row, "last_change"),
    names: integer(row, "names"),
    authors: integer(row, "authors"),
    rule: kind === null ? undefined : {
      kind,
      isDeclared: integer(row, "is_declared") === 1,
      minimum: integerOrNull(row, "minimum"),
      maximum: integerOrNull(row, "maximum"),
      labels: labels === null ? null : JSON.parse(labels),
    },
    hasDeclared: integer(row, "has_declared") === 1,
    namesOfWorkspace: integer(row, "names_of_workspace"),
    waiting: integer(row, "waiting"),
  };
}

const membersOf = (table: string): string =>
  `'name', ${table}.name,
    'value', case when n.kind = 'boolean' then json(iif(${table}.value, 'true', 'false')) else ${table}.value end,
    'comment', ${table}.comment, 'author', ${table}.author, 'source', ${table}.source, 'givenAt', ${table}.given_at`;

/** The feedback on the record at a position, as a JSON array. */
export const feedbackAt = (position: string, workspaceId: string): string =>
  `(
    select json_group_array(json_object(${membersOf("f")}))
    from feedback f left join feedback_names n on n.workspace_id = ${workspaceId} and n.name = f.name
    where f.position = ${position}
  )`;

/** What was said of the record at `:position` and then replaced or withdrawn, as a JSON array, oldest first. */
export const earlierFeedback = `
  select json_group_array(json_object(${membersOf("e")}, 'endedAt', e.ended_at)) as earlier
  from (select * from earlier_feedback where position = :position order by ended_at, change) e
  left join feedback_names n on n.workspace_id = :workspaceId and n.name = e.name`;
