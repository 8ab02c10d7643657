// Statistics of a rollout for people: the arms side by side, and what is known of each difference.
import { feedbackNotCompared } from "../../management/records/rollout-stats.ts";
import type { RolloutStats } from "../../management/records/rollout-stats.ts";
import { amountText, measureName } from "../../management/terms/rollout-sentences.ts";
import { numberText, percentOf } from "../frame/charts.ts";
import { format } from "../frame/format.ts";
import { layOut, wrap } from "../frame/table.ts";

type Difference = RolloutStats["differences"][number];
type Arm = RolloutStats["base"];

export function rolloutText(
  { rollout, reference, steps, sampleRatio, sentence, isFeedbackLeftOut, ...arms }: RolloutStats,
  columns = Infinity,
): string {
  const { base, candidate, differences } = arms;
  const rangeText = (unit: Difference["unit"], range: Difference["interval"]) =>
    range === null ? "-" : `${amountText(range.low, unit)} to ${amountText(range.high, unit)}`;
  const rows = differences.map((found) => [
    measureName(found),
    valueOf(found, base),
    valueOf(found, candidate),
    found.difference === null ? "-" : amountText(found.difference, found.unit),
    rangeText(found.unit, found.sequence),
    rangeText(found.unit, found.interval),
    found.needed === null ? "-" : found.needed.toLocaleString("en-US"),
  ]);
  const heads = [
    "",
    `base ${base.version}`,
    `candidate ${candidate.version}`,
    "difference",
    "at any time",
    "plain",
    "needed",
  ];
  return [
    format({
      ...{ rollout: rollout.id, deployment: reference, startedAt: rollout.startedAt, endedAt: rollout.endedAt },
      shares: steps.map(({ percent }) => `${percent} %`).join(", "),
      records: `${base.records} of the base, ${candidate.records} of the candidate`,
    }),
    layOut(heads, rows, columns, [1, 2, 3, 6]),
    `${wrap(`${sentence}.`, columns)}\n${wrap(`${sampleRatio.sentence}.`, columns)}\n`,
    ...isFeedbackLeftOut ? [`${wrap(`${feedbackNotCompared}.`, columns)}\n`] : [],
  ].join("\n");
}

/** Short text of a measure in an arm. */
function valueOf({ measure, name, label }: Difference, { failures, latency, tokens, cost, feedback }: Arm): string {
  const toText = (value: number | null, unit = "") => value === null ? "-" : `${numberText(value)}${unit}`;
  switch (measure) {
    case "failures":
      return failures === null || failures.share === null ? "-" : percentOf(failures.share);
    case "latency":
      return toText(latency.mean, " ms");
    case "p95":
      return toText(latency.p95, " ms");
    case "tokens":
      return toText(tokens.mean);
    case "cost":
      return cost.mean === null ? "-" : `$${numberText(Number(cost.mean))}`;
    case "feedback": {
      const found = feedback.find((stats) => stats.name === name);
      const share = label === null
        ? found?.share ?? null
        : found?.labels.find((each) => each.label === label)?.share ?? null;
      return share !== null ? percentOf(share) : toText(found?.mean ?? null);
    }
  }
}
