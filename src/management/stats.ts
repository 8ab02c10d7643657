// Statistics: the records of a deployment in numbers, for each version of its prompt.
import { findStats } from "../ledger/stats.ts";
import { described, exactly, listOf, named, nullable } from "../schema/struct.ts";
import type { Infer } from "../schema/struct.ts";
import * as v from "./values.ts";
import { requireDeployment } from "./deployments.ts";
import { operation, percent } from "./operation.ts";
import { promptVersion, timeRange } from "./records.ts";

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
const Stats = named("Stats", exactly({ deployId: v.text, records: v.count, versions: listOf(VersionStats) }));
export type Stats = Infer<typeof Stats>;

export const readStats = operation({
  id: "readStats",
  tag: "Records",
  summary: "Show each version's records in numbers: shares of statuses, percentiles of latency, sums of tokens",
  method: "GET",
  path: "/deployments/{deployId}/stats",
  role: "viewer",
  command: "stats --deploy ID [--version N] [--from TIME] [--to TIME]",
  input: { deployId: v.id, promptVersion, ...timeRange },
  output: Stats,
  refusals: ["not_found"],
  isLong: true,
  async run(management, filter) {
    const { deployId } = filter;
    await requireDeployment(management, deployId);
    const report = (share: number) => management.report?.(`Read ${percent(share)}`);
    const versions = await findStats(management.database, filter, report);
    return { deployId, records: versions.reduce((sum, { records }) => sum + records, 0), versions };
  },
});

export const statsOperations = [readStats];
