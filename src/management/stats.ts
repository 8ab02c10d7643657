// Statistics of a deployment's records: for each version of its prompt, over all, and over time.
import type { DeploymentId } from "../common/ids.ts";
import { countRecords, intervals } from "../ledger/stats.ts";
import { toPoint, toStats } from "../ledger/summary.ts";
import { RecordStats, StatsPoint, VersionStats } from "../schema/ledger.ts";
import { described, exactly, listOf, named, oneOf, optional } from "../schema/struct.ts";
import type { Infer } from "../schema/struct.ts";
import * as v from "./values.ts";
import { requireDeployment } from "./deployments.ts";
import { listVersionChanges } from "./history.ts";
import { operation, reportRead } from "./operation.ts";
import { recordFilter, toScan } from "./record-filter.ts";
import { withDeployment } from "./references.ts";
import { failuresOf } from "./statuses.ts";
import { requireWorkspace } from "./workspaces.ts";

const Promotion = exactly({ at: v.timestamp, version: described(v.positive, "The version that became live") });

const Stats = named(
  "Stats",
  exactly({
    deployId: v.textAs<DeploymentId>(),
    reference: described(v.text, "The deployment as NAME@DEPLOYMENT"),
    records: v.count,
    versions: described(listOf(VersionStats), "By version, the newest first"),
    all: described(RecordStats, "Of all versions together"),
    series: described(
      listOf(StatsPoint),
      "Over time, the oldest first, if an interval was given. Parts without records are left out",
    ),
    promotions: described(listOf(Promotion), "When which version became live in this time"),
  }),
);
export type Stats = Infer<typeof Stats>;

export const readStats = operation({
  id: "readStats",
  summary:
    "Show statistics of a deployment's records by version and over time: failures, statuses, latency, tokens and cost",
  method: "GET",
  path: "/deployments/{deployId}/stats",
  role: "viewer",
  command: "stats [--interval hour|day|week]",
  input: {
    ...withDeployment,
    interval: optional(described(oneOf(...intervals), "The parts of the series, in UTC. Weeks begin on Monday")),
    ...recordFilter,
  },
  output: Stats,
  refusals: ["not_found", "conflict"],
  isLong: true,
  async run(management, { deployId, interval, ...filter }) {
    const { database } = management;
    const { workspaceId, reference } = await requireDeployment(management, deployId);
    const { statuses } = await requireWorkspace(management, workspaceId);
    const failures = new Set(failuresOf(statuses));
    const matching = { ...await toScan(management, workspaceId, [deployId], filter), failures };
    const { versions, all, series } = await countRecords(database, matching, interval, reportRead(management));
    const { from = 0, to = Infinity } = filter;
    const changes = await listVersionChanges(database, deployId);
    return {
      deployId,
      reference,
      records: all.sums.records,
      versions: versions.map(([version, tally]) => ({ version, ...toStats(tally, statuses) })),
      all: toStats(all, statuses),
      series: series.map(([at, parts]) => toPoint(at, parts, statuses)),
      promotions: changes.filter(({ at }) => at >= from && at < to).map(({ at, to }) => ({ at, version: to })),
    };
  },
});

export const statsOperations = [readStats];
