// Writes the rows of decided feedback, in one transaction.
import type { DeploymentId } from "../common/ids.ts";
import { groupBy } from "../support/group-by.ts";
import { toSqlJson } from "../common/json-text.ts";
import { withArgs } from "../database/database.ts";
import type { Database } from "../database/database.ts";
import { integer, text } from "../database/row.ts";
import type { Count, Said, Subject, Voice, Workspace } from "./feedback-state.ts";
import { blockOf } from "../ledger/blocks.ts";
import { keyLifetime } from "../ledger/idempotency-keys.ts";
import { isValid, removeExpired, removeWaiting } from "./waiting-feedback.ts";

/** A change to write: a voice's current value or its withdrawal, and its superseded values. */
export type Change = {
  workspace: Workspace;
  onlyDeployId: DeploymentId | null;
  subject: Subject;
  authors: Count;
  voice: Voice;
  /** Time at which the replaced piece was given, if that waits for its record. */
  seenAt: number | null;
};

/** Maximum number of changes of a piece that are kept, including the last one. */
export const keptChanges = 100;

// Most changes of a batch have these in common, and a batch of the statements is those that do: to take a member out of JSON
// costs as much as to find a row. `change` is the number of the change, and `seen` that of the piece it replaces, or 0. `names`,
// `authors` and `pieces` are how many the record has without those that are withdrawn. `seen_at` tells pieces that wait from
// others.
const sharedColumns = [
  ...["workspace_id", "name", "kind", "source", "only_deployment", "waits", "withdraws", "change", "seen", "seen_at"],
  ...["names", "authors", "pieces"],
];
// `place` is the position of the record, or the idempotency key that it is awaited under. `ended` has superseded
// values.
const ownColumns = ["place", "author", "value", "comment", "ended"] as const;
const endedColumns = ["change", "value", "comment", "source"];

const columns = (all: readonly string[], names = all, json = "value"): string =>
  names.map((name) => `${json} ->> ${all.indexOf(name)} as ${name}`).join(", ");

const isSettled = `(b.kind is null or exists (
      select 1 from feedback_names n where n.workspace_id = b.workspace_id and n.name = b.name and n.kind = b.kind
    ))`;

/** The batches of an argument. */
const withBatches = (argument = ":changes"): string => `
  with batch as materialized (
    select b.*, ${isSettled} as is_settled from (
      select key as nth_batch, ${columns(sharedColumns)}, value ->> ${sharedColumns.length} as changes
      from json_each(${argument})
    ) b
  )`;

/** The changes of the batches, with these columns of `ownColumns`. */
const withWanted = (own: readonly (typeof ownColumns)[number][], argument?: string): string =>
  `${withBatches(argument)},
  wanted as materialized (
    select b.nth_batch, e.key as nth, b.is_settled, ${sharedColumns.map((name) => `b.${name}`).join(", ")},
      ${columns(ownColumns, own, "e.value")}
    from batch b cross join json_each(b.changes) e
  )`;

const isOfPiece = "f.position = w.place and f.name = w.name and f.author = w.author";
const isWaiting = "f.workspace_id = w.workspace_id and f.key = w.place and f.name = w.name and f.author = w.author";
const hasArrived = `exists (
      select 1 from idempotency_keys
      where workspace_id = w.workspace_id and key = w.place and created_at >= :validSince
    )`;

/**
 * Condition that the piece is new, and that the record has no more names and authors than were read. Both are bounded.
 */
const isFree = (table: string, isOfRecord: string): string =>
  `case when w.names = 0 then not exists (select 1 from ${table} f where ${isOfRecord})
      else not exists (select 1 from ${table} f where ${isOfRecord} and f.name = w.name and f.author = w.author)
        and (select count(*) from ${table} f where ${isOfRecord} and f.name = w.name) <= w.authors
        and (select count(*) from ${table} f where ${isOfRecord}) <= w.pieces
        and (w.authors > 0 or (select count(distinct name) from ${table} f where ${isOfRecord}) <= w.names)
    end`;

/** Condition that the piece, or its absence, is unchanged since it was read. The record may have been deleted. */
const isAsSeen = `iif(
      w.seen > 0,
      exists (select 1 from feedback f where ${isOfPiece} and f.change = w.seen),
      exists (select 1 from diagnoses where position = w.place) and ${isFree("feedback", "f.position = w.place")}
        and w.change > coalesce((select max(f.change) from earlier_feedback f where ${isOfPiece}), 0)
    )`;

/**
 * Condition that a waiting piece, which has no number, is unchanged. Another process may have given the same value in
 * the same millisecond.
 */
const isAsSeenWaiting = `f.given_at = w.seen_at and (
      f.given_at < :now or (f.value, f.comment, f.source) is not (w.value, w.comment, w.source)
    )`;

const isOnRecord = ({ subject }: Change): boolean => subject.position !== null;
const isGiven = ({ voice }: Change): boolean => voice.current !== undefined;
const isThere = ({ voice }: Change): boolean => voice.stored > 0;
const hasEnded = ({ voice }: Change): boolean => voice.ended.length > 0;
const isLong = (change: Change): boolean => numberOf(change) > keptChanges;
/** True if one statement stores or removes the piece, and returns it. Others were withdrawn before they were stored. */
const isReturned = (change: Change): boolean => isGiven(change) || isThere(change);

