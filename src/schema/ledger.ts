// What the ledger counts and records, as management returns it. The ledger imports only the types, so that each shape is
// written once but is not in the core. Times named …At are Unix milliseconds. Months are `YYYY-MM`, UTC.
import type { CallId, DeploymentId, KeyId, RecordId, WorkspaceId } from "../common/ids.ts";
import type { JsonText } from "../common/json-text.ts";
import { DiagnosisContent } from "./submits.ts";
import { described, exactly, listOf, named, nullable, object, oneOf, optional, predicate } from "./struct.ts";
import type { Infer, Struct } from "./struct.ts";
import * as v from "./values.ts";

/** What an accepted request did. */
export const operation = oneOf("read", "submit");
export type Operation = Infer<typeof operation>;

/** One accepted request: an entry of the call log. */
export const Call = named(
  "Call",
  exactly({
    id: v.textAs<CallId>(),
    operation,
    number: described(v.positive, "Its sequence number in its workspace and month, from 1"),
    month: v.month,
    keyId: v.textAs<KeyId>(),
    deployId: v.textAs<DeploymentId>(),
    promptVersion: v.positive,
    createdAt: v.timestamp,
  }),
);
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
  createdAt: v.timestamp,
  deployId: v.textAs<DeploymentId>(),
  reference: described(nullable(v.text), "The deployment as NAME@DEPLOYMENT, as it is called now"),
  keyId: described(v.textAs<KeyId>(), "The API key that submitted it"),
  statusName: described(nullable(v.text), "What its status means in the workspace, or null"),
  submitted: optional(
    described(v.anyObject, "Submitted members whose names the service uses itself, such as id and createdAt"),
  ),
});

/** A stored record: members of the service, and all that was submitted, as sent. */
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

/** A day's accepted requests. */
export const DayUsage = exactly({ day: described(v.text, "YYYY-MM-DD, UTC"), reads: v.count, submits: v.count });
export type DayUsage = Infer<typeof DayUsage>;

/** A month's accepted requests. */
export const MonthUsage = named(
  "MonthUsage",
  exactly({ month: v.month, used: v.count, reads: v.count, submits: v.count }),
);
export type MonthUsage = Infer<typeof MonthUsage>;

/** The recount of one workspace and month. */
export const LedgerBalance = named(
  "LedgerBalance",
  exactly({
    workspaceId: v.textAs<WorkspaceId>(),
    month: described(v.text, "A month, UTC, or unknown for calls of no month, which is always out of balance"),
    used: described(v.count, "The quota used, as the ledger counted it"),
    calls: described(v.count, "Entries of the call log, including pruned ones"),
    reads: described(v.count, "How many of the calls are reads"),
    records: described(v.count, "Records, including deleted and pruned ones"),
    deleted: described(v.count, "How many of the records were deleted"),
    pruned: described(v.count, "How many of the calls were pruned, with their records"),
    balanced: described(v.isTrue, "Whether used = calls = reads + records, and the calls are numbered 1 to used"),
  }),
);
export type LedgerBalance = Infer<typeof LedgerBalance>;

const percentile = described(nullable(v.duration), "Milliseconds, or null if no record has a latency");
const measured = described(v.count, "How many records have these values");
const sum = predicate<number>("a number", (value) => Number.isFinite(value), { type: "number" });
const share = described(
  predicate<number>(
    "a number from 0 to 1",
    (value) => Number.isFinite(value) && Number(value) >= 0 && Number(value) <= 1,
    { type: "number", minimum: 0, maximum: 1 },
  ),
  "Share of the version's records",
);

/** How tokens are counted. measures.ts of the ledger does it. */
const tokenRule =
  "Tokens are read from additional_properties, from an object in it, or from a member usage, in that order: " +
  "the first with consistent counts. The names are prompt_tokens and completion_tokens, input_tokens and output_tokens, " +
  "inputTokens and outputTokens, promptTokenCount and candidatesTokenCount, or gen_ai.usage.input_tokens and " +
  "gen_ai.usage.output_tokens. Input includes cached tokens, which are added where the provider counts them beside its " +
  "input. A record with contradictory counts has none";

/** Statistics of the records of one version of a deployment's prompt. */
export const VersionStats = named(
  "VersionStats",
  exactly({
    version: v.positive,
    records: v.count,
    statuses: described(
      listOf(exactly({ status: v.integer, records: v.count, share })),
      "The ten most frequent. Approximate if a version has more than 2000 different ones",
    ),
    otherStatuses: exactly({ records: v.count, share }),
    latency: exactly({ records: measured, p50: percentile, p95: percentile, p99: percentile }),
    tokens: exactly({
      records: measured,
      prompt: described(sum, `The sum of input tokens. ${tokenRule}`),
      completion: described(sum, "The sum of output tokens, which include reasoning tokens"),
    }),
  }),
);
export type VersionStats = Infer<typeof VersionStats>;
