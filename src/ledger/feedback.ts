// Feedback on records: what may be given, and what becomes of it. Together with the triggers of sql/024-create-feedback.sql,
// this file and feedback-rows.ts alone write its tables.
import * as errors from "../common/errors.ts";
import type { Refusal } from "../common/errors.ts";
import type { DeploymentId, RecordId, WorkspaceId } from "../common/ids.ts";
import type { Database } from "../database/database.ts";
import { kindOf } from "../schema/feedback.ts";
import type { FeedbackValue } from "../schema/feedback.ts";
import { writeChanges } from "./feedback-rows.ts";
import type { Change } from "./feedback-rows.ts";
import { maxWaiting, readStates, toStored } from "./feedback-state.ts";
import type { NameRule, Piece, State, Target } from "./feedback-state.ts";

/** Why feedback was refused. Nothing of it is stored. */
export type FeedbackRefusal =
  | "key_invalid"
  | "feedback_forbidden"
  | "record_not_found"
  | "kind_mismatch"
  | "name_undeclared"
  | "value_undeclared"
  | "too_many_names"
  | "too_many_names_of_workspace"
  | "too_many_authors"
  | "too_many_waiting"
  | "contended";

/** `rule` is what the workspace has settled about the name. */
export type RefusedFeedback = { refusal: FeedbackRefusal; rule: NameRule | undefined };

/** `recordId` is null while the feedback waits for its record. `isChanged` says whether anything was written. */
export type StoredFeedback = {
  refusal?: undefined;
  workspaceId: WorkspaceId;
  deployId: DeploymentId | null;
  recordId: RecordId | null;
  givenAt: number;
  isChanged: boolean;
};
export type FeedbackResult = RefusedFeedback | StoredFeedback;

/** How many there may be: names on a record, authors of a name on a record, and names in a workspace. */
export const feedbackLimits = { names: 50, authors: 20, namesOfWorkspace: 1_000 };
const maxAttempts = 10;

/**
 * Gives and withdraws feedback, in order. A piece that something else changed meanwhile is decided again, but not forever: then
 * it is refused alone. `expired` is how many pieces were dropped because no record came for them.
 */
export async function giveFeedback(
  database: Database,
  pieces: Piece[],
  now: number,
): Promise<{ results: FeedbackResult[]; expired: number }> {
  const results: FeedbackResult[] = [];
  let left = [...pieces.keys()], expired = 0, attempts = 0;
  while (left.length > 0) {
    if (attempts >= maxAttempts) {
      for (const index of left) results[index] = { refusal: "contended", rule: undefined };
      break;
    }
    const states = await readEach(database, left.map((index) => pieces[index]!), now);
    const changed: { index: number; change: Change }[] = [];
    const added = createAdded();
    // A piece that follows a change of the same record, name and author is decided once that is written.
    const changing = new Set<string>();
    const later: number[] = [];
    for (const [nth, index] of left.entries()) {
      const piece = pieces[index]!, state = states[nth]!;
      const key = JSON.stringify([recordOf(state, piece), piece.name, piece.author]);
      if (changing.has(key)) {
        later.push(index);
        continue;
      }
      const { result, change } = decide(piece, added.to(state, piece), now);
      results[index] = result;
      if (change === undefined) continue;
      changing.add(key);
      added.add(state, piece, change);
      const { names, authors, rule } = state;
      changed.push({ index, change: { ...change, names, authors, isNewName: rule === undefined } });
    }
    const written = await writeChanges(database, changed.map(({ change }) => change), now);
    attempts += Number(written.overtaken.length > 0);
    left = [...written.overtaken.map((nth) => changed[nth]!.index), ...later].sort((one, other) => one - other);
    expired += written.expired;
  }
  return { results, expired };
}

/** Reads what is there for each piece. For those that differ only in what they say, it is read once. */
async function readEach(database: Database, pieces: Piece[], now: number): Promise<State[]> {
  const keys = pieces.map(({ giver, target, name, author }) => JSON.stringify([giver, target, name, author]));
  const distinct = new Map(keys.map((key, nth) => [key, pieces[nth]!]));
  const states = await readStates(database, [...distinct.values()], now);
  const stateOf = new Map([...distinct.keys()].map((key, nth) => [key, states[nth]!]));
  return keys.map((key) => stateOf.get(key)!);
}

/** Tells the record of a piece from others: however it is named, if it is found, and else by what names it. */
const recordOf = ({ workspaceId, position }: State, { target }: Piece): unknown[] =>
  position === null ? [workspaceId, target] : [position];

/** Counts what pieces that are decided together add, since none of them was there when the others were read. */
function createAdded() {
  const counts = new Map<string, number>();
  const get = (...parts: unknown[]) => counts.get(JSON.stringify(parts)) ?? 0;
  const increase = (...parts: unknown[]) => counts.set(JSON.stringify(parts), get(...parts) + 1);
  return {
    to(state: State, piece: Piece): State {
      const { workspaceId } = state, { name } = piece, record = recordOf(state, piece);
      return {
        ...state,
        authors: state.authors + get("author", record, name),
        names: state.names + get("name", record),
        namesOfWorkspace: state.namesOfWorkspace + get("workspace", workspaceId),
        waiting: state.waiting + get("waiting", workspaceId),
      };
    },
    add(state: State, piece: Piece, { position, name, given }: Pick<Change, "position" | "name" | "given">): void {
      const { workspaceId, rule, current, authors } = state, record = recordOf(state, piece);
      if (given === undefined || current !== undefined) return;
      if (authors === 0 && get("author", record, name) === 0) increase("name", record);
      increase("author", record, name);
      if (rule === undefined && get("new", workspaceId, name) === 0) increase("workspace", workspaceId);
      increase("new", workspaceId, name);
      if (position === null) increase("waiting", workspaceId);
    },
  };
}

