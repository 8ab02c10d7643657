// A piece of feedback, and what there is before it is given.
import { readSlotId, sha256 } from "../common/ids.ts";
import type { DeploymentId, RecordId, WorkspaceId } from "../common/ids.ts";
import type { FeedbackKind, FeedbackSource, FeedbackValue } from "../schema/feedback.ts";

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

/** How many there may be on a record: names, authors of a name, pieces of any name and author, and earlier pieces. */
export const recordLimits = { names: 50, authors: 20, pieces: 100, changes: 1_000, bytes: 262_144 };

/** A number, 0 or 1 for a boolean, or a label. */
export type StoredValue = number | string;

const utf8 = new TextEncoder();

/** How many bytes a piece takes of those that a record may have. */
export const bytesOf = (
  { author, value, comment = "" }: { author: string; value: StoredValue; comment?: string },
): number =>
  [author, comment, typeof value === "string" ? value : ""].reduce(
    (bytes, text) => text === "" ? bytes : bytes + utf8.encode(text).length,
    0,
  );

export const toStored = (value: FeedbackValue): StoredValue => typeof value === "boolean" ? Number(value) : value;

/** A workspace. It changes as pieces are decided. */
export type Workspace = {
  id: WorkspaceId;
  /** What is settled about the names of the pieces. */
  rules: Map<string, NameRule>;
  /** Those of these names that it does not have yet. */
  newNames: Set<string>;
  hasDeclared: boolean;
  /** How many names it has in all. */
  names: number;
  /** How many places its pieces take that wait for their records. */
  waiting: number;
};

/** How many there are: as it is stored, and with the pieces that are decided. */
export type Count = { stored: number; decided: number };

/** A record, or an idempotency key under which none has arrived. Of an overfull record not all pieces are counted. */
export type Subject = {
  position: number | null;
  recordKey: string | null;
  /** How many names of feedback it has. */
  names: Count;
  pieces: Count;
  /** Of authors, labels and comments, with the pieces that are decided. */
  bytes: number;
  /** How many earlier pieces are kept, with those that are decided. */
  changes: number;
  /** How many places are taken by what waits for it. */
  waiting: number;
};

/**
 * What is said on a record by an author under a name. `change` is its number, from 1 on. The comment is undefined if none of the
 * pieces has the one that is stored.
 */
export type Said = {
  value: StoredValue;
  comment: string | undefined;
  source: FeedbackSource;
  givenAt: number;
  change: number;
  bytes: number;
};

/** An author with a name on a record. It changes as pieces are decided. */
export type Voice = {
  name: string;
  author: string;
  current: Said | undefined;
  /** The number of the last change, whether it still holds or was withdrawn. */
  lastChange: number;
  /** The number of what is stored, or 0. */
  stored: number;
  /** What was decided and then replaced or withdrawn before it was stored. */
  ended: Said[];
};

/** What there is before a piece is given. */
export type State = {
  /** Null if the giver's API key is invalid. */
  workspace: Workspace | null;
  /** Whether the giver's key may not give feedback. */
  isForbidden: boolean;
  /** The only deployment that the giver's key is for. */
  onlyDeployId: DeploymentId | null;
  recordId: RecordId | null;
  deployId: DeploymentId | null;
  /** Whether a record has arrived under the idempotency key. If it is not found, it was deleted. */
  hasArrived: boolean;
  /** Whether the giver may see the record, if there is one. */
  isOwn: boolean;
  subject: Subject;
  /** How many authors the name has on the record. */
  authors: Count;
  voice: Voice;
};
