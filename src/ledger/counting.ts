// Counts records into groups, and into parts of the time, one record or what was counted of many at a time.
import { invalid } from "../common/errors.ts";
import { getOrAdd } from "../common/maps.ts";
import { addHistogram } from "./histogram.ts";
import type { MeasuredRecord } from "./slices.ts";
import { addHistograms, addRecord, addSums, addTally, emptyPart, emptyTally } from "./tally.ts";
import type { PartTally, Tally } from "./tally.ts";

export const intervals = ["hour", "day", "week"] as const;
export type Interval = (typeof intervals)[number];

const hour = 3_600_000; // ms
const lengths: Record<Interval, number> = { hour, day: 24 * hour, week: 7 * 24 * hour };
const firstMonday = 4 * lengths.day;
const maxParts = 20_000; // some 20 MB
const maxEntries = 200_000; // names and labels of feedback in all parts, which take as much

/** When the hour, the day or the week that has a time begins, in UTC. Weeks begin on Monday. */
export function startOf(interval: Interval, at: number): number {
  const length = lengths[interval], first = interval === "week" ? firstMonday : 0;
  return Math.floor((at - first) / length) * length + first;
}

/** How to count records: by what, and in which parts of the time, if in any. `splitAt`, in Unix ms, divides one more. */
export type Division = {
  by: "version" | "deployment";
  interval?: Interval | undefined;
  splitAt?: number | undefined;
};

/** What was counted of a group in a part of the time, which begins at a time in Unix ms, or -Infinity for the first one. */
export type Part = { group: number; at: number; tally: PartTally };

/** What was counted of a version, or of a deployment, which is its place in the filter. */
export type Group = { group: number; tally: Tally; parts: Part[] };

/** What was counted by group, and over all. */
export type Counted = { groups: Group[]; all: Tally };

export type Counter = {
  visit(record: MeasuredRecord): void;
  /**
   * Adds what was counted of a version of a deployment, by days or shorter parts, which alone have the latencies. `oldest` is
   * the time of the first of these records, all of which must be on one side of `splitAt`.
   */
  add(deployment: number, version: Group, oldest: number): void;
  /** How many parts there are, of all groups. */
  countParts(): number;
  /** Throws if there are too many parts. */
  checkSize(): void;
  /** Returns what was counted. Nothing can be counted afterwards. */
  finish(): Counted;
};

export function createCounter({ by, interval, splitAt }: Division): Counter {
  const groups = new Map<number, { tally: Tally; parts: Map<number, Part> }>();
  const isDivided = interval !== undefined || splitAt !== undefined;
  let parts = 0, entries = 0;
  // Those of the record before. Most records share them.
  let group = NaN, createdAt = NaN, { tally, parts: ofGroup } = emptyGroup(), part: Part | undefined;

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
      entries += addRecord(tally, part?.tally, record);
    },
    add(deployment, version, oldest) {
      const group = by === "version" ? version.group : deployment;
      const { tally, parts: ofGroup } = getOrAdd(groups, group, emptyGroup);
      if (isDivided) addHistograms(tally, version.tally);
      else addTally(tally, version.tally);
      for (const { at, tally: added } of version.parts) {
        addHistogram(tally.latencies, added.latencies);
        if (!isDivided) continue;
        const part = partAt(group, ofGroup, startOfPart(Math.max(at, oldest)));
        entries += addSums(part.tally.sums, added.sums);
        addHistogram(part.tally.latencies, added.latencies);
      }
    },
    countParts: () => parts,
    checkSize() {
      if (interval !== undefined && (parts > maxParts || entries > maxEntries)) {
        throw invalid(`The series have more than ${maxParts} points: choose a longer interval or a shorter time`);
      }
    },
    finish() {
      const all = emptyTally();
      for (const { tally, parts } of groups.values()) {
        for (const part of parts.values()) addSums(tally.sums, part.tally.sums);
        addTally(all, tally);
      }
      return {
        groups: Array.from(groups, ([group, { tally, parts }]) => ({ group, tally, parts: [...parts.values()] })),
        all,
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
