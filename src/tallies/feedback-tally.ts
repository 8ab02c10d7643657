// Counts feedback by name: means of numbers, shares of true, and frequencies of labels.
import { getOrAdd } from "../support/maps.ts";
import type { FeedbackKind, FeedbackStats } from "../schema/feedback.ts";
import { meanInterval, wilson } from "../statistics/intervals.ts";
import type { Moments } from "../statistics/intervals.ts";
import type { RecordFeedback } from "../feedback/feedback-scan.ts";
import type { Labels } from "../feedback/feedback-words.ts";

/** Tally of the feedback under a name. Booleans count as 0 and 1, and labels are numbers of feedback_words. */
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
  labels: Map<number, number>;
};

export type FeedbackTallies = Map<string, FeedbackTally>;

const noLabels = new Map<number, number>();

const emptyFeedback = (kind: FeedbackKind): FeedbackTally => ({
  ...{ kind, pieces: 0, records: 0 },
  ...{ mean: 0, squares: 0, cubes: 0, least: Infinity, most: -Infinity },
  labels: kind === "label" ? new Map() : noLabels,
});

// Roughly what a name and a label take in memory, in units of some 60 bytes.
const nameWeight = 3, labelWeight = 1;

/** Roughly how much memory tallies of feedback take, in units of some 60 bytes. */
export function weightOf(tallies: FeedbackTallies): number {
  let weight = 0;
  for (const { labels } of tallies.values()) weight += nameWeight + labelWeight * labels.size;
  return weight;
}

export const unitBytes = 60;

/** Counts the feedback on a record. Returns the weight that it adds. */
export function addFeedback(tallies: FeedbackTallies, { lists, begin, end }: RecordFeedback): number {
  const { names, nameIds, values, pieces } = lists;
  let tally: FeedbackTally | undefined, added = 0;
  for (let nth = begin; nth < end; nth++) {
    if (nth === begin || nameIds[nth] !== nameIds[nth - 1]) {
      // A name may be newer than those that were read.
      const known = names.get(nameIds[nth]!);
      tally = known && tallies.get(known.name);
      if (known !== undefined && tally === undefined) {
        tallies.set(known.name, tally = emptyFeedback(known.kind));
        added += nameWeight;
      }
      if (tally !== undefined) tally.records++;
    }
    if (tally === undefined) continue;
    if (tally.kind === "label") {
      added += addLabel(tally, values[nth]!, pieces[nth]!);
      tally.pieces += pieces[nth]!;
    } else addNumber(tally, values[nth]!, pieces[nth]!);
  }
  return added;
}

/** Adds a value that a number of pieces have. */
function addNumber(tally: FeedbackTally, value: number, pieces: number): void {
  addMoments(tally, pieces, value, 0, 0);
  tally.least = Math.min(tally.least, value);
  tally.most = Math.max(tally.most, value);
}

/** By Welford's method. Sums of powers would lose the variance of large numbers. */
function addMoments(tally: FeedbackTally, pieces: number, mean: number, squares: number, cubes: number): void {
  const all = tally.pieces + pieces, difference = mean - tally.mean;
  const square = difference ** 2 * tally.pieces * pieces / all;
  const crossed = 3 * (tally.pieces * squares - pieces * tally.squares);
  tally.cubes += cubes + difference / all * (square * (tally.pieces - pieces) + crossed);
  tally.mean += difference * pieces / all;
  tally.squares += squares + square;
  tally.pieces = all;
}

const maxLabels = 2_000; // of a name that are counted separately: clients may send any number of them
const shownLabels = 10;

/** The most frequent numbers, of equally frequent ones those that came first. */
export function mostFrequent(counts: Map<number, number>, most: number): Map<number, number> {
  if (counts.size <= most) return counts;
  // Pairs to sort would be much garbage. Of many numbers most come once.
  let repeated = 0;
  counts.forEach((count) => repeated += Number(count > 1));
  const least = repeated <= most ? 1 : Float64Array.from(counts.values()).sort()[counts.size - most]!;
  let ties = most;
  counts.forEach((count) => ties -= Number(count > least));
  const kept = new Map<number, number>();
  counts.forEach((count, number) => {
    if (count > least || count === least && ties-- > 0) kept.set(number, count);
  });
  return kept;
}

