// Shapes of the ledger's counts and records in management. The ledger imports only the types, so that each shape is
// written once but is not in the core. Times named …At are Unix milliseconds. Months are `YYYY-MM`, UTC.
import type { CallId, DeploymentId, KeyId, RecordId, WorkspaceId } from "../common/ids.ts";
import type { JsonText } from "../common/json-text.ts";
import { Feedback, FeedbackStats } from "./feedback.ts";
import { DiagnosisContent } from "./submit-schemas.ts";
import { described, exactly, listOf, named, nullable, object, oneOf, option, orNull, shape } from "./struct.ts";
import type { Infer, Struct } from "./struct.ts";
import * as v from "./values.ts";

/** Kind of an accepted request. */
export const operation = oneOf("read", "submit");
export type Operation = Infer<typeof operation>;

/** One accepted request: an entry of the call log. */
export const Call = shape("Call", {
  id: v.textAs<CallId>(),
  operation,
  number: described(v.positive, "Its sequence number in its workspace and month, from 1"),
  month: v.month,
  keyId: v.textAs<KeyId>(),
  deployId: v.textAs<DeploymentId>(),
  promptVersion: v.positive,
  rollout: option(v.text, "The rollout that chose that version. Absent if none did, and for reads"),
  createdAt: v.timestamp,
});
export type Call = Infer<typeof Call>;

const submittedMoment = nullable(v.timestamp);
const storedRecord = object({
  id: v.textAs<RecordId>(),
  sessionId: v.text,
  status: v.integer,
  content: DiagnosisContent,
  latency: nullable(v.duration),
  startAt: submittedMoment,
  endAt: submittedMoment,
  additional_properties: nullable(v.anyObject),
  promptVersion: described(v.positive, "The version that the submit named, or else the one that was live"),
  rollout: option(v.text, "The rollout that chose that version. Absent if none did"),
  createdAt: v.timestamp,
  deployId: v.textAs<DeploymentId>(),
  reference: orNull(v.text, "The deployment as NAME@DEPLOYMENT, as it is called now"),
  keyId: described(v.textAs<KeyId>(), "The API key that submitted it"),
  statusName: orNull(v.text, "What its status means in the workspace, or null"),
  isDamaged: option(
    v.boolean,
    "Present if what is stored is no longer JSON, as after a bad sector. Its text is content.output then",
  ),
  feedback: option(listOf(Feedback), "What was thought of it. Absent if nothing was said"),
  submitted: option(v.anyObject, "Submitted members whose names the service uses itself, such as id and createdAt"),
});

/** A stored record: members of the service, and everything that was submitted, as sent. */
export type Diagnosis =
  & Pick<
    Infer<typeof storedRecord>,
    "id" | "promptVersion" | "createdAt" | "deployId" | "reference" | "keyId" | "statusName"
  >
  & Record<string, JsonText | string | number | null>;

export const Diagnosis = named(
  "Diagnosis",
  described(
    storedRecord,
    "A stored record with all members as submitted, further ones too. Absent ones are null",
  ),
) as Struct<unknown, unknown> as Struct<Diagnosis, unknown>;

/** A row whose text is damaged. */
export const DamagedText = shape("DamagedText", {
  table: described(v.text, "The table of the database"),
  key: described(v.text, "The id of a record, or the primary key of another row"),
});
export type DamagedText = Infer<typeof DamagedText>;

/** A day's accepted requests. */
export const DayUsage = exactly({ day: described(v.text, "YYYY-MM-DD, UTC"), reads: v.count, submits: v.count });
export type DayUsage = Infer<typeof DayUsage>;

/** A month's accepted requests. */
export const MonthUsage = shape("MonthUsage", { month: v.month, used: v.count, reads: v.count, submits: v.count });
export type MonthUsage = Infer<typeof MonthUsage>;

/** The recount of one workspace and month. */
export const LedgerBalance = shape("LedgerBalance", {
  workspaceId: v.textAs<WorkspaceId>(),
  month: described(v.text, "A month, UTC, or unknown for calls of no month, which is always out of balance"),
  used: described(v.count, "The quota used, as the ledger counted it"),
  calls: described(v.count, "Entries of the call log, including pruned ones"),
  reads: described(v.count, "How many of the calls are reads"),
  records: described(v.count, "Records, including deleted and pruned ones"),
  deleted: described(v.count, "How many of the records were deleted"),
  pruned: described(v.count, "How many of the calls were pruned, with their records"),
  balanced: described(v.boolean, "Whether used = calls = reads + records, and the calls are numbered 1 to used"),
});
export type LedgerBalance = Infer<typeof LedgerBalance>;

