// Statistics of a deployment's records, for each version of its prompt.
import type { DeploymentId } from "../common/ids.ts";
import { findStats } from "../ledger/stats.ts";
import { VersionStats } from "../schema/ledger.ts";
import { exactly, listOf, named } from "../schema/struct.ts";
import type { Infer } from "../schema/struct.ts";
import * as v from "./values.ts";
import { requireDeployment } from "./deployments.ts";
import { operation, percent } from "./operation.ts";
import { withDeployment } from "./references.ts";
import { promptVersion, timeRange } from "./record-filter.ts";

const Stats = named(
  "Stats",
  exactly({ deployId: v.textAs<DeploymentId>(), records: v.count, versions: listOf(VersionStats) }),
);
export type Stats = Infer<typeof Stats>;

export const readStats = operation({
  id: "readStats",
  summary:
    "Show statistics of a deployment's records by version: shares of statuses, percentiles of latency, sums of tokens",
  method: "GET",
  path: "/deployments/{deployId}/stats",
  role: "viewer",
  command: "stats --deploy REF [--version N] [--from TIME] [--to TIME] [--workspace ID]",
  input: { ...withDeployment, promptVersion, ...timeRange },
  output: Stats,
  refusals: ["not_found", "conflict"],
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