/** Returns the weight that it adds. */
function addLabel(tally: FeedbackTally, label: number, pieces: number): number {
  const known = tally.labels.get(label);
  tally.labels.set(label, (known ?? 0) + pieces);
  if (tally.labels.size > maxLabels) tally.labels = mostFrequent(tally.labels, maxLabels / 2);
  return known === undefined ? labelWeight : 0;
}

/** Keeps the most frequent labels of each name. */
export function keepLabels(tallies: FeedbackTallies, most: number): void {
  for (const tally of tallies.values()) tally.labels = mostFrequent(tally.labels, most);
}

/** Adds what was counted of other records. Returns the weight that it adds. */
export function addFeedbackTallies(tallies: FeedbackTallies, others: FeedbackTallies): number {
  let added = 0;
  for (const [name, other] of others) {
    const tally = getOrAdd(tallies, name, () => {
      added += nameWeight;
      return emptyFeedback(other.kind);
    });
    addMoments(tally, other.pieces, other.mean, other.squares, other.cubes);
    tally.least = Math.min(tally.least, other.least);
    tally.most = Math.max(tally.most, other.most);
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

/** Number of booleans that are true. */
export const truesOf = ({ pieces, mean }: FeedbackTally): number => Math.round(mean * pieces);

/** Rounds to 12 digits, the precision of a sum of many parts. */
const rounded = (value: number | null): number | null => value === null ? null : Number(value.toPrecision(12));

const maxTies = 10; // labels more whose texts tell which of them are shown

/** Converts tallies to the statistics of responses, without labels until their texts are read. */
export const toFeedbackStats = (tallies: FeedbackTallies, labels: Labels): FeedbackStats[] =>
  [...tallies].sort(([a], [b]) => a < b ? -1 : 1).map(([name, tally]) => {
    const { kind, pieces, records } = tally;
    const shareOf = (count: number) => ({ share: count / pieces, ...wilson(count, pieces) });
    const none = { mean: null, share: null, low: null, high: null };
    const { mean, share, low, high } = kind === "number"
      ? { ...none, mean: tally.mean, ...meanInterval(feedbackMoments(tally)) }
      : { ...none, ...kind === "boolean" && shareOf(truesOf(tally)) };
    const stats: FeedbackStats = {
      ...{ name, kind, pieces, records },
      ...{ mean: rounded(mean), share, low: rounded(low), high: rounded(high) },
      labels: [],
      otherLabels: kind === "label" ? pieces : 0,
    };
    if (kind === "label") requestLabels(stats, tally.labels, labels, shareOf);
    return stats;
  });

type Label = FeedbackStats["labels"][number];

/** Shows the most frequent labels, of equal ones the first by their texts. */
function requestLabels(
  stats: FeedbackStats,
  counts: Map<number, number>,
  labels: Labels,
  shareOf: (count: number) => Pick<Label, "share" | "low" | "high">,
): void {
  const ordered = [...mostFrequent(counts, shownLabels + maxTies)].sort(([, a], [, b]) => b - a);
  const least = ordered[shownLabels - 1]?.[1] ?? 0;
  const candidates = ordered.filter(([, count]) => count >= least);
  labels.request(candidates.map(([id]) => id), shownLabels, (textOf) => {
    stats.labels = candidates.flatMap(([id, pieces]): Label[] => {
      const label = textOf(id);
      return label === undefined ? [] : [{ label, pieces, ...shareOf(pieces) }];
    }).sort((a, b) => b.pieces - a.pieces || (a.label < b.label ? -1 : 1)).slice(0, shownLabels);
    stats.otherLabels = stats.labels.reduce((rest, { pieces }) => rest - pieces, stats.pieces);
  });
}