const measured = described(v.count, "How many records have these values");
const share = described(v.share, "Share of these records");
/** An amount of money. */
export const usd = v.matching("a decimal text", String.raw`^\d+(\.\d+)?$`, { description: "USD, as a decimal text" });

const latency = orNull(
  v.duration,
  "Milliseconds, rounded to a tenth, and from one second on to four digits. A latency above 10^12 counts as 10^12. Null " +
    "if no record has a latency",
);
const tokens = orNull(v.numeric, "Rounded to four digits. Null if no record has tokens");
const cost = orNull(usd, "USD, rounded to four digits. Null if no record has a cost");

/** Rule for counting tokens, implemented in the ledger's measures.ts. */
const tokenRule =
  "Tokens are read from additional_properties, from an object in it, or from a member usage, in that order: " +
  "the first with clear counts, by the names of the usual providers, gateways and frameworks. Input includes tokens that were " +
  "read from or written to a cache, and output includes reasoning. A record with counts that contradict each other, or with " +
  "caches under unknown names, has none";

const exactness = "Exact up to 2^53, and above that the nearest double";
const tokenSum = described(v.numeric, exactness);

/** Feedback on any records. */
export const feedback = described(
  listOf(FeedbackStats),
  "What was thought of these records, by name. Intervals take each piece of feedback for an independent one",
);

/** The members of statistics of any records. */
export const recordStats = {
  records: v.count,
  statuses: described(
    listOf(exactly({
      status: v.integer,
      name: orNull(v.text, "Its name in the workspace"),
      isFailure: described(v.boolean, "Whether it counts as a failure"),
      records: v.count,
      share,
    })),
    "The ten most frequent. Approximate if there are more than 2000 different ones",
  ),
  otherStatuses: exactly({ records: v.count, share }),
  failures: orNull(
    exactly({
      records: v.count,
      share: nullable(share),
      low: orNull(v.share, "The lower end of its 95 % interval (Wilson)"),
      high: orNull(v.share, "The upper end"),
    }),
    "Null if no status counts as a failure in the workspace",
  ),
  latency: exactly({ records: measured, p50: latency, p95: latency, p99: latency, mean: latency }),
  tokens: exactly({
    records: measured,
    prompt: described(tokenSum, `The sum of input tokens. ${exactness}. ${tokenRule}`),
    completion: described(tokenSum, `The sum of output tokens, which include reasoning tokens. ${exactness}`),
    cached: described(tokenSum, `How many of the input tokens came from a cache. ${exactness}`),
    written: described(tokenSum, `How many of the input tokens were written to a cache. ${exactness}`),
    p50: tokens,
    p95: tokens,
    p99: tokens,
    mean: orNull(v.numeric, "Of input and output together, per record with tokens"),
  }),
  cost: exactly({
    records: described(
      v.count,
      "How many records have a cost: their own, that of their provider, or one by the prices",
    ),
    unpriced: described(v.count, "How many have none, as they lack tokens, a model or a price"),
    total: described(usd, "USD, exact to the last decimal"),
    p50: cost,
    p95: cost,
    p99: cost,
    mean: orNull(usd, "USD per record with a cost, rounded to 12 decimals"),
  }),
  feedback,
};

/** Statistics of any records. */
export const RecordStats = shape("RecordStats", recordStats);
export type RecordStats = Infer<typeof RecordStats>;

/** Statistics of the records of one version of a deployment's prompt. */
export const VersionStats = shape("VersionStats", { version: v.positive, ...recordStats });
export type VersionStats = Infer<typeof VersionStats>;

const figures = {
  records: v.count,
  failures: orNull(v.count, "How many failed. Null if no status counts as a failure"),
  latency: exactly({ p50: latency, p95: latency }),
  tokens: exactly({ records: measured, prompt: tokenSum, completion: tokenSum }),
  cost: exactly({ total: usd, unpriced: v.count }),
  feedback,
};

/** Key figures of some records. */
export const Figures = shape("Figures", figures);
export type Figures = Infer<typeof Figures>;

const at = described(v.timestamp, "When it begins, in Unix milliseconds");

/** The figures of an hour, a day or a week. */
export const FiguresPoint = shape("FiguresPoint", { at, ...figures });
export type FiguresPoint = Infer<typeof FiguresPoint>;

/** Figures with the versions of the records. */
export const StatsPoint = shape("StatsPoint", {
  at,
  ...figures,
  versions: listOf(exactly({ version: v.positive, records: v.count })),
});
export type StatsPoint = Infer<typeof StatsPoint>;