/** What a piece comes to, and what to write for it. */
function decide(
  piece: Piece,
  state: State,
  now: number,
): { result: FeedbackResult; change?: Omit<Change, "names" | "authors" | "isNewName"> } {
  const { name, author, value, comment, source } = piece;
  const { workspaceId, position, current, rule, recordId, deployId, onlyDeployId } = state;
  const refusal = refusalOf(piece, state);
  if (refusal !== undefined || workspaceId === null) return { result: { refusal: refusal ?? "key_invalid", rule } };
  const isChanged = value === undefined ? current !== undefined : !isSame(current, piece);
  const givenAt = value === undefined || !isChanged ? current?.givenAt ?? now : now;
  const result = { workspaceId, deployId, recordId, givenAt, isChanged };
  if (!isChanged) return { result };
  const recordKey = "recordKey" in piece.target && position === null ? piece.target.recordKey : null;
  const given = value === undefined ? undefined : { value: toStored(value), kind: kindOf(value), comment, source };
  const change = { change: state.lastChange + 1, seen: current?.change ?? 0, given };
  return { result, change: { workspaceId, name, author, position, recordKey, onlyDeployId, ...change } };
}

function refusalOf({ target, value }: Piece, state: State): FeedbackRefusal | undefined {
  const { workspaceId, position, current, rule } = state;
  if (workspaceId === null) return "key_invalid";
  if (state.isForbidden) return "feedback_forbidden";
  if (position === null ? !("recordKey" in target) || state.hasArrived : !state.isOwn) return "record_not_found";
  if (value === undefined) return undefined;
  if (state.hasDeclared && !rule?.isDeclared) return "name_undeclared";
  if (rule !== undefined && rule.kind !== kindOf(value)) return "kind_mismatch";
  if (rule !== undefined && !isAllowed(rule, value)) return "value_undeclared";
  if (current !== undefined) return undefined;
  if (position === null && state.waiting >= maxWaiting) return "too_many_waiting";
  if (state.authors >= feedbackLimits.authors) return "too_many_authors";
  if (state.authors === 0 && state.names >= feedbackLimits.names) return "too_many_names";
  const isFull = rule === undefined && state.namesOfWorkspace >= feedbackLimits.namesOfWorkspace;
  return isFull ? "too_many_names_of_workspace" : undefined;
}

const isSame = (current: State["current"], { value, comment, source }: Piece): boolean =>
  current !== undefined && current.value === toStored(value!) && current.comment === comment &&
  current.source === source;

/** Whether the declaration of a name allows a value of its kind. */
function isAllowed({ minimum, maximum, labels }: NameRule, value: FeedbackValue): boolean {
  if (typeof value === "string") return labels === null || labels.includes(value);
  return typeof value === "boolean" || value >= (minimum ?? -Infinity) && value <= (maximum ?? Infinity);
}

/** Says why feedback was not stored. */
export function toRefusalOf({ refusal, rule }: RefusedFeedback, { giver, target, name }: Piece): Refusal {
  switch (refusal) {
    case "key_invalid":
      return "keyHash" in giver ? errors.invalidApiKey() : errors.notFound("Workspace", giver.workspaceId);
    case "feedback_forbidden":
      return errors.feedbackForbidden();
    case "record_not_found":
      return errors.notFound("Record", describeTarget(target));
    case "kind_mismatch":
      return errors.feedbackKindDiffers(name, rule!.kind);
    case "name_undeclared":
      return errors.feedbackUndeclared(name);
    case "value_undeclared":
      return errors.feedbackNotAllowed(name, describeAllowed(rule!));
    case "too_many_names":
      return errors.feedbackFull(feedbackLimits.names, "names of feedback on a record");
    case "too_many_names_of_workspace":
      return errors.feedbackFull(feedbackLimits.namesOfWorkspace, "names of feedback in a workspace");
    case "too_many_authors":
      return errors.feedbackFull(feedbackLimits.authors, "authors of one name on a record");
    case "too_many_waiting":
      return errors.tooMuchWaits();
    case "contended":
      return errors.contended();
  }
}

/** Only the hash of an idempotency key is known. */
const describeTarget = (target: Target): string =>
  "recordId" in target ? target.recordId : "position" in target ? "of that session" : "of this idempotency key";

/** What a declared name allows, as the end of a sentence. */
const describeAllowed = ({ labels, minimum, maximum }: NameRule): string =>
  labels !== null
    ? `one of ${labels.join(", ")}`
    : minimum === null
    ? `at most ${maximum}`
    : maximum === null
    ? `at least ${minimum}`
    : `from ${minimum} to ${maximum}`;
