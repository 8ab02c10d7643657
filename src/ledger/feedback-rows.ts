// The rows of feedback: what a piece is, what is there before it, which one query reads, and what one transaction writes.
import { readSlotId } from "../common/ids.ts";
import type { DeploymentId, RecordId, WorkspaceId } from "../common/ids.ts";
import { toSqlJson } from "../common/json-text.ts";
import type { Database, Row, Statement } from "../database/database.ts";
import { integer, integerOrNull, text, textOrNull } from "../database/row.ts";
import type { FeedbackKind, FeedbackSource, FeedbackValue } from "../schema/feedback.ts";
import { idAt } from "./blocks.ts";
import { keyLifetime } from "./idempotency-keys.ts";

/** Who gives feedback: the bearer of an API key, or whoever manages a workspace. */
export type Giver = { keyHash: string } | { workspaceId: WorkspaceId };

/**
 * The record that feedback is about: its id, its position in the log, or the SHA-256 of the idempotency key that it was sent
 * under or will be.
 */
export type Target = { recordId: RecordId } | { position: number } | { recordKey: string };

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

/**
 * What to write. `change` is its number, and `seen` that of the piece it replaces, or 0. A change at no position is of
 * feedback that waits for its record. Without `given` it withdraws.
 */
export type Change = {
  workspaceId: WorkspaceId;
  name: string;
  author: string;
  position: number | null;
  recordKey: string | null;
  onlyDeployId: DeploymentId | null;
  change: number;
  seen: number;
  given: { value: StoredValue; kind: FeedbackKind; comment: string; source: FeedbackSource } | undefined;
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

/** A table with the members of the JSON arrays in an argument. */
const tableOf = (name: string, columns: readonly string[], argument: string): string =>
  `${name} as materialized (
    select key as ordinal, ${columns.map((column, index) => `value ->> ${index} as ${column}`).join(", ")}
    from json_each(:${argument})
  )`;

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
  with ${tableOf("piece", pieceColumns, "pieces")},
  given as materialized (
    select p.*, coalesce(p.workspace, k.workspace_id) as workspace_id, k.deployment_id as only_deployment,
      k.read_only and not k.submit_only as is_forbidden
    from piece p
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
      t.record_key, d.position, d.deployment_id, ${idAt("diag", "d.position")} as record_id,
      d.position is null or (
        t.workspace_id = (select workspace_id from calls where position <= d.position order by position desc limit 1)
        and (t.only_deployment is null or t.only_deployment = d.deployment_id)
      ) as is_own
    from target t
    left join diagnoses d on d.position = t.at
    left join commits m on m.position = (select max(position) from commits where position <= d.position)
  )
  select t.workspace_id, t.only_deployment, t.is_forbidden, t.position, t.deployment_id, t.record_id, t.is_own,
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

const changeColumns = [
  ...["workspace_id", "name", "author", "position", "record_key", "only_deployment", "change", "seen"],
  ...["withdraws", "value", "kind", "comment", "source"],
];

const withWanted = `with ${tableOf("wanted", changeColumns, "changes")}`;
const isOfPiece = "f.position = w.position and f.name = w.name and f.author = w.author";
const isReplaced = `${isOfPiece} and f.change = w.seen`;
const isSettled = `exists (
      select 1 from feedback_names where workspace_id = w.workspace_id and name = w.name and kind = w.kind
    )`;
const hasArrived = `exists (
      select 1 from idempotency_keys
      where workspace_id = w.workspace_id and key = w.record_key and created_at >= :validSince
    )`;

const keptChanges = 100; // of a piece

/** A piece that another process has changed since it was read stays as it is, and one whose record was deleted is not stored. */
const writes = [
  `${withWanted}
    insert into feedback_names (workspace_id, name, kind, is_declared)
    select workspace_id, name, kind, 0 from wanted w where not withdraws on conflict do nothing`,
  `${withWanted}
    insert into earlier_feedback (position, name, author, change, value, comment, source, given_at, ended_at)
    select f.position, f.name, f.author, f.change, f.value, f.comment, f.source, f.given_at, :now
    from wanted w cross join feedback f on ${isReplaced} where w.withdraws or ${isSettled}`,
  `${withWanted}
    insert into feedback (position, name, author, value, comment, source, given_at, change)
    select w.position, w.name, w.author, w.value, w.comment, w.source, :now, w.change
    from wanted w cross join diagnoses d on d.position = w.position
    where not w.withdraws and ${isSettled}
      and not exists (select 1 from feedback f where ${isOfPiece} and f.change <> w.seen)
    on conflict do update set value = excluded.value, comment = excluded.comment, source = excluded.source,
      given_at = excluded.given_at, change = excluded.change`,
  `${withWanted}
    delete from feedback where (position, name, author) in (
      select f.position, f.name, f.author from wanted w cross join feedback f on ${isReplaced} where w.withdraws
    )`,
  `${withWanted}
    delete from earlier_feedback where (position, name, author, change) in (
      select f.position, f.name, f.author, f.change
      from wanted w cross join earlier_feedback f on ${isOfPiece} and f.change <= w.change - ${keptChanges}
    )`,
  `${withWanted}
    insert into waiting_feedback (workspace_id, key, name, author, deployment_id, value, comment, source, given_at)
    select w.workspace_id, w.record_key, w.name, w.author, w.only_deployment, w.value, w.comment, w.source, :now
    from wanted w
    where w.position is null and not w.withdraws and ${isSettled} and not ${hasArrived}
    on conflict do update set deployment_id = excluded.deployment_id, value = excluded.value,
      comment = excluded.comment, source = excluded.source, given_at = excluded.given_at`,
  `${withWanted}
    delete from waiting_feedback where (workspace_id, key, name, author) in (
      select workspace_id, record_key, name, author from wanted where position is null and withdraws
    )`,
];

/** The changes that did not take effect. One of a lost reply did. */
const findOvertaken = `${withWanted}
  select ordinal from wanted w
  where case
    when position is null and withdraws then ${hasArrived}
    when position is null then not exists (
      select 1 from waiting_feedback q
      where q.workspace_id = w.workspace_id and q.key = w.record_key and q.name = w.name and q.author = w.author
        and q.value = w.value and q.comment = w.comment
    )
    when withdraws then exists (select 1 from feedback f where ${isOfPiece})
    else not exists (
      select 1 from feedback f where ${isOfPiece} and f.change = w.change and f.value = w.value and f.comment = w.comment
    )
  end`;

const deleteExpired = `
  delete from waiting_feedback where (workspace_id, key, name, author) in (
    select workspace_id, key, name, author from waiting_feedback
    where given_at < :validSince order by given_at limit 1000
  ) returning 1`;

/**
 * Writes changes in one transaction. Returns the indexes of those that something else was faster than, and how many pieces
 * were dropped because they had waited too long.
 */
export async function writeChanges(
  database: Database,
  changes: Change[],
  now: number,
): Promise<{ overtaken: number[]; expired: number }> {
  if (changes.length === 0) return { overtaken: [], expired: 0 };
  const validSince = now - keyLifetime;
  const args = { changes: toSqlJson(changes.map(toWanted)), now, validSince };
  const statements = [...writes, findOvertaken].map((sql) => bindNamed(sql, args));
  const results = await database.write([{ sql: deleteExpired, args: { validSince } }, ...statements]);
  return { overtaken: results.at(-1)!.map((row) => integer(row, "ordinal")), expired: results[0]!.length };
}

const toWanted = ({ workspaceId, name, author, position, recordKey, onlyDeployId, change, seen, given }: Change) => [
  ...[workspaceId, name, author, position, recordKey, onlyDeployId, change, seen, Number(given === undefined)],
  ...[given?.value ?? null, given?.kind ?? null, given?.comment ?? null, given?.source ?? null],
];

/** Binds only the arguments that a statement names. */
const bindNamed = (sql: string, args: Record<string, string | number>): Statement => ({
  sql,
  args: Object.fromEntries(Object.entries(args).filter(([name]) => sql.includes(`:${name}`))),
});