// As bytes, which is how a query returns texts. A statement that begins with `with` would be taken for a query.
const returning = (place: string) => `returning cast(${place} || ' ' || name || ' ' || author as blob) as piece`;
const returningPiece = returning("position"), returningWaiting = returning("workspace_id || ' ' || key");

/**
 * Statements in order, and the changes that each is for. A piece that another process has changed since it was read is
 * left unchanged. A piece whose record or workspace was deleted is not stored. Each stored or removed piece is
 * returned.
 */
const writes: { isFor: (change: Change) => boolean; sql: string }[] = [
  {
    isFor: isOnRecord,
    sql: `insert into changed_blocks (number, changes) select value, 1 from json_each(:blocks) where true
    on conflict do update set changes = changes + 1`,
  },
  {
    isFor: ({ workspace, voice }) => workspace.newNames.has(voice.name),
    sql: `${withBatches()}
    insert into feedback_names (workspace_id, name, kind, is_declared)
    select s.id, b.name, b.kind, 0 from batch b cross join workspaces s on s.id = b.workspace_id
    where b.kind is not null and s.id not in (select id from deleted_workspaces) on conflict do nothing`,
  },
  {
    isFor: (change) => isOnRecord(change) && isThere(change),
    sql: `${withWanted(["place", "author"])}
    insert into earlier_feedback (position, name, author, change, value, comment, source, given_at, ended_at)
    select f.position, f.name, f.author, f.change, f.value, f.comment, f.source, f.given_at, :now
    from wanted w cross join feedback f on ${isOfPiece} and f.change = w.seen
    where not w.waits and w.is_settled`,
  },
  {
    isFor: (change) => isOnRecord(change) && isThere(change) && !isGiven(change),
    sql: `delete from feedback where (position, name, author) in (
      ${withWanted(["place", "author"])}
      select f.position, f.name, f.author from wanted w cross join feedback f on ${isOfPiece} and f.change = w.seen
      where not w.waits and w.withdraws and w.is_settled
    ) ${returningPiece}`,
  },
  // Storing a record takes its waiting feedback only if its key is new. An expired key may not have been removed yet.
  {
    isFor: (change) => !isOnRecord(change) && isGiven(change),
    sql: `${withWanted(["place"])}
    delete from idempotency_keys where created_at < :validSince and (workspace_id, key) in (
      select workspace_id, place from wanted where waits and not withdraws
    )`,
  },
  {
    isFor: (change) => !isOnRecord(change) && !isGiven(change),
    sql: `delete from waiting_feedback where (workspace_id, key, name, author) in (
      ${withWanted(["place", "author"])}
      select f.workspace_id, f.key, f.name, f.author
      from wanted w cross join waiting_feedback f on ${isWaiting} and f.given_at = w.seen_at
      where w.waits and w.withdraws
    ) ${returningWaiting}`,
  },
  {
    isFor: (change) => !isOnRecord(change) && isGiven(change),
    sql: `insert into waiting_feedback
      (workspace_id, key, name, author, deployment_id, value, comment, source, given_at)
    ${withWanted(["place", "author", "value", "comment"])}
    select workspace_id, place, name, author, only_deployment, value, comment, source, :now from wanted w
    where waits and not withdraws and is_settled and not ${hasArrived} and iif(
      w.seen > 0,
      exists (select 1 from waiting_feedback f where ${isWaiting} and ${isAsSeenWaiting}),
      ${isFree("waiting_feedback", "f.workspace_id = w.workspace_id and f.key = w.place")}
    )
    on conflict do update set deployment_id = excluded.deployment_id, value = excluded.value,
      comment = excluded.comment, source = excluded.source, given_at = excluded.given_at
    ${returningWaiting}`,
  },
  {
    isFor: (change) => isOnRecord(change) && isGiven(change),
    sql: `insert into feedback (position, name, author, value, comment, source, given_at, change)
    ${withWanted(["place", "author", "value", "comment"])}
    select place, name, author, value, comment, source, :now, change from wanted w
    where not waits and not withdraws and is_settled and ${isAsSeen}
    on conflict do update set value = excluded.value, comment = excluded.comment, source = excluded.source,
      given_at = excluded.given_at, change = excluded.change
    ${returningPiece}`,
  },
  {
    // Another process may have used some of the numbers for values withdrawn since.
    isFor: (change) => isOnRecord(change) && hasEnded(change),
    sql: `${withWanted(["place", "author", "ended"])}
    insert into earlier_feedback (position, name, author, change, value, comment, source, given_at, ended_at)
    select place, name, author, ${columns(endedColumns, endedColumns, "e.value")}, :now, :now
    from wanted w cross join json_each(w.ended) e
    where not waits and case
      when not withdraws then exists (
        select 1 from feedback f where ${isOfPiece} and f.change = w.change and f.given_at = :now
      )
      when exists (select 1 from feedback f where ${isOfPiece}) then false
      when seen > 0 then exists (select 1 from earlier_feedback f where ${isOfPiece} and f.change = w.seen)
      else is_settled and exists (select 1 from diagnoses where position = w.place)
    end
    on conflict do nothing`,
  },
  {
    isFor: (change) => isOnRecord(change) && isLong(change),
    sql: `${withWanted(["place", "author"])}
    delete from earlier_feedback where (position, name, author, change) in (
      select f.position, f.name, f.author, f.change
      from wanted w cross join earlier_feedback f on ${isOfPiece} and f.change <= w.change - ${keptChanges}
      where not w.waits
    )`,
  },
];

