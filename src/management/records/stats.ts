// Statistics of records: by version for a deployment, by deployment for a workspace, and for both over all and over
// time.
import type { DeploymentId, WorkspaceId } from "../../common/ids.ts";
import { intervals, seriesOf } from "../../tallies/counting.ts";
import type { Group, Interval, Part } from "../../tallies/counting.ts";
import { createLabels } from "../../feedback/feedback-words.ts";
import type { Labels } from "../../feedback/feedback-words.ts";
import { countRecords } from "../../tallies/stats.ts";
import { toFigures, toStats } from "../../tallies/summary.ts";
import { Figures, FiguresPoint, RecordStats, recordStats, StatsPoint, VersionStats } from "../../schema/ledger.ts";
import { described, exactly, listOf, oneOf, option, orNull, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import { reportRead } from "../kernel/progress.ts";
import * as v from "../kernel/values.ts";
import { listVersionChanges } from "../deployments/history.ts";
import { operation } from "../kernel/operation.ts";
import { inWorkspace, recordFilter, scopeOfDeployment, scopeOfWorkspace, toCount } from "./record-filter.ts";
import { withDeployment } from "../kernel/references.ts";
import type { StatusName } from "../kernel/statuses.ts";

const interval = option(oneOf(...intervals), "The interval of the time series, in UTC. Weeks begin on Monday");
const reference = described(v.text, "The deployment as NAME@DEPLOYMENT");
const overTime = "Over time, the oldest first, if an interval was given. Parts without records are left out";

const maxVersions = 1_000, maxPromotions = 1_000;
const isFeedbackLeftOut = described(
  v.boolean,
  "Whether only `all` has feedback, because there is feedback under too many names in all parts together. A shorter time or " +
    "fewer deployments have all of it",
);

/** Explains `isFeedbackLeftOut` to people. */
export const feedbackLeftOut =
  "Feedback has too many names to show it by version, deployment and time. Choose a shorter time";

const Promotion = exactly({ at: v.timestamp, version: described(v.positive, "The version that became live") });

export const Stats = shape("Stats", {
  deployId: v.textAs<DeploymentId>(),
  reference,
  records: v.count,
  versions: described(listOf(VersionStats), `By version, the newest first. The newest ${maxVersions}`),
  otherVersions: described(
    exactly({ versions: v.count, records: v.count }),
    "All earlier versions with records together",
  ),
  all: described(RecordStats, "Of all versions together"),
  series: described(listOf(StatsPoint), overTime),
  promotions: described(
    listOf(Promotion),
    `When which version became live in this time, the oldest first. The last ${maxPromotions}`,
  ),
  isFeedbackLeftOut,
});
export type Stats = Infer<typeof Stats>;

export const readStats = operation({
  id: "readStats",
  summary:
    "Show statistics of a deployment's records by version and over time: failures, statuses, latency, tokens and cost",
  method: "GET",
  path: "/deployments/{deployId}/stats",
  conflicts: true,
  command: "stats --deploy REF [--interval hour|day|week]",
  input: { ...withDeployment, interval, ...recordFilter },
  output: Stats,
  isLong: true,
  async run(management, { deployId, interval, ...filter }) {
    const { database } = management;
    const scope = await scopeOfDeployment(management, deployId);
    const { workspace: { statuses }, deployments: [{ reference }] } = scope;
    const matching = await toCount(management, scope, filter, "all");
    const division = { by: "version" as const, interval };
    const { from, to } = filter;
    const [{ groups, all, isCrowded }, changes] = await Promise.all([
      countRecords(management, matching, division, reportRead(management)),
      listVersionChanges(database, deployId, { limit: maxPromotions, from, to }),
    ]);
    const newest = [...groups].sort((a, b) => b.group - a.group), earlier = newest.splice(maxVersions);
    const labels = createLabels(), ofAll = toStats(all, statuses, labels);
    const stats: Stats = {
      deployId,
      reference,
      records: all.sums.records,
      versions: newest.map(({ group: version, tally }) => ({ version, ...toStats(tally, statuses, labels) })),
      otherVersions: { versions: earlier.length, records: recordsOf(earlier) },
      all: ofAll,
      series: seriesOf(partsOf(groups), interval).map(([at, parts]) => ({
        at,
        ...toFigures(parts, statuses, labels),
        versions: parts.map(({ group: version, tally: { sums: { records } } }) => ({ version, records }))
          .sort((a, b) => a.version - b.version),
      })),
      promotions: changes.map(({ at, to }) => ({ at, version: to })),
      isFeedbackLeftOut: isCrowded,
    };
    await labels.read(database);
    return stats;
  },
});

const maxDeployments = 100;
const overParts = {
  series: described(listOf(FiguresPoint), overTime),
  split: orNull(
    exactly({ before: Figures, after: Figures }),
    "Before `splitAt`, and from it on. Null if it was not given",
  ),
};
const DeploymentStats = shape("DeploymentStats", {
  deployId: v.textAs<DeploymentId>(),
  reference,
  ...recordStats,
  ...overParts,
});
const WorkspaceStats = shape("WorkspaceStats", {
  workspaceId: v.textAs<WorkspaceId>(),
  records: v.count,
  all: described(RecordStats, "Of all deployments together"),
  ...overParts,
  deployments: described(
    listOf(DeploymentStats),
    `By deployment, the one with the most records first. The ${maxDeployments} with the most, and none without records`,
  ),
  others: described(
    exactly({ deployments: v.count, records: v.count }),
    "All other deployments with records together",
  ),
  isFeedbackLeftOut,
});
export type WorkspaceStats = Infer<typeof WorkspaceStats>;

export const readWorkspaceStats = operation({
  id: "readWorkspaceStats",
  summary: "Show record statistics of a workspace: in total, by deployment and over time",
  method: "GET",
  path: "/workspaces/{workspaceId}/stats",
  conflicts: true,
  command: "stats [--interval hour|day|week]",
  input: {
    ...inWorkspace,
    interval,
    splitAt: option(v.timestamp, "A time that divides the records in two, to compare them, in Unix milliseconds"),
    ...recordFilter,
  },
  output: WorkspaceStats,
  isLong: true,
  async run(management, { workspaceId, deployId, interval, splitAt, ...filter }) {
    const scope = await scopeOfWorkspace(management, { workspaceId, deployId });
    const { workspace: { statuses }, deployments } = scope;
    const matching = await toCount(management, scope, filter, "all");
    const division = { by: "deployment" as const, interval, splitAt };
    const { groups, all, isCrowded } = await countRecords(management, matching, division, reportRead(management));
    const ordered = [...groups].sort((a, b) => recordsOf([b]) - recordsOf([a]) || a.group - b.group);
    const others = ordered.splice(maxDeployments), labels = createLabels();
    const overParts = (parts: Part[]) => toParts(parts, interval, splitAt, statuses, labels);
    const stats: WorkspaceStats = {
      workspaceId,
      records: all.sums.records,
      all: toStats(all, statuses, labels),
      ...overParts(partsOf(groups)),
      deployments: ordered.map(({ group, tally, parts }) => {
        const { id: deployId, reference } = deployments[group]!;
        return { deployId, reference, ...toStats(tally, statuses, labels), ...overParts(parts) };
      }),
      others: { deployments: others.length, records: recordsOf(others) },
      isFeedbackLeftOut: isCrowded,
    };
    await labels.read(management.database);
    return stats;
  },
});

const recordsOf = (groups: Group[]): number => groups.reduce((sum, { tally }) => sum + tally.sums.records, 0);

const partsOf = (groups: Group[]): Part[] => groups.flatMap(({ parts }) => parts);

function toParts(
  parts: Part[],
  interval: Interval | undefined,
  splitAt: number | undefined,
  statuses: StatusName[],
  labels: Labels,
): Pick<WorkspaceStats, keyof typeof overParts> {
  const series = seriesOf(parts, interval).map(([at, parts]) => ({ at, ...toFigures(parts, statuses, labels) }));
  if (splitAt === undefined) return { series, split: null };
  const isAfter = ({ at }: Part) => at >= splitAt;
  const [before, after] = [parts.filter((part) => !isAfter(part)), parts.filter(isAfter)]
    .map((side) => toFigures(side, statuses, labels));
  return { series, split: { before: before!, after: after! } };
}

export const statsOperations = [readWorkspaceStats, readStats];
