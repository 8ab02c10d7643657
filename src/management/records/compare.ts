// Compares the records of two deployments, or of two versions.
import { decimalText, readAmount } from "../../support/decimal.ts";
import type { DeploymentId } from "../../common/ids.ts";
import { latencyOf, numberOf } from "../../statistics/histogram.ts";
import type { Histogram } from "../../statistics/histogram.ts";
import { feedbackMoments, truesOf } from "../../tallies/feedback-tally.ts";
import { createLabels } from "../../feedback/feedback-words.ts";
import { newcombe } from "../../statistics/intervals.ts";
import type { Moments } from "../../statistics/intervals.ts";
import { intervalOf, meanDifference } from "../../statistics/mean-difference.ts";
import { countRecords } from "../../tallies/stats.ts";
import { momentsOf, toStats } from "../../tallies/summary.ts";
import { emptyTally } from "../../tallies/tally.ts";
import type { Tally } from "../../tallies/tally.ts";
import { feedbackName } from "../../schema/feedback.ts";
import { recordStats } from "../../schema/ledger.ts";
import { described, exactly, listOf, nullable, option, orNull, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import { reportRead } from "../kernel/progress.ts";
import * as v from "../kernel/values.ts";
import { operation } from "../kernel/operation.ts";
import type { Management } from "../kernel/operation.ts";
import { recordFilter, scopeOfDeployment, toCount } from "./record-filter.ts";
import { withDeployment } from "../kernel/references.ts";

const low = orNull(v.numeric, "The lower end of its 95 % interval. Null with fewer than 30 records");
const high = orNull(v.numeric, "The upper end");
const difference = nullable(exactly({ difference: v.numeric, low, high }));
const usd = v.matching("a decimal text", String.raw`^-?\d+(\.\d+)?$`);

const Side = shape("ComparedStats", {
  deployId: v.textAs<DeploymentId>(),
  reference: v.text,
  version: orNull(v.positive, "Null for all versions"),
  ...recordStats,
});

const Comparison = shape("Comparison", {
  a: Side,
  b: Side,
  differences: described(
    exactly({
      failures: described(difference, "Of the shares that failed (Newcombe), or null if nothing counts as a failure"),
      latency: described(difference, "Of the means in ms (Welch), or null if one side has none"),
      tokens: described(difference, "Of the means (Welch), or null if one side has none"),
      cost: orNull(
        exactly({ difference: usd, low, high }),
        "Of the means in USD (Welch), or null if one side has none",
      ),
      feedback: described(
        listOf(exactly({ name: feedbackName, difference: v.numeric, low, high })),
        "Of the means of numbers (Welch) and of the shares of true (Newcombe), by each name that both sides have",
      ),
    }),
    "That of b minus that of a",
  ),
  sentence: described(v.text, "What these records show, for people"),
});
export type Comparison = Infer<typeof Comparison>;
type Side = Infer<typeof Side>;

const version = (side: string) => option(v.positive, `The version of ${side}. Default: all`);
const { promptVersion: _, ...filter } = recordFilter;

export const compareStats = operation({
  id: "compareStats",
  summary: "Compare the records of two versions or two deployments. A and B are references, such as " +
    "support/assistant@production, with :7 appended for version 7",
  method: "GET",
  path: "/stats/compare",
  conflicts: true,
  command: "stats compare A B",
  input: {
    a: described(v.deploymentReference, "The baseline deployment"),
    aVersion: version("a"),
    b: described(v.deploymentReference, "The deployment to compare with the baseline"),
    bVersion: version("b"),
    workspaceId: withDeployment.workspaceId,
    ...filter,
  },
  output: Comparison,
  isLong: true,
  async run(management, { a, aVersion, b, bVersion, ...filter }) {
    const versions = [aVersion, bVersion];
    const [one, other] = a === b ? await readSides(management, a, versions, filter) as [Read, Read] : [
      (await readSides(management, a, [aVersion], filter, " of the first"))[0]!,
      (await readSides(management, b, [bVersion], filter, " of the second"))[0]!,
    ];
    const differences = differencesOf(one, other);
    return { a: one.side, b: other.side, differences, sentence: sentenceOf(one.side, other.side, differences) };
  },
});

type Read = { side: Side; tally: Tally };

/** Counts the records of versions of a deployment in one pass. An undefined version means all of them. */
async function readSides(
  management: Management,
  deployId: DeploymentId,
  versions: (number | undefined)[],
  input: Omit<Parameters<typeof toCount>[2], "promptVersion">,
  suffix?: string,
): Promise<Read[]> {
  const scope = await scopeOfDeployment(management, deployId);
  const { workspace: { statuses }, deployments: [{ reference }] } = scope;
  const { filter, ...how } = await toCount(management, scope, input, "all");
  const named = versions.filter((version) => version !== undefined);
  const promptVersions = named.length === versions.length ? named : undefined;
  const report = reportRead(management, suffix);
  const count = (promptVersions: number[] | undefined) =>
    countRecords(management, { ...how, filter: { ...filter, promptVersions } }, { by: "version" }, report);
  const { groups, all, isCrowded } = await count(promptVersions);
  // All versions together may have too much feedback to count it by version, but not one or two.
  const own = isCrowded && named.length > 0 ? (await count(named)).groups : groups;
  const labels = createLabels();
  const sides = versions.map((version) => {
    const tally = version === undefined ? all : own.find(({ group }) => group === version)?.tally ?? emptyTally();
    return { side: { deployId, reference, version: version ?? null, ...toStats(tally, statuses, labels) }, tally };
  });
  await labels.read(management.database);
  return sides;
}

type Differences = Comparison["differences"];

function differencesOf({ side: a, tally: first }: Read, { side: b, tally: second }: Read): Differences {
  const means = (
    one: number | null,
    other: number | null,
    histograms: [Histogram, Histogram],
    valueOf: (bucket: number) => number,
  ) => {
    if (one === null || other === null) return null;
    const [before, after] = histograms.map((histogram) => momentsOf(histogram, valueOf));
    return { difference: other - one, ...meanInterval({ ...before!, mean: one }, { ...after!, mean: other }) };
  };
  const cost = means(
    a.cost.mean === null ? null : Number(a.cost.mean),
    b.cost.mean === null ? null : Number(b.cost.mean),
    [first.costs, second.costs],
    numberOf,
  );
  const isCounted = a.failures !== null && b.failures !== null && a.records > 0 && b.records > 0;
  return {
    failures: isCounted
      ? newcombe(
        { count: a.failures!.records, total: a.records },
        { count: b.failures!.records, total: b.records },
      )
      : null,
    latency: means(a.latency.mean, b.latency.mean, [first.latencies, second.latencies], latencyOf),
    tokens: means(a.tokens.mean, b.tokens.mean, [first.tokens, second.tokens], numberOf),
    cost: cost && { ...cost, difference: decimalText(readAmount(b.cost.mean!)! - readAmount(a.cost.mean!)!) },
    feedback: feedbackDifferences(first, second),
  };
}

/** Interval of the difference of two means, with nulls if unknown. */
function meanInterval(a: Moments, b: Moments): { low: number | null; high: number | null } {
  const found = meanDifference([{ a, b }]);
  return found === undefined ? { low: null, high: null } : intervalOf(found);
}

function feedbackDifferences({ sums: a }: Tally, { sums: b }: Tally): Differences["feedback"] {
  return [...a.feedback].sort(([one], [other]) => one < other ? -1 : 1).flatMap(([name, before]) => {
    const after = b.feedback.get(name);
    if (after === undefined || before.kind === "label") return [];
    if (before.kind === "boolean") {
      const [one, other] = [before, after].map((tally) => ({ count: truesOf(tally), total: tally.pieces }));
      return [{ name, ...newcombe(one!, other!) }];
    }
    const ends = meanInterval(feedbackMoments(before), feedbackMoments(after));
    return [{ name, difference: after.mean - before.mean, ...ends }];
  });
}

const nameOf = (side: Side, other: Side): string => {
  if (side.version === null) return side.reference;
  return side.deployId === other.deployId ? `version ${side.version}` : `${side.reference} version ${side.version}`;
};

const minus = (text: string) => text.replace("-", "−");
const shareText = (share: number) => `${(100 * share).toFixed(1)} %`;
const short = (value: number) => minus(String(Number(value.toPrecision(3))));

const mostNamed = 3; // names of feedback in a sentence

/** Differences in the records, as text. One whose interval contains 0 may be chance. */
function sentenceOf(a: Side, b: Side, { failures, latency, tokens, cost, feedback }: Differences): string {
  const records = a.records + b.records;
  if (a.records === 0 || b.records === 0) {
    return `${nameOf(a.records === 0 ? a : b, a.records === 0 ? b : a)} has no records`;
  }
  if (a.deployId === b.deployId && a.version === b.version) return `${nameOf(a, b)} is compared with itself`;
  const isClear = <D extends { low: number | null; high: number | null }>(
    found: D | null,
  ): found is D & { low: number; high: number } =>
    found !== null && found.low !== null && found.high !== null && (found.low > 0 || found.high < 0);
  const parts: string[] = [];
  if (isClear(failures)) {
    const points = (value: number) => minus((100 * value).toFixed(1));
    const { low, high } = failures;
    parts.push(
      `fails ${high < 0 ? "less" : "more"} often (${shareText(b.failures!.share!)} against ${
        shareText(a.failures!.share!)
      }, 95 % interval of the difference ${points(low)} to ${points(high)} points)`,
    );
  }
  const addMean = (
    found: { low: number | null; high: number | null } | null,
    words: [less: string, more: string],
    [one, other]: [unknown, unknown],
    unit: string,
  ) => {
    if (!isClear(found)) return;
    parts.push(
      `${words[found.high < 0 ? 0 : 1]} (mean ${other} against ${one}${unit}, 95 % interval of the difference ${
        short(found.low)
      } to ${short(found.high)}${unit})`,
    );
  };
  addMean(latency, ["is faster", "is slower"], [a.latency.mean, b.latency.mean], " ms");
  const tokenMeans = [a.tokens.mean ?? 0, b.tokens.mean ?? 0].map(short) as [string, string];
  addMean(tokens, ["uses fewer tokens", "uses more tokens"], tokenMeans, "");
  const costMeans = [a.cost.mean, b.cost.mean].map((mean) => short(Number(mean ?? 0))) as [string, string];
  addMean(cost, ["costs less", "costs more"], costMeans, " USD");
  const rated = feedback.filter(isClear);
  for (const { name, high, low } of rated.slice(0, mostNamed)) {
    const [one, other] = [a, b].map((side) => side.feedback.find((stats) => stats.name === name)!);
    const isShare = one!.kind === "boolean";
    const [before, after] = [one!, other!].map(({ mean, share }) => isShare ? shareText(share!) : short(mean!));
    const [from, to] = [low, high].map((end) => isShare ? minus((100 * end).toFixed(1)) : short(end));
    const values = isShare ? `${after} true against ${before}` : `mean ${after} against ${before}`;
    parts.push(
      `is rated ${
        high < 0 ? "lower" : "higher"
      } under ${name} (${values}, 95 % interval of the difference ${from} to ${to}${isShare ? " points" : ""})`,
    );
  }
  if (rated.length > mostNamed) parts.push(`differs under ${rated.length - mostNamed} more names of feedback`);
  return parts.length === 0
    ? `no difference that these ${records} records can show`
    : `${nameOf(b, a)} ${parts.join(", ")}`;
}
