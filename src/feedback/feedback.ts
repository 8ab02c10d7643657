// Feedback on records: checks it, and decides its effect. Only this file, feedback-rows.ts, waiting-feedback.ts and the
// triggers of the feedback tables write those tables.
import * as errors from "../common/errors.ts";
import type { Refusal } from "../common/errors.ts";
import type { DeploymentId, RecordId, WorkspaceId } from "../common/ids.ts";
import type { Database } from "../database/database.ts";
import { kindOf } from "../schema/feedback.ts";
import type { FeedbackKind, FeedbackValue } from "../schema/feedback.ts";
import { readStates } from "./feedback-lookup.ts";
import { keptChanges, writeChanges } from "./feedback-rows.ts";
import type { Change } from "./feedback-rows.ts";
import { bytesOf, recordLimits, toStored } from "./feedback-state.ts";
import type { NameRule, Piece, Said, State, Subject, Target, Voice, Workspace } from "./feedback-state.ts";
import { placesOf, waitingLimits } from "./waiting-feedback.ts";

/** `rule` is the workspace's rule for the name. */
export type RefusedFeedback = { refusal: FeedbackRefusal; rule: NameRule | undefined };

/** `recordId` is null while the feedback waits for its record. `isChanged` is true if anything was written. */
export type StoredFeedback = {
  refusal?: undefined;
  workspaceId: WorkspaceId;
  deployId: DeploymentId | null;
  recordId: RecordId | null;
  givenAt: number;
  isChanged: boolean;
};
export type FeedbackResult = RefusedFeedback | StoredFeedback;

export const maxNames = 1_000; // of feedback in a workspace
const maxAttempts = 10;

/**
 * Gives and withdraws feedback, in order, in one transaction. Pieces whose voice was changed concurrently are decided
 * again, up to `maxAttempts` times, and then refused alone. `expired` is the number of pieces dropped because their
 * record never arrived.
 */
export async function giveFeedback(
  database: Database,
  pieces: Piece[],
  now: number,
): Promise<{ results: FeedbackResult[]; expired: number }> {
  const results: FeedbackResult[] = [];
  let left = [...pieces.keys()], expired = 0;
  for (let attempt = 1; left.length > 0; attempt++) {
    const states = await readStates(database, left.map((index) => pieces[index]!), now);
    const changes = new Map<Voice, Change>(), seen = new Map(states.map(({ voice }) => [voice, voice.current]));
    for (const [nth, index] of left.entries()) {
      const state = states[nth]!, result = decide(pieces[index]!, state, now), before = seen.get(state.voice);
      results[index] = result;
      if (result.refusal !== undefined || !result.isChanged) continue;
      if (isRestored(state, before)) changes.delete(state.voice);
      else changes.set(state.voice, toChange(state, before));
    }
    const written = await writeChanges(database, [...changes.values()], now);
    expired += written.expired;
    left = left.filter((_, nth) => written.overtaken.has(states[nth]!.voice));
    if (attempt < maxAttempts) continue;
    for (const index of left) results[index] = { refusal: "contended", rule: undefined };
    break;
  }
  return { results, expired };
}

const toChange = (
  { workspace, onlyDeployId, subject, authors, voice }: State,
  before: Said | undefined,
): Change => ({
  ...{ workspace: workspace!, onlyDeployId, subject, authors, voice },
  seenAt: subject.position === null ? before?.givenAt ?? null : null,
});

/**
 * True if a waiting piece equals the stored one, including its time. It has no history, so there is nothing to write.
 */
const isRestored = ({ subject, voice: { current } }: State, before: Said | undefined): boolean =>
  subject.position === null && before !== undefined && current?.value === before.value &&
  current.comment === before.comment && current.source === before.source && current.givenAt === before.givenAt;

