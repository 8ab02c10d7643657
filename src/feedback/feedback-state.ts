// A piece of feedback, and what there is before it is given.
import { readSlotId, sha256 } from "../common/ids.ts";
import type { DeploymentId, RecordId, WorkspaceId } from "../common/ids.ts";
import type { FeedbackKind, FeedbackSource, FeedbackValue } from "../schema/feedback.ts";

/** The giver of feedback: the bearer of an API key, or the management of a workspace. */
export type Giver = { keyHash: string } | { workspaceId: WorkspaceId };

/**
 * The record that feedback is about: its id, its position in the log, or the SHA-256 of its idempotency key, which may
 * not be used yet.
 */
export type Target = { recordId: RecordId } | { position: number } | { recordKey: string };

/** Returns the target for a record's id or idempotency key. */
export const targetOf = async (reference: string): Promise<Target> =>
  readSlotId("diag", reference) === undefined
    ? { recordKey: await sha256(reference) }
    : { recordId: reference as RecordId };

/** A piece of feedback to give, or without a value to withdraw. Its author and its name identify it on the record. */
export type Piece = {
  giver: Giver;
  target: Target;
  name: string;
  author: string;
  value: FeedbackValue | undefined;
  comment: string;
  source: FeedbackSource;
};

/** A workspace's rule for a name. */
export type NameRule = {
  kind: FeedbackKind;
  isDeclared: boolean;
  minimum: number | null;
  maximum: number | null;
  labels: string[] | null;
};

/** Limits of a record: names, authors per name, pieces in all, earlier pieces (`changes`), and bytes of pieces. */
export const recordLimits = { names: 50, authors: 20, pieces: 100, changes: 1_000, bytes: 262_144 };

/** A number, 0 or 1 for a boolean, or a label. */
export type StoredValue = number | string;

const utf8 = new TextEncoder();

/** Number of bytes of a piece that count towards the limit of a record. */
export const bytesOf = (
  { author, value, comment = "" }: { author: string; value: StoredValue; comment?: string },
): number =>
  [author, comment, typeof value === "string" ? value : ""].reduce(
    (bytes, text) => text === "" ? bytes : bytes + utf8.encode(text).length,
    0,
  );

export const toStored = (value: FeedbackValue): StoredValue => typeof value === "boolean" ? Number(value) : value;

/** A workspace. Its members change as pieces are decided. */
export type Workspace = {
  id: WorkspaceId;
  /** The rules for the names of the pieces. */
  rules: Map<string, NameRule>;
  /** Names of the pieces that are new to the workspace. */
  newNames: Set<string>;
  hasDeclared: boolean;
  /** Number of names in the workspace. */
  names: number;
  /** Number of places taken by its pieces that wait for their records. */
  waiting: number;
};

/** A number: as stored, and including the decided pieces. */
export type Count = { stored: number; decided: number };

/** A record, or an idempotency key under which none has arrived. Of an overfull record not all pieces are counted. */
export type Subject = {
  position: number | null;
  recordKey: string | null;
  /** Number of its names of feedback. */
  names: Count;
  pieces: Count;
  /** Of authors, labels and comments, with the pieces that are decided. */
  bytes: number;
  /** Number of earlier pieces kept, including the decided ones. */
  changes: number;
  /** Number of places taken by the pieces that wait for it. */
  waiting: number;
};

/**
 * An author's feedback on a record under a name. `change` is its number, from 1 on. The comment is undefined if none of
 * the pieces has the stored one.
 */
export type Said = {
  value: StoredValue;
  comment: string | undefined;
  source: FeedbackSource;
  givenAt: number;
  change: number;
  bytes: number;
};

/** An author with a name on a record. Its members change as pieces are decided. */
export type Voice = {
  name: string;
  author: string;
  current: Said | undefined;
  /** The number of the last change, current or withdrawn. */
  lastChange: number;
  /** The number of the stored change, or 0. */
  stored: number;
  /** Values that were decided, and then replaced or withdrawn before they were stored. */
  ended: Said[];
};

/** The state before a piece is given. */
export type State = {
  /** Null if the giver's API key is invalid. */
  workspace: Workspace | null;
  /** True if the giver's key may not give feedback. */
  isForbidden: boolean;
  /** The only deployment that the giver's key is for. */
  onlyDeployId: DeploymentId | null;
  recordId: RecordId | null;
  deployId: DeploymentId | null;
  /** True if a record has arrived under the idempotency key. If it is not found, it was deleted. */
  hasArrived: boolean;
  /** True if the giver may see the record, if there is one. */
  isOwn: boolean;
  subject: Subject;
  /** Number of authors of the name on the record. */
  authors: Count;
  voice: Voice;
};
