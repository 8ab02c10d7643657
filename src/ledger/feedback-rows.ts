// Writes the rows of feedback that was decided on, in one transaction.
import type { DeploymentId, WorkspaceId } from "../common/ids.ts";
import { toSqlJson } from "../common/json-text.ts";
import { withArgs } from "../database/database.ts";
import type { Database } from "../database/database.ts";
import { integer } from "../database/row.ts";
import type { FeedbackKind, FeedbackSource } from "../schema/feedback.ts";
import type { StoredValue } from "./feedback-state.ts";
import { keyLifetime } from "./idempotency-keys.ts";
import { jsonTable } from "./statements.ts";

/**
 * What to write. `change` is its number, and `seen` that of the piece it replaces, or 0. A change at no position is of
 * feedback that waits for its record. Without `given` it withdraws. `names` and `authors` are how many the record had when the
 * change was decided, and `isNewName` whether the workspace did not have the name.
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
  names: number;
  authors: number;
  isNewName: boolean;
  given: { value: StoredValue; kind: FeedbackKind; comment: string; source: FeedbackSource } | undefined;
};

const changeColumns = [
  ...["workspace_id", "name", "author", "position", "record_key", "only_deployment", "change", "seen"],
  ...["names", "authors", "withdraws", "value", "kind", "comment", "source"],
];

const withWanted = `with ${jsonTable("wanted", changeColumns, "changes")}`;
const isOfPiece = "f.position = w.position and f.name = w.name and f.author = w.author";
const isReplaced = `${isOfPiece} and f.change = w.seen`;
const isSettled = `exists (
      select 1 from feedback_names where workspace_id = w.workspace_id and name = w.name and kind = w.kind
    )`;
const hasArrived = `exists (
      select 1 from idempotency_keys
      where workspace_id = w.workspace_id and key = w.record_key and created_at >= :validSince
    )`;

/** Whether nobody has added to the names and authors of a record, which are bounded. A piece that was there adds to neither. */
const isWithin = (table: string, isOfRecord: string): string =>
  `(
      exists (select 1 from ${table} f where ${isOfRecord} and f.name = w.name and f.author = w.author)
      or (select count(*) from ${table} f where ${isOfRecord} and f.name = w.name) <= w.authors
        and (w.authors > 0 or (select count(distinct name) from ${table} f where ${isOfRecord}) <= w.names)
    )`;

/** How many changes of a piece are kept, with the last one. */
export const keptChanges = 100;

/**
 * Statements, and the changes that each is for. A piece that another process has changed since it was read stays as it is. One
 * whose record or workspace was deleted is not stored.
 */
const writes: { isFor: (change: Change) => boolean; sql: string }[] = [
  {
    isFor: ({ given, isNewName }) => given !== undefined && isNewName,
    sql: `${withWanted}
    insert into feedback_names (workspace_id, name, kind, is_declared)
    select s.id, w.name, w.kind, 0 from wanted w cross join workspaces s on s.id = w.workspace_id
    where not w.withdraws and s.id not in (select id from deleted_workspaces) on conflict do nothing`,
  },
  {
    isFor: ({ position, seen }) => position !== null && seen > 0,
    sql: `${withWanted}
    insert into earlier_feedback (position, name, author, change, value, comment, source, given_at, ended_at)
    select f.position, f.name, f.author, f.change, f.value, f.comment, f.source, f.given_at, :now
    from wanted w cross join feedback f on ${isReplaced} where w.withdraws or ${isSettled}`,
  },
  {
    isFor: ({ position, given }) => position !== null && given !== undefined,
    sql: `${withWanted}
    insert into feedback (position, name, author, value, comment, source, given_at, change)
    select w.position, w.name, w.author, w.value, w.comment, w.source, :now, w.change
    from wanted w cross join diagnoses d on d.position = w.position
    where not w.withdraws and ${isSettled}
      and not exists (select 1 from feedback f where ${isOfPiece} and f.change <> w.seen)
      and ${isWithin("feedback", "f.position = w.position")}
    on conflict do update set value = excluded.value, comment = excluded.comment, source = excluded.source,
      given_at = excluded.given_at, change = excluded.change`,
  },
  {
    isFor: ({ position, given }) => position !== null && given === undefined,
    sql: `${withWanted}
    delete from feedback where (position, name, author) in (
      select f.position, f.name, f.author from wanted w cross join feedback f on ${isReplaced} where w.withdraws
    )`,
  },
  {
    isFor: ({ position, change }) => position !== null && change > keptChanges,
    sql: `${withWanted}
    delete from earlier_feedback where (position, name, author, change) in (
      select f.position, f.name, f.author, f.change
      from wanted w cross join earlier_feedback f on ${isOfPiece} and f.change <= w.change - ${keptChanges}
    )`,
  },
  // Storing a record takes what waits for it only if its key is new. An expired one may not have been removed yet.
  {
    isFor: ({ position, given }) => position === null && given !== undefined,
    sql: `${withWanted}
    delete from idempotency_keys where created_at < :validSince and (workspace_id, key) in (
      select workspace_id, record_key from wanted where position is null and not withdraws
    )`,
  },
  {
    isFor: ({ position, given }) => position === null && given !== undefined,
    sql: `${withWanted}
    insert into waiting_feedback (workspace_id, key, name, author, deployment_id, value, comment, source, given_at)
    select w.workspace_id, w.record_key, w.name, w.author, w.only_deployment, w.value, w.comment, w.source, :now
    from wanted w
    where w.position is null and not w.withdraws and ${isSettled} and not ${hasArrived}
      and ${isWithin("waiting_feedback", "f.workspace_id = w.workspace_id and f.key = w.record_key")}
    on conflict do update set deployment_id = excluded.deployment_id, value = excluded.value,
      comment = excluded.comment, source = excluded.source, given_at = excluded.given_at`,
  },
  {
    isFor: ({ position, given }) => position === null && given === undefined,
    sql: `${withWanted}
    delete from waiting_feedback where (workspace_id, key, name, author) in (
      select workspace_id, record_key, name, author from wanted where position is null and withdraws
    )`,
  },
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
  const needed = writes.filter(({ isFor }) => changes.some(isFor)).map(({ sql }) => sql);
  const statements = [...needed, findOvertaken].map((sql) => withArgs(sql, args));
  const results = await database.write([{ sql: deleteExpired, args: { validSince } }, ...statements]);
  return { overtaken: results.at(-1)!.map((row) => integer(row, "ordinal")), expired: results[0]!.length };
}

const toWanted = ({ given, ...change }: Change) => {
  const { workspaceId, name, author, position, recordKey, onlyDeployId, seen, names, authors } = change;
  return [
    ...[workspaceId, name, author, position, recordKey, onlyDeployId, change.change, seen],
    ...[names, authors, Number(given === undefined)],
    ...[given?.value ?? null, given?.kind ?? null, given?.comment ?? null, given?.source ?? null],
  ];
};
