// Statistics of records, by version and over time. They come from the index alone, unless a filter searches documents.
import { invalid } from "../common/errors.ts";
import type { Database } from "../database/database.ts";
import { findLogRange } from "./blocks.ts";
import { scanAll } from "./scan.ts";
import type { ScanOptions } from "./scan.ts";
import type { MeasuredRecord } from "./slices.ts";
import { addRecord, addSums, addTally, emptyPart, emptyTally } from "./tally.ts";
import type { PartTally, Tally } from "./tally.ts";

export const intervals = ["hour", "day", "week"] as const;
export type Interval = (typeof intervals)[number];

const hour = 3_600_000; // ms
const lengths: Record<Interval, number> = { hour, day: 24 * hour, week: 7 * 24 * hour };
const firstMonday = 4 * lengths.day;
const maxPoints = 10_000;

/** When the hour, the day or the week that has a time begins, in UTC. Weeks begin on Monday. */
export function startOf(interval: Interval, at: number): number {
  const length = lengths[interval], first = interval === "week" ? firstMonday : 0;
  return Math.floor((at - first) / length) * length + first;
}

/** What was counted in an hour, a day or a week, by version. */
type Point = [at: number, parts: [version: number, part: PartTally][]];

/** What was counted: by version, newest first, over all, and over time, oldest first. */
export type Counted = { versions: [version: number, tally: Tally][]; all: Tally; series: Point[] };

/** Counts the records that match. `report` gets the progress, from 0 to 1. */
export async function countRecords(
  database: Database,
  matching: ScanOptions,
  interval: Interval | undefined,
  report: (share: number) => void,
): Promise<Counted> {
  const versions = new Map<number, Tally>();
  const points = new Map<number, Map<number, PartTally>>();
  // Those of the record before. Most records share them.
  let version = NaN, createdAt = NaN, at = NaN, tally = emptyTally(), part: PartTally | undefined;

  function visit(record: MeasuredRecord): void {
    const isOther = record.version !== version;
    if (isOther) {
      version = record.version;
      tally = getOrAdd(versions, version, emptyTally);
    }
    if (interval !== undefined && (isOther || record.createdAt !== createdAt)) {
      createdAt = record.createdAt;
      const start = startOf(interval, createdAt);
      if (isOther || start !== at) {
        at = start;
        part = getOrAdd(getOrAdd(points, at, () => new Map()), version, emptyPart);
      }
    }
    addRecord(tally, part, record);
  }

  await scanAll(database, matching, await findLogRange(database, matching.filter), visit, (share) => {
    if (points.size > maxPoints) {
      throw invalid(`More than ${maxPoints} ${interval}s have records: choose a longer interval or a shorter time`);
    }
    report(share);
  });
  const series = [...points].sort(([a], [b]) => a - b).map(([at, parts]): Point => [at, [...parts]]);
  for (const [, parts] of series) for (const [version, part] of parts) addSums(versions.get(version)!.sums, part.sums);
  const all = emptyTally();
  for (const tally of versions.values()) addTally(all, tally);
  return { versions: [...versions].sort(([a], [b]) => b - a), all, series };
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const present = map.get(key);
  if (present !== undefined) return present;
  const value = create();
  map.set(key, value);
  return value;
}
