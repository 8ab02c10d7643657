// Differences between the arms of a rollout, measure by measure: the difference, its interval at one time, and its
// sequence, which stays valid under repeated looks. Each step of the share is compared separately, because the base
// rate may have moved.
import type { CountedStep } from "./arms.ts";
import {
  boundedFigures,
  percentileFigures,
  ratioFigures,
  shareFigures,
  valueFigures,
} from "../statistics/difference-figures.ts";
import type { FigureOptions, Figures } from "../statistics/difference-figures.ts";
import { addFeedbackTallies, feedbackMoments, mostFrequent, truesOf } from "./feedback-tally.ts";
import type { FeedbackTallies, FeedbackTally } from "./feedback-tally.ts";
import type { Labels } from "../feedback/feedback-words.ts";
import { latencyOf, numberOf } from "../statistics/histogram.ts";
import type { Histogram } from "../statistics/histogram.ts";
import type { Counted, Interval, Moments } from "../statistics/intervals.ts";
import { momentsOf } from "./summary.ts";
import type { Tally } from "./tally.ts";

/** The measure to compare. `name` is that of feedback, and `label` one of its labels. */
export type Measure = {
  measure: "failures" | "latency" | "p95" | "tokens" | "cost" | "feedback";
  name: string | null;
  label: string | null;
};

export type ArmDifference = Measure & Figures;

export type CompareOptions = FigureOptions & {
  hasFailures: boolean;
  /** The bounds of numeric feedback, by its name. */
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

/** Compares what was counted of both arms. Labels are empty until their texts are read. */
export function compareArms(steps: CountedStep[], options: CompareOptions, labels: Labels): ArmDifference[] {
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
    // In millionths of a USD, which makes the 1 in log(1 + x) negligible.
    measured("cost", logMeans(({ costs }) => costs, (bucket) => Math.log1p(1e6 * numberOf(bucket)))),
    ...compareFeedback(steps, options, labels),
  ];
}

/** A measure's tallies in each step. */
const stepsOf = <T>(steps: CountedStep[], measureOf: (tally: Tally) => T): { a: T; b: T; share: number }[] =>
  steps.map(({ base, candidate, share }) => ({ a: measureOf(base), b: measureOf(candidate), share }));

const shownLabels = 10;
const maxCompared = 100; // values of feedback, each of which takes some 0.1 ms

function compareFeedback(steps: CountedStep[], options: CompareOptions, labels: Labels): ArmDifference[] {
  const all: FeedbackTallies = new Map();
  for (const { base, candidate } of steps) {
    for (const { sums } of [base, candidate]) addFeedbackTallies(all, sums.feedback);
  }
  return compared(all).sort(([a], [b]) => a < b ? -1 : 1).flatMap(([name, { kind, labels: counts }]) => {
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
    return [...mostFrequent(counts, shownLabels)].sort(([, a], [, b]) => b - a).map(([id]) => {
      const difference = measured("feedback", shares((tally) => tally.labels.get(id) ?? 0), name, "");
      labels.request([id], 1, (textOf) => difference.label = textOf(id) ?? "");
      return difference;
    });
  });
}

/** The names with the most feedback, as far as all of their values can be compared. */
function compared(all: FeedbackTallies): [name: string, FeedbackTally][] {
  let values = 0;
  return [...all].sort(([a, one], [b, other]) => other.pieces - one.pieces || (a < b ? -1 : 1))
    .filter(([, { kind, labels }]) =>
      (values += kind === "label" ? Math.min(labels.size, shownLabels) : 1) <= maxCompared
    );
}

const noValues: Moments = { count: 0, mean: 0, variance: 0, third: 0 };

/**
 * Figures of numeric feedback. Its bounds count only if all values are within, as some may be older than the
 * declaration.
 */
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
