// Counts feedback by its names: means of numbers, shares of true, and how frequent labels are.
import { getOrAdd } from "../common/maps.ts";
import { kindOf } from "../schema/feedback.ts";
import type { FeedbackKind, FeedbackStats } from "../schema/feedback.ts";
import { meanInterval, wilson } from "./intervals.ts";
import type { Moments } from "./intervals.ts";
import type { SlicePiece } from "./feedback-scan.ts";

/** What was counted of a name. The values of booleans are 0 and 1. */
export type FeedbackTally = {
  kind: FeedbackKind;
  pieces: number;
  records: number;
  mean: number;
  /** The sums of the squared and of the cubed differences from the mean. */
  squares: number;
  cubes: number;
  least: number;
  most: number;
  labels: Map<string, number>;
};

export type FeedbackTallies = Map<string, FeedbackTally>;

const emptyFeedback = (kind: FeedbackKind): FeedbackTally => ({
  ...{ kind, pieces: 0, records: 0 },
  ...{ mean: 0, squares: 0, cubes: 0, least: Infinity, most: -Infinity, labels: new Map() },
});

/** Counts the feedback on a record. Returns how many names and labels it is the first of. */
export function addFeedback(tallies: FeedbackTallies, pieces: readonly SlicePiece[]): number {
  let name = "", added = 0;
  for (const piece of pieces) {
    const { value } = piece;
    let tally = tallies.get(piece.name);
    if (tally === undefined) {
      tallies.set(piece.name, tally = emptyFeedback(kindOf(value)));
      added++;
    }
    // Those of a name follow one another.
    if (piece.name !== name) tally.records++;
    name = piece.name;
    tally.pieces++;
    if (typeof value === "string") added += addLabel(tally, value, 1);
    else addNumber(tally, Number(value));
  }
  return added;
}

/** By Welford's method. Sums of powers would lose the variance of large numbers. */
function addNumber(tally: FeedbackTally, value: number): void {
  const { pieces } = tally, difference = value - tally.mean, step = difference / pieces;
  const square = difference * step * (pieces - 1);
  tally.mean += step;
  tally.cubes += step * (square * (pieces - 2) - 3 * tally.squares);
  tally.squares += square;
  tally.least = Math.min(tally.least, value);
  tally.most = Math.max(tally.most, value);
}

const maxLabels = 2_000; // of a name that are counted separately: clients may send any number of them
const shownLabels = 10;

/** The most frequent labels. */
const mostFrequent = (labels: Map<string, number>, count: number): [label: string, pieces: number][] =>
  [...labels].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1)).slice(0, count);

/** Returns how many labels it adds: 0 or 1. */
function addLabel(tally: FeedbackTally, label: string, pieces: number): number {
  const known = tally.labels.get(label);
  tally.labels.set(label, (known ?? 0) + pieces);
  if (tally.labels.size > maxLabels) tally.labels = new Map(mostFrequent(tally.labels, maxLabels / 2));
  return Number(known === undefined);
}

/** Adds what was counted of other records. Returns how many names and labels these are the first of. */
export function addFeedbackTallies(tallies: FeedbackTallies, others: FeedbackTallies): number {
  let added = 0;
  for (const [name, other] of others) {
    const tally = getOrAdd(tallies, name, () => {
      added++;
      return emptyFeedback(other.kind);
    });
    const pieces = tally.pieces + other.pieces, difference = other.mean - tally.mean;
    const square = difference ** 2 * tally.pieces * other.pieces / pieces;
    const crossed = 3 * (tally.pieces * other.squares - other.pieces * tally.squares);
    tally.cubes += other.cubes + difference / pieces * (square * (tally.pieces - other.pieces) + crossed);
    tally.mean += difference * other.pieces / pieces;
    tally.squares += other.squares + square;
    tally.least = Math.min(tally.least, other.least);
    tally.most = Math.max(tally.most, other.most);
    tally.pieces = pieces;
    tally.records += other.records;
    for (const [label, count] of other.labels) added += addLabel(tally, label, count);
  }
  return added;
}

export const feedbackMoments = ({ pieces, mean, squares, cubes }: FeedbackTally): Moments => ({
  count: pieces,
  mean,
  variance: pieces < 2 ? 0 : squares / (pieces - 1),
  third: cubes / pieces,
});

/** How many booleans are true. */
export const truesOf = ({ pieces, mean }: FeedbackTally): number => Math.round(mean * pieces);

/** As precise as a sum of many parts is. */
const rounded = (value: number | null): number | null => value === null ? null : Number(value.toPrecision(12));

/** What was counted, as responses have it. */
export const toFeedbackStats = (tallies: FeedbackTallies): FeedbackStats[] =>
  [...tallies].sort(([a], [b]) => a < b ? -1 : 1).map(([name, tally]) => {
    const { kind, pieces, records } = tally;
    const shareOf = (count: number) => ({ share: count / pieces, ...wilson(count, pieces) });
    const labels = mostFrequent(tally.labels, shownLabels);
    const none = { mean: null, share: null, low: null, high: null };
    const { mean, share, low, high } = kind === "number"
      ? { ...none, mean: tally.mean, ...meanInterval(feedbackMoments(tally)) }
      : { ...none, ...kind === "boolean" && shareOf(truesOf(tally)) };
    return {
      ...{ name, kind, pieces, records },
      ...{ mean: rounded(mean), share, low: rounded(low), high: rounded(high) },
      labels: labels.map(([label, count]) => ({ label, pieces: count, ...shareOf(count) })),
      otherLabels: kind === "label" ? labels.reduce((rest, [, count]) => rest - count, pieces) : 0,
    };
  });
