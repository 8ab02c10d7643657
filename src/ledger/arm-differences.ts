// How the arms of a rollout differ, measure by measure: the difference, its interval at one time, and its sequence, which stays
// valid however often one looks. Steps of the share are compared each on their own, because the base rate may have moved.
import type { CountedStep } from "./arms.ts";
import { boundedFigures, percentileFigures, ratioFigures, shareFigures, valueFigures } from "./difference-figures.ts";
import type { FigureOptions, Figures } from "./difference-figures.ts";
import { feedbackMoments, truesOf } from "./feedback-tally.ts";
import type { FeedbackTally } from "./feedback-tally.ts";
import { latencyOf, numberOf } from "./histogram.ts";
import type { Histogram } from "./histogram.ts";
import type { Counted, Interval, Moments } from "./intervals.ts";
import { momentsOf } from "./summary.ts";
import type { Tally } from "./tally.ts";

/** What is compared. `name` is that of feedback, and `label` one of its labels. */
export type Measure = {
  measure: "failures" | "latency" | "p95" | "tokens" | "cost" | "feedback";
  name: string | null;
  label: string | null;
};

export type ArmDifference = Measure & Figures;

export type CompareOptions = FigureOptions & {
  hasFailures: boolean;
  /** What bounds the values of numeric feedback, by its name. */
  bounds: ReadonlyMap<string, Interval>;
};

const measured = (
  measure: Measure["measure"],
  figures: Figures,
  name: string | null = null,
  label: string | null = null,
) => ({
  ...{ measure, name, label },
  ...figures,
});

/** Compares what was counted of both arms. */
export function compareArms(steps: CountedStep[], options: CompareOptions): ArmDifference[] {
  const logMeans = (histogramOf: (tally: Tally) => Histogram, toLog: (bucket: number) => number) =>
    ratioFigures(stepsOf(steps, (tally) => momentsOf(histogramOf(tally), toLog)), options);
  const { base, candidate } = steps.at(-1)!;
  const latenciesOf = ({ latencies, sums }: Tally) => ({ histogram: latencies, total: sums.latency.records });
  const last = { a: latenciesOf(base), b: latenciesOf(candidate) };
  return [
    ...options.hasFailures
      ? [
        measured(
          "failures",
          shareFigures(stepsOf(steps, ({ sums }) => ({ count: sums.failures, total: sums.records })), options),
        ),
      ]
      : [],
    measured("latency", logMeans(({ latencies }) => latencies, (bucket) => Math.log1p(latencyOf(bucket)))),
    measured("p95", percentileFigures(last, steps.length, options.level)),
    measured("tokens", logMeans(({ tokens }) => tokens, (bucket) => Math.log1p(numberOf(bucket)))),
    // In millionths of a USD, so that 1 more is little.
    measured("cost", logMeans(({ costs }) => costs, (bucket) => Math.log1p(1e6 * numberOf(bucket)))),
    ...compareFeedback(steps, options),
  ];
}

/** What each step has of a measure. */
const stepsOf = <T>(steps: CountedStep[], measureOf: (tally: Tally) => T): { a: T; b: T; share: number }[] =>
  steps.map(({ base, candidate, share }) => ({ a: measureOf(base), b: measureOf(candidate), share }));

const shownLabels = 10;

function compareFeedback(steps: CountedStep[], options: CompareOptions): ArmDifference[] {
  const kinds = new Map<string, FeedbackTally["kind"]>(), labels = new Map<string, Map<string, number>>();
  for (const { base, candidate } of steps) {
    for (const [name, tally] of [...base.sums.feedback, ...candidate.sums.feedback]) {
      kinds.set(name, tally.kind);
      const known = labels.get(name) ?? new Map<string, number>();
      for (const [label, count] of tally.labels) known.set(label, (known.get(label) ?? 0) + count);
      labels.set(name, known);
    }
  }
  return [...kinds].sort(([a], [b]) => a < b ? -1 : 1).flatMap(([name, kind]) => {
    const tallies = stepsOf(steps, ({ sums }) => sums.feedback.get(name));
    const shares = (countOf: (tally: FeedbackTally) => number) => {
      const counted = (tally: FeedbackTally | undefined): Counted =>
        tally === undefined ? { count: 0, total: 0 } : { count: countOf(tally), total: tally.pieces };
      return shareFigures(tallies.map(({ a, b, share }) => ({ a: counted(a), b: counted(b), share })), options);
    };
    if (kind === "boolean") return [measured("feedback", shares(truesOf), name)];
    if (kind === "number") {
      return [measured("feedback", numberFigures(tallies, options.bounds.get(name), options), name)];
    }
    return [...labels.get(name)!].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1)).slice(0, shownLabels)
      .map(([label]) => measured("feedback", shares((tally) => tally.labels.get(label) ?? 0), name, label));
  });
}

const noValues: Moments = { count: 0, mean: 0, variance: 0, third: 0 };

/** Of numeric feedback. Its bounds count only if all values are within, as some may be older than the declaration. */
function numberFigures(
  tallies: { a: FeedbackTally | undefined; b: FeedbackTally | undefined; share: number }[],
  bounds: Interval | undefined,
  options: FigureOptions,
): Figures {
  const toMoments = (tally: FeedbackTally | undefined) => tally === undefined ? noValues : feedbackMoments(tally);
  const steps = tallies.map(({ a, b, share }) => ({ a: toMoments(a), b: toMoments(b), share }));
  const isWithin = ({ low, high }: Interval) =>
    tallies.flatMap(({ a, b }) => [a, b]).every((tally) =>
      tally === undefined || tally.least >= low && tally.most <= high
    );
  return bounds !== undefined && isWithin(bounds)
    ? boundedFigures(steps, bounds, options)
    : valueFigures(steps, options);
}