/** Decides a piece, and applies its change to the state. */
function decide(piece: Piece, state: State, now: number): FeedbackResult {
  const { workspace, voice, recordId, deployId } = state;
  const { current } = voice;
  const refusal = refusalOf(piece, state);
  if (refusal !== undefined || workspace === null) {
    return { refusal: refusal ?? "key_invalid", rule: workspace?.rules.get(piece.name) };
  }
  const result = { workspaceId: workspace.id, deployId, recordId };
  if (piece.value === undefined) {
    if (current !== undefined) withdraw(state);
    return { ...result, givenAt: current?.givenAt ?? now, isChanged: current !== undefined };
  }
  const { comment, source } = piece, value = toStored(piece.value);
  if (current !== undefined && isSame(current, piece)) {
    return { ...result, givenAt: current.givenAt, isChanged: false };
  }
  const bytes = bytesOf({ ...piece, value });
  takePlaces(state, placesOf(bytes));
  if (current === undefined) add(workspace, state, kindOf(piece.value));
  else end(state);
  state.subject.bytes += bytes;
  voice.current = { value, comment, source, givenAt: now, change: ++voice.lastChange, bytes };
  return { ...result, givenAt: now, isChanged: true };
}

const isSame = (current: Said, { value, comment, source }: Piece): boolean =>
  value !== undefined && current.value === toStored(value) && current.comment === comment && current.source === source;

/** Counts a piece where there is none. */
function add(workspace: Workspace, { subject, authors, voice: { name } }: State, kind: FeedbackKind): void {
  if (authors.decided++ === 0) subject.names.decided++;
  subject.pieces.decided++;
  if (workspace.rules.has(name)) return;
  workspace.rules.set(name, { kind, isDeclared: false, minimum: null, maximum: null, labels: null });
  workspace.newNames.add(name);
  workspace.names++;
}

function withdraw(state: State): void {
  const { subject, authors, voice } = state;
  takePlaces(state, 0);
  end(state);
  voice.current = undefined;
  if (--authors.decided === 0) subject.names.decided--;
  subject.pieces.decided--;
}

/** Number of places taken by the current piece. */
const placesTaken = ({ voice: { current } }: State): number => current === undefined ? 0 : placesOf(current.bytes);

/** Takes places for a waiting piece, which replaces the current one. */
function takePlaces(state: State, places: number): void {
  const { workspace, subject } = state;
  if (subject.position !== null) return;
  const more = places - placesTaken(state);
  workspace!.waiting += more;
  subject.waiting += more;
}

/** True if the waiting room has no place for a piece of so many bytes, which may replace the current one. */
function isWithoutPlace(bytes: number, state: State): boolean {
  const { workspace, subject } = state, more = placesOf(bytes) - placesTaken(state);
  return more > 0 &&
    (workspace!.waiting + more > waitingLimits.workspace || subject.waiting + more > waitingLimits.record);
}

/** Keeps what a voice said for its history, unless that is stored and is moved there. */
function end({ subject, voice: { current, stored, ended, lastChange } }: State): void {
  if (current === undefined) return;
  subject.bytes -= current.bytes;
  if (addsChange(subject, lastChange)) subject.changes++;
  if (current.change !== stored) ended.push(current);
}

/** True if another change of a piece lengthens its record's history. Waiting feedback has no history. */
const addsChange = ({ position }: Subject, lastChange: number): boolean =>
  position !== null && lastChange < keptChanges;

