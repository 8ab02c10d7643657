// Counts records into groups, and into parts of the time, one record or what was counted of many at a time.
import { invalidField } from "../common/errors.ts";
import { getOrAdd } from "../support/maps.ts";
import { createFeedbackBound } from "./feedback-bound.ts";
import { noFeedback } from "../feedback/feedback-scan.ts";
import { addFeedback, addFeedbackTallies } from "./feedback-tally.ts";
import type { FeedbackTallies } from "./feedback-tally.ts";
import { addHistogram } from "../statistics/histogram.ts";
import type { MeasuredRecord } from "../log/slices.ts";
import { addHistograms, addRecord, addSums, addTally, emptyPart, emptyTally } from "./tally.ts";
import type { PartTally, Sums, Tally } from "./tally.ts";

export const intervals = ["hour", "day", "week"] as const;
export type Interval = (typeof intervals)[number];

const hour = 3_600_000; // ms
const lengths: Record<Interval, number> = { hour, day: 24 * hour, week: 7 * 24 * hour };
const firstMonday = 4 * lengths.day;
const maxParts = 20_000; // some 20 MB

/** Start of the hour, day or week that contains a time, in UTC. Weeks begin on Monday. */
export function startOf(interval: Interval, at: number): number {
  const length = lengths[interval], first = interval === "week" ? firstMonday : 0;
  return Math.floor((at - first) / length) * length + first;
}

/** Grouping of records, and the parts of the time, if any. `splitAt`, in Unix ms, splits a part in two. */
export type Division = {
  by: "version" | "deployment";
  interval?: Interval | undefined;
  splitAt?: number | undefined;
};

/** The tally of a group in a part of the time. `at` is the start in Unix ms, or -Infinity for the first part. */
export type Part = { group: number; at: number; tally: PartTally };

/** The tally of a version, or of a deployment by its place in the filter. */
export type Group = { group: number; tally: Tally; parts: Part[] };

/** Tallies by group and in total. Only `all` has feedback if it `isCrowded`: if it has too many names. */
export type Counted = { groups: Group[]; all: Tally; isCrowded: boolean };

export type Counter = {
  visit(record: MeasuredRecord): void;
  /**
   * Adds the tally of a version of a deployment, in parts of at most a day, which alone have the latencies. `oldest` is
   * the time of the first of these records, all of which must be on one side of `splitAt`.
   */
  add(deployment: number, version: Group, oldest: number): void;
  /** Number of parts of all groups. */
  countParts(): number;
  /** The weight of the feedback in all groups and parts. */
  weight(): number;
  /** Throws if there are too many parts. */
  checkSize(): void;
  /** Returns the tallies. Nothing can be counted afterwards. */
  finish(): Counted;
};

export function createCounter({ by, interval, splitAt }: Division): Counter {
  const groups = new Map<number, { tally: Tally; parts: Map<number, Part> }>();
  const isDivided = interval !== undefined || splitAt !== undefined;
  let parts = 0;
  // All feedback, once there is too much to count it by group and part.
  let crowd: FeedbackTallies | undefined;
  let bound = createFeedbackBound(() => Array.from(allSums(), ({ feedback }) => feedback));
  // Group, time and part of the previous record. Most records share them.
  let group = NaN, createdAt = NaN, { tally, parts: ofGroup } = emptyGroup(), part: Part | undefined;

  function* allSums(): Iterable<Sums> {
    for (const { tally, parts } of groups.values()) {
      yield tally.sums;
      for (const { tally } of parts.values()) yield tally.sums;
    }
  }

  function addWeight(weight: number): void {
    if (weight === 0 || bound.add(weight) || crowd !== undefined) return;
    const all: FeedbackTallies = crowd = new Map();
    bound = createFeedbackBound(() => [all]);
    for (const sums of allSums()) {
      bound.add(addFeedbackTallies(all, sums.feedback));
      sums.feedback = new Map();
    }
  }

  function startOfPart(at: number): number {
    const start = interval === undefined ? -Infinity : startOf(interval, at);
    return splitAt !== undefined && at >= splitAt ? Math.max(start, splitAt) : start;
  }

  const partAt = (group: number, ofGroup: Map<number, Part>, at: number): Part =>
    getOrAdd(ofGroup, at, () => {
      parts++;
      return { group, at, tally: emptyPart() };
    });

  return {
    visit(record) {
      const isOther = record[by] !== group;
      if (isOther) {
        group = record[by];
        ({ tally, parts: ofGroup } = getOrAdd(groups, group, emptyGroup));
      }
      if (isDivided && (isOther || record.createdAt !== createdAt)) {
        createdAt = record.createdAt;
        const at = startOfPart(createdAt);
        if (isOther || at !== part?.at) part = partAt(group, ofGroup, at);
      }
      if (crowd !== undefined) {
        addWeight(addFeedback(crowd, record.feedback));
        record.feedback = noFeedback;
      }
      addWeight(addRecord(tally, part?.tally, record));
    },
    add(deployment, version, oldest) {
      const group = by === "version" ? version.group : deployment;
      const { tally, parts: ofGroup } = getOrAdd(groups, group, emptyGroup);
      const take = ({ feedback, ...sums }: Sums): Sums => {
        if (crowd !== undefined) addWeight(addFeedbackTallies(crowd, feedback));
        return { ...sums, feedback: crowd === undefined ? feedback : new Map() };
      };
      if (isDivided) addHistograms(tally, version.tally);
      else addWeight(addTally(tally, { ...version.tally, sums: take(version.tally.sums) }));
      for (const { at, tally: added } of version.parts) {
        addHistogram(tally.latencies, added.latencies);
        if (!isDivided) continue;
        const part = partAt(group, ofGroup, startOfPart(Math.max(at, oldest)));
        addWeight(addSums(part.tally.sums, take(added.sums)));
        addHistogram(part.tally.latencies, added.latencies);
      }
    },
    countParts: () => parts,
    weight: () => bound.weight(),
    checkSize() {
      if (interval !== undefined && parts > maxParts) {
        throw invalidField(
          "interval",
          `The series have more than ${maxParts} points: choose a longer interval or a shorter time`,
        );
      }
    },
    finish() {
      const all = emptyTally();
      for (const { tally, parts } of groups.values()) {
        for (const part of parts.values()) addSums(tally.sums, part.tally.sums);
        addTally(all, tally);
      }
      if (crowd !== undefined) all.sums.feedback = crowd;
      return {
        groups: Array.from(groups, ([group, { tally, parts }]) => ({ group, tally, parts: [...parts.values()] })),
        all,
        isCrowded: crowd !== undefined,
      };
    },
  };
}

const emptyGroup = () => ({ tally: emptyTally(), parts: new Map<number, Part>() });

/** The parts of each hour, day or week, oldest first. */
export function seriesOf(parts: Part[], interval: Interval | undefined): [at: number, parts: Part[]][] {
  if (interval === undefined) return [];
  const points = new Map<number, Part[]>();
  for (const part of parts) getOrAdd(points, startOf(interval, part.at), (): Part[] => []).push(part);
  return [...points].sort(([a], [b]) => a - b);
}
