// What the operations on records and the ledger answer with, as it stands in JSON.
import { described, exactly, listOf, named, nullable, object, optional } from "../schema/struct.ts";
import { DiagnosisContent, quotaState } from "../schema/serving.ts";
import * as v from "../schema/values.ts";

const at = v.timestamp;

export const Diagnosis = named(
  "Diagnosis",
  described(
    object({
      id: v.text,
      sessionId: v.text,
      status: v.integer,
      content: DiagnosisContent,
      latency: nullable(v.duration),
      startAt: v.moment,
      endAt: v.moment,
      additional_properties: nullable(v.anyObject),
      promptVersion: described(v.positive, "The version that was live when the record was stored"),
      createdAt: at,
      submitted: optional(
        described(v.anyObject, "Further members whose names are those of the service: id, createdAt …"),
      ),
    }),
    "A stored record: its members as they were submitted, further ones too, and null where one was not given",
  ),
);
export const Deletion = named("Deletion", exactly({ deleted: described(v.count, "How many records were deleted") }));

export const Call = named(
  "Call",
  exactly({
    id: v.text,
    operation: v.operation,
    number: described(v.positive, "Its place among the requests of its workspace and month, from 1"),
    month: v.month,
    keyId: v.text,
    deployId: v.text,
    promptVersion: v.positive,
    createdAt: at,
  }),
);

const day = exactly({ day: described(v.text, "YYYY-MM-DD, UTC"), reads: v.count, submits: v.count });
export const Usage = named(
  "Usage",
  exactly({ ...quotaState, days: described(listOf(day), "The days of the calls that are still in the log") }),
);
export const MonthUsage = named(
  "MonthUsage",
  exactly({ month: v.month, used: v.count, reads: v.count, submits: v.count }),
);

const percentile = described(nullable(v.duration), "Milliseconds; null where no record has a latency");
const measured = described(v.count, "How many records these numbers are of");
const share = described(v.share, "Of the version's records");
const VersionStats = named(
  "VersionStats",
  exactly({
    version: v.positive,
    records: v.count,
    statuses: described(
      listOf(exactly({ status: v.integer, records: v.count, share })),
      "The ten most frequent; approximate where a version has more than 2000 different ones",
    ),
    otherStatuses: exactly({ records: v.count, share }),
    latency: exactly({ records: measured, p50: percentile, p95: percentile, p99: percentile }),
    tokens: exactly({
      records: measured,
      prompt: described(v.number, "The sum of prompt_tokens"),
      completion: described(v.number, "The sum of completion_tokens"),
    }),
  }),
);
export const Stats = named("Stats", exactly({ deployId: v.text, records: v.count, versions: listOf(VersionStats) }));

export const Pruned = named(
  "Pruned",
  exactly({
    calls: v.count,
    records: v.count,
    isDone: described(v.isTrue, "Whether that was all; if not, ask again"),
  }),
);
const LedgerBalance = named(
  "LedgerBalance",
  exactly({
    workspaceId: v.text,
    month: described(v.text, "A month, UTC; unknown, and out of balance, where the calls are in none"),
    used: described(v.count, "What was counted of the quota"),
    calls: described(v.count, "Entries of the call log, the pruned ones included"),
    reads: described(v.count, "Those of them that are reads"),
    records: described(v.count, "Records, the deleted and pruned ones included"),
    deleted: described(v.count, "How many of the records were deleted"),
    pruned: described(v.count, "How many of the calls were pruned, with their records"),
    balanced: described(v.isTrue, "Whether used = calls = reads + records, and the calls are numbered 1 to used"),
  }),
);
export const Verification = named(
  "Verification",
  exactly({
    balanced: v.isTrue,
    total: described(v.count, "How many ledgers were recounted, one for each workspace and month"),
    unbalanced: described(v.count, "How many of them are out of balance"),
    ledgers: described(listOf(LedgerBalance), "1,000 at most, those that are out of balance before the others"),
  }),
);
