// What records of simulated rollouts have: values that are tame, and values whose mean hangs on a few rare ones.
import { boundedFigures, ratioFigures, valueFigures } from "../../src/statistics/difference-figures.ts";
import type { FigureOptions, Figures } from "../../src/statistics/difference-figures.ts";
import type { Measure } from "../../src/tallies/arm-differences.ts";
import type { SharedStep } from "../../src/statistics/mean-difference.ts";
import type { Interval } from "../../src/statistics/intervals.ts";
import { latencyBucket, latencyOf } from "../../src/statistics/histogram.ts";

type Random = () => number;
export type Draw = (random: Random, isCandidate: boolean) => number;

export type Distribution = {
  what: string;
  measure: Measure["measure"];
  /** Of feedback, or null. */
  name: string | null;
  draw: Draw;
  /** As the service compares it. */
  compare(steps: SharedStep[], options: FigureOptions): Figures;
};

const normalFrom = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

const logNormal = (random: Random, median: number, deviation: number) =>
  median * Math.exp(deviation * normalFrom(random));

/** A part of the values is drawn in another way. */
const mixed = (part: number, rare: Draw, others: Draw): Draw => (random, isCandidate) =>
  random() < part ? rare(random, isCandidate) : others(random, isCandidate);
const always = (value: number): Draw => () => value;

const logLatency = (latency: number) => Math.log1p(latencyOf(latencyBucket(latency)));

/** Compared on the log scale. Numbers below 10,000 have a bucket each. */
const ofLogs = (measure: "latency" | "tokens" | "cost", what: string, draw: Draw): Distribution => ({
  ...{ what: `${measure}${what}`, measure, name: null, compare: ratioFigures },
  draw: measure === "latency"
    ? (random, isCandidate) => logLatency(draw(random, isCandidate))
    : (random, isCandidate) => Math.log1p(Math.round(draw(random, isCandidate))),
});

const unit: Interval = { low: 0, high: 1 };

/** With the bounds that the name declares, or none. */
const ofScores = (what: string, draw: Draw, bounds?: Interval): Distribution => ({
  ...{ measure: "feedback", name: "score", draw },
  what: bounds === undefined ? what : `${what}, declared ${bounds.low} to ${bounds.high}`,
  compare: bounds === undefined ? valueFigures : (steps, options) => boundedFigures(steps, bounds, options),
});

/** Log-normal latencies in ms. The candidate's are `ratio` times those of the base. */
export const logNormalLatency = (ratio: number): Draw => (random, isCandidate) =>
  logNormal(random, isCandidate ? 800 * ratio : 800, 0.8);

/** Latencies of which many are alike. */
export const steppedLatency = (ratio: number): Draw => (random, isCandidate) =>
  (isCandidate ? ratio : 1) * 100 * (1 + Number(random() < 0.2) + Number(random() < 0.2));

/** Log-normal latencies, of which some time out. */
export const latencies = (ratio = 1, timeouts = 0): Distribution =>
  ofLogs("latency", "", mixed(timeouts, always(60_000), logNormalLatency(ratio)));

/** Scores from 0 to 1 with these means, of a name that declares so, or does not. */
export function scores(means: [base: number, candidate: number], isDeclared: boolean): Distribution {
  const [ofBase, ofCandidate] = means.map((mean) => (1 - mean) / mean) as [number, number];
  return ofScores(
    `score ${[...new Set(means)].join(" and ")}`,
    (random, isCandidate) => random() ** (isCandidate ? ofCandidate : ofBase),
    isDeclared ? unit : undefined,
  );
}

const mostlyOne = (zeros: number): Draw => mixed(zeros, always(0), always(1));
const mostlyZero = (ones: number): Draw => mixed(ones, always(1), always(0));

/** Equal versions whose values are skewed. */
export const skewed: Distribution[] = [
  ...[0.02, 0.005].flatMap((part) => [
    ofScores(`scores of 1, ${100 * part} % of 0`, mostlyOne(part)),
    ofScores(`scores of 1, ${100 * part} % of 0`, mostlyOne(part), unit),
  ]),
  ofScores("scores of 0, 2 % of 1", mostlyZero(0.02)),
  ofScores("scores of 0, 2 % of 1", mostlyZero(0.02), unit),
  ofScores("stars, mostly 5", (random) => Math.max(1, 5 - Math.floor(-1.2 * Math.log(1 - random()))), {
    low: 1,
    high: 5,
  }),
  ofScores("amounts, 3 % not 0", mixed(0.03, (random) => logNormal(random, 50, 1), always(0))),
  ofLogs("latency", ", 5 % cached", mixed(0.05, always(5), (random) => logNormal(random, 800, 0.3))),
  ofLogs("latency", ", 2 % at 60 s", mixed(0.02, always(60_000), (random) => logNormal(random, 800, 0.3))),
  ofLogs("tokens", ", 3 % long", mixed(0.03, always(8_000), (random) => logNormal(random, 300, 0.2))),
  ofLogs("tokens", " of 50, 1 % of 4,000", mixed(0.01, always(4_000), always(50))),
  ofLogs("cost", ", 10 % free", mixed(0.1, always(0), (random) => logNormal(random, 2_000, 0.5))),
];
