// Feedback on a record, and the bodies in which it is given.
import type { DeploymentRef } from "../common/reference.ts";
import {
  described,
  exactly,
  isObject,
  listOf,
  named,
  nullable,
  oneOf,
  option,
  orNull,
  predicate,
  refer,
  refined,
  shape,
} from "./struct.ts";
import type { Infer } from "./struct.ts";
import {
  boolean,
  clientName,
  count,
  deployId,
  matching,
  numberIn,
  numeric,
  positive,
  share,
  text,
  timestamp,
} from "./values.ts";

export const feedbackSources = ["user", "reviewer", "program"] as const;
export type FeedbackSource = (typeof feedbackSources)[number];

export const feedbackKinds = ["number", "boolean", "label"] as const;
export type FeedbackKind = (typeof feedbackKinds)[number];
export type FeedbackValue = number | boolean | string;

export const kindOf = (value: FeedbackValue): FeedbackKind =>
  typeof value === "string" ? "label" : typeof value as "number" | "boolean";

export const feedbackNamePattern = "[A-Za-z0-9][A-Za-z0-9_.-]{0,63}";
export const feedbackName = matching(
  "a name of 1 to 64 letters, digits, _, . and -, which begins with a letter or a digit",
  `^${feedbackNamePattern}$`,
  { examples: ["thumb"] },
);

const maxNumber = 1e15;
export const feedbackNumber = numberIn(-maxNumber, maxNumber);

const maxLabelLength = 200; // characters

// Values on which SQLite, JavaScript and JSON agree: numbers have 15 digits, and none is smaller than 1e-15.
const isFitting = (value: unknown): boolean =>
  typeof value === "boolean" ||
  feedbackNumber.is(value) ||
  typeof value === "string" && isPlain(value) && value !== "" && [...value].length <= maxLabelLength;

/** Texts without control characters. */
const plainPattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$";
const isPlain = (value: string): boolean => !/\p{Cc}/u.test(value);

/** Stored form of a value: numbers have 15 significant digits. */
export function toKept(value: FeedbackValue): FeedbackValue {
  if (typeof value !== "number") return typeof value === "string" ? value.toWellFormed() : value;
  const kept = Number(value.toPrecision(15));
  return Math.abs(kept) < 1 / maxNumber ? 0 : kept;
}

export const feedbackValue = predicate<FeedbackValue>(
  `true, false, a number from -${maxNumber} to ${maxNumber}, or a label of 1 to ${maxLabelLength} characters`,
  isFitting,
  {
    anyOf: [
      { type: "boolean" },
      { type: "number", minimum: -maxNumber, maximum: maxNumber },
      { type: "string", minLength: 1, maxLength: maxLabelLength, pattern: plainPattern },
    ],
    description: "A number keeps 15 significant digits",
  },
);

const maxCommentBytes = 8_192;
export const feedbackComment = predicate<string>(
  `at most ${maxCommentBytes} bytes without NUL characters`,
  (value) =>
    typeof value === "string" && !value.includes("\0") && new TextEncoder().encode(value).length <= maxCommentBytes,
  { type: "string", maxLength: maxCommentBytes, pattern: "^[^\\u0000]*$" },
);

export const maxAuthorLength = 128; // characters
export const feedbackAuthor = predicate<string>(
  `at most ${maxAuthorLength} characters without control characters`,
  (value) => typeof value === "string" && isPlain(value) && [...value].length <= maxAuthorLength,
  { type: "string", maxLength: maxAuthorLength, pattern: plainPattern },
);

/** Source of feedback, with its default. */
export const sourceOr = (source: FeedbackSource) =>
  option(oneOf(...feedbackSources), "Who gives it", { default: source });

/** Members of a feedback body. */
export const opinion = {
  value: described(feedbackValue, "The author's judgement. A name has one kind of values: numbers, booleans or labels"),
  comment: option(feedbackComment, "The reason, in words"),
  author: option(
    feedbackAuthor,
    "The application's own name for whoever gives it. Default: empty, one voice for the record",
  ),
  source: sourceOr("user"),
};

/** The body of `PUT /v1/diagnosis/{id}/feedback/{name}`. */
export const FeedbackRequest = shape("FeedbackRequest", opinion);
export type FeedbackRequest = Infer<typeof FeedbackRequest>;

/** Reference to a record: its id, or the idempotency key that it is sent under. */
export const recordReference = matching(
  "the id of a record, or its Idempotency-Key of 1 to 255 printable ASCII characters",
  "^[ -~]{1,255}$",
);

export const FeedbackItem = named(
  "FeedbackItem",
  refined(
    exactly({
      ...opinion,
      record: option(recordReference, "The record's id, or the Idempotency-Key that it is sent under"),
      sessionId: option(clientName, "In place of a record: the newest one of this session in `deployId`"),
      deployId: option(deployId, "With `sessionId`: the deployment, by its id or as NAME@DEPLOYMENT"),
      name: described(feedbackName, "The name of the feedback"),
      value: orNull(feedbackValue, "As for a single record. Null withdraws what was given"),
    }),
    ({ record, sessionId, deployId }) =>
      record === undefined
        ? sessionId !== undefined && deployId !== undefined
        : sessionId === undefined && deployId === undefined,
    "about a record, or about a session with its deployId",
    {},
  ),
);
export type FeedbackItem = Infer<typeof FeedbackItem> & { deployId?: DeploymentRef | undefined };