// A piece that was withdrawn before it was stored.
const findOvertaken = `${withWanted(["place", "author"])}
  select nth_batch, nth from wanted w
  where withdraws and seen = 0 and case
    when waits then ${hasArrived}
    else exists (select 1 from feedback f where ${isOfPiece})
      or not exists (select 1 from earlier_feedback f where ${isOfPiece} and f.change = w.change - 1)
  end`;

/** Removes expired pieces under keys that get new waiting pieces. */
const removeExpiredUnderKeys = removeWaiting(
  `wanted w cross join waiting_feedback f on f.workspace_id = w.workspace_id and f.key = w.place
    where w.waits and not ${isValid("f.given_at")}`,
  withWanted(["place"]),
);

/**
 * Writes changes in one transaction. Returns the voices that another process changed first, and the number of pieces
 * dropped because they had waited too long.
 */
export async function writeChanges(
  database: Database,
  changes: Change[],
  now: number,
): Promise<{ overtaken: Set<Voice>; expired: number }> {
  if (changes.length === 0) return { overtaken: new Set(), expired: 0 };
  for (const change of changes) if (isThere(change) && !isGiven(change)) forget(change);
  const batches = [...groupBy(changes, (change) => JSON.stringify(toShared(change))).values()];
  const rows = batches.map((batch) => [...toShared(batch[0]!), batch.map(toOwn)]);
  const validSince = now - keyLifetime;
  const blocks = new Set(changes.filter(isOnRecord).map(({ subject }) => blockOf(subject.position!)));
  const workspaces = JSON.stringify([...new Set(changes.map(({ workspace }) => workspace.id))]);
  const args = { changes: toSqlJson(rows), blocks: JSON.stringify([...blocks]), workspaces, now, validSince };
  const removals = [removeExpired, ...changes.every(isOnRecord) ? [] : [removeExpiredUnderKeys]];
  const needed = writes.filter(({ isFor }) => changes.some(isFor)).map(({ sql }) => sql);
  const isUnstored = changes.some((change) => !isReturned(change));
  const statements = [...removals, ...needed, ...isUnstored ? [findOvertaken] : []];
  const results = await database.write(statements.map((sql) => withArgs(sql, args)));
  const expired = results.splice(0, removals.length).flat().length;
  const overtaken = new Set(
    (isUnstored ? results.pop()! : []).map((row) => batches[integer(row, "nth_batch")]![integer(row, "nth")]!),
  );
  const written = results.flat(), returned = changes.filter(isReturned);
  if (written.length < returned.length) {
    const pieces = new Set(written.map((row) => text(row, "piece")));
    for (const change of returned) if (!pieces.has(pieceOf(change))) overtaken.add(change);
  }
  return { overtaken: new Set(Array.from(overtaken, ({ voice }) => voice)), expired };
}

/** A piece in the form that the statements return. */
const pieceOf = ({ workspace, subject: { position, recordKey }, voice: { name, author } }: Change): string =>
  `${position ?? `${workspace.id} ${recordKey}`} ${name} ${author}`;

/** Stops counting a piece that is withdrawn. */
function forget({ subject, authors }: Change): void {
  if (--authors.stored === 0) subject.names.stored--;
  subject.pieces.stored--;
}

const numberOf = ({ voice: { current, lastChange } }: Change): number => current?.change ?? lastChange + 1;

function toShared(change: Change): unknown[] {
  const { workspace, onlyDeployId, subject, authors, voice: { name, current, stored, ended } } = change;
  const isSaid = current !== undefined || ended.length > 0;
  return [
    ...[workspace.id, name, isSaid ? workspace.rules.get(name)!.kind : null, current?.source ?? null, onlyDeployId],
    ...[Number(!isOnRecord(change)), Number(!isGiven(change)), numberOf(change), stored, change.seenAt],
    ...[subject.names.stored, authors.stored, subject.pieces.stored],
  ];
}

function toOwn({ subject: { position, recordKey }, voice: { author, current, ended, lastChange } }: Change): unknown[] {
  const kept = ended.filter(({ change }) => change > lastChange - keptChanges);
  return [
    ...[position ?? recordKey, author, current?.value ?? null, current?.comment ?? null],
    ...kept.length > 0 ? [kept.map(toEnded)] : [],
  ];
}

const toEnded = ({ change, value, comment, source }: Said): unknown[] => [change, value, comment, source];