function refusalOf(piece: Piece, state: State): FeedbackRefusal | undefined {
  const { target, value, name } = piece;
  const { workspace, subject, authors, voice } = state, { position, names } = subject;
  if (workspace === null) return "key_invalid";
  if (state.isForbidden) return "feedback_forbidden";
  if (position === null ? !("recordKey" in target) || state.hasArrived : !state.isOwn) return "record_not_found";
  if (value === undefined) return undefined;
  const rule = workspace.rules.get(name);
  if (workspace.hasDeclared && !rule?.isDeclared) return "name_undeclared";
  if (rule !== undefined && rule.kind !== kindOf(value)) return "kind_mismatch";
  if (rule !== undefined && !isAllowed(rule, value)) return "value_undeclared";
  if (voice.current !== undefined && isSame(voice.current, piece)) return undefined;
  const bytes = bytesOf({ ...piece, value: toStored(value) }), added = bytes - (voice.current?.bytes ?? 0);
  // Feedback that waits for a record has less room than the record, and no history.
  if (position === null && isWithoutPlace(bytes, state)) return "too_many_waiting";
  if (added > 0 && subject.bytes + added > recordLimits.bytes) return "too_many_bytes";
  if (subject.changes >= recordLimits.changes && addsChange(subject, voice.lastChange)) return "too_many_changes";
  if (voice.current !== undefined) return undefined;
  if (authors.decided >= recordLimits.authors) return "too_many_authors";
  if (authors.decided === 0 && names.decided >= recordLimits.names) return "too_many_names";
  if (subject.pieces.decided >= recordLimits.pieces) return "too_many_pieces";
  return rule === undefined && workspace.names >= maxNames ? "too_many_names_of_workspace" : undefined;
}

/** True if the declaration of a name allows a value of its kind. */
function isAllowed({ minimum, maximum, labels }: NameRule, value: FeedbackValue): boolean {
  if (typeof value === "string") return labels === null || labels.includes(value);
  return typeof value === "boolean" || value >= (minimum ?? -Infinity) && value <= (maximum ?? Infinity);
}

type Refused = Piece & { rule: NameRule | undefined };

/** Refusals of feedback, of which nothing is stored. */
const refusals = {
  key_invalid: ({ giver }: Refused) =>
    "keyHash" in giver ? errors.invalidApiKey() : errors.notFound("Workspace", giver.workspaceId),
  feedback_forbidden: errors.feedbackForbidden,
  record_not_found: ({ target }: Refused) => errors.notFound("Record", describeTarget(target)),
  kind_mismatch: ({ name, rule }: Refused) => errors.feedbackKindDiffers(name, rule!.kind),
  name_undeclared: ({ name }: Refused) => errors.feedbackUndeclared(name),
  value_undeclared: ({ name, rule }: Refused) => errors.feedbackNotAllowed(name, describeAllowed(rule!)),
  too_many_names: () => errors.feedbackFull(recordLimits.names, "names of feedback on a record"),
  too_many_names_of_workspace: () => errors.feedbackFull(maxNames, "names of feedback in a workspace"),
  too_many_authors: () => errors.feedbackFull(recordLimits.authors, "authors of one name on a record"),
  too_many_pieces: () => errors.feedbackFull(recordLimits.pieces, "pieces of feedback on a record"),
  too_many_changes: () => errors.feedbackFull(recordLimits.changes, "earlier pieces of feedback on a record"),
  too_many_bytes: () => errors.feedbackFull(recordLimits.bytes, "bytes of feedback on a record"),
  too_many_waiting: errors.tooMuchWaits,
  contended: errors.contended,
};
export type FeedbackRefusal = keyof typeof refusals;

/** The refusal that explains why feedback was not stored. */
export const toRefusalOf = ({ refusal, rule }: RefusedFeedback, piece: Piece): Refusal =>
  refusals[refusal]({ ...piece, rule });

/** Only the hash of an idempotency key is known. */
const describeTarget = (target: Target): string =>
  "recordId" in target ? target.recordId : "position" in target ? "of that session" : "of this idempotency key";

/** The values that a declared name allows, as the end of a sentence. */
const describeAllowed = ({ labels, minimum, maximum }: NameRule): string =>
  labels !== null
    ? `one of ${errors.listed(labels)}`
    : minimum === null
    ? `at most ${maximum}`
    : maximum === null
    ? `at least ${minimum}`
    : `from ${minimum} to ${maximum}`;