export const maxFeedbackItems = 500;

/** The body of `POST /v1/feedback`. */
export const FeedbackBatch = shape("FeedbackBatch", {
  feedback: predicate<object[]>(
    `an array of 1 to ${maxFeedbackItems} objects`,
    (value) => Array.isArray(value) && value.length >= 1 && value.length <= maxFeedbackItems && value.every(isObject),
    { type: "array", minItems: 1, maxItems: maxFeedbackItems, items: refer(FeedbackItem) },
  ),
});

/** Result of giving a piece of feedback. */
export const FeedbackAnswer = shape("FeedbackAnswer", {
  recordId: orNull(text, "The record, or null while the feedback waits for it"),
  name: feedbackName,
  author: text,
  isChanged: described(boolean, "Whether anything was written: the same again is not"),
  givenAt: described(timestamp, "When it was given, in Unix milliseconds"),
});

export const FeedbackResults = shape("FeedbackResults", {
  results: listOf(exactly({
    status: described(positive, "The status that a single request would get"),
    recordId: option(nullable(text), "The record, or null while the feedback waits for it"),
    isChanged: option(boolean, "Whether anything was written"),
    error: option(text, "Why it was refused, for people"),
    code: option(text, "Why it was refused, for programs"),
    field: option(text, "The path of the member at fault, if one is"),
    expected: option(text, "The values that it may have"),
  })),
});

const given = {
  name: feedbackName,
  value: feedbackValue,
  comment: text,
  author: described(text, "The application's own name for whoever gave it, or the name of a reviewer. It may be empty"),
  source: oneOf(...feedbackSources),
  givenAt: described(timestamp, "When this value was given, in Unix milliseconds"),
};

/** A piece of feedback on a record. */
export const Feedback = shape("Feedback", given);
export type Feedback = Infer<typeof Feedback>;

/** Feedback that was replaced or withdrawn. */
export const EarlierFeedback = shape("EarlierFeedback", {
  ...given,
  endedAt: described(timestamp, "When it was replaced or withdrawn, in Unix milliseconds"),
});
export type EarlierFeedback = Infer<typeof EarlierFeedback>;

/** Statistics of a feedback name. */
export const FeedbackStats = shape("FeedbackStats", {
  name: feedbackName,
  kind: described(oneOf(...feedbackKinds), "What the values are"),
  pieces: described(count, "How many pieces of feedback there are: a record has one of each author"),
  records: described(count, "How many records have any"),
  mean: orNull(numeric, "Of numbers, their mean. Null for other kinds"),
  share: orNull(share, "Of booleans, the share of true. Null for other kinds"),
  low: orNull(
    numeric,
    "The lower end of the 95 % interval of the mean (Student) or of the share (Wilson). Null for labels, and for fewer " +
      "than 30 numbers",
  ),
  high: orNull(numeric, "The upper end"),
  labels: described(
    listOf(exactly({
      label: text,
      pieces: count,
      share,
      low: described(share, "The lower end of its 95 % interval (Wilson)"),
      high: described(share, "The upper end"),
    })),
    "Of labels, the ten most frequent. Approximate if there are more than 2000 different ones, or more than 50,000 names and " +
      "labels in all parts together. If an answer has more than 300,000 characters of labels, its last parts have none",
  ),
  otherLabels: described(count, "How many pieces have another label"),
});
export type FeedbackStats = Infer<typeof FeedbackStats>;

/** A fault in stored feedback. */
export const FeedbackFault = shape("FeedbackFault", {
  what: described(
    oneOf(
      ...["no_record", "no_workspace", "unknown_name", "other_kind", "history", "arrived"] as const,
      ...["too_many_names", "too_many_authors", "other_count"] as const,
    ),
    "`no_record`, `no_workspace`: it is about a record, or of a workspace, that is not there. `unknown_name`: its workspace " +
      "has no such name. `other_kind`: its value is not of the kind of its name. `history`: its changes are not numbered " +
      "without a gap. `arrived`: it waits for a record that has arrived. `too_many_names`, `too_many_authors`: a record has " +
      "more than 50 names, or a name on it more than 20 authors. `other_count`: more or less waits than is counted of the " +
      "workspace, or statistics count other feedback on a record than it has",
  ),
  place: described(
    text,
    "The id of the record, `position` and its position in the log if that has no record's place, the SHA-256 of the " +
      "idempotency key that it waits for, or the id of the workspace",
  ),
  name: nullable(text),
  author: nullable(text),
});
export type FeedbackFault = Infer<typeof FeedbackFault>;

/** Result of verifying feedback. */
export const FeedbackCheck = shape("FeedbackCheck", {
  pieces: described(count, "How many pieces of feedback are on records"),
  earlier: described(count, "How many earlier ones were replaced or withdrawn"),
  waiting: described(count, "How many wait for their records"),
  faults: described(count, "How many are not as they must be"),
  rows: described(listOf(FeedbackFault), "At most 100 of these"),
});
export type FeedbackCheck = Infer<typeof FeedbackCheck>;
