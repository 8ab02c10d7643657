// Statistics of records, by version and over time. They come from the index alone, unless a filter searches documents.
import { invalid } from "../common/errors.ts";
import type { Database } from "../database/database.ts";
import { findLogRange } from "./blocks.ts";
import { scan } from "./scan.ts";
import type { ScanOptions } from "./scan.ts";
import { addRecord, addTally, addToPoint, emptyPoint, emptyTally } from "./tally.ts";
import type { PointTally, Tally } from "./tally.ts";

const sliceLength = 4_096; // positions that one query scans: 5 ms, in which nothing else runs

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

/** What was counted: by version, newest first, over all, and over time, oldest first. */
export type Counted = { versions: [version: number, tally: Tally][]; all: Tally; series: PointTally[] };

/** Counts the records that match. `report` gets the progress, from 0 to 1. */
export async function countRecords(
  database: Database,
  matching: ScanOptions,
  interval: Interval | undefined,
  report: (share: number) => void,
): Promise<Counted> {
  const versions = new Map<number, Tally>();
  const points = new Map<number, PointTally>();
  const whole = await findLogRange(database, matching.filter);
  for (let { first } = whole; first < whole.end; first += sliceLength) {
    const range = { first, end: Math.min(first + sliceLength, whole.end) };
    let version = 0, tally: Tally | undefined, point: PointTally | undefined;
    await scan(database, matching, range, (record) => {
      if (tally === undefined || record.version !== version) {
        version = record.version;
        tally = versions.get(version) ?? emptyTally();
        versions.set(version, tally);
      }
      addRecord(tally, record);
      if (interval === undefined) return;
      const at = startOf(interval, record.createdAt);
      if (point?.at !== at) {
        point = points.get(at) ?? emptyPoint(at);
        points.set(at, point);
      }
      addToPoint(point, record);
    });
    if (points.size > maxPoints) {
      throw invalid(`More than ${maxPoints} ${interval}s have records: choose a longer interval or a shorter time`);
    }
    report((range.end - whole.first) / (whole.end - whole.first));
  }
  const all = emptyTally();
  for (const tally of versions.values()) addTally(all, tally);
  return {
    versions: [...versions].sort(([a], [b]) => b - a),
    all,
    series: [...points.values()].sort((a, b) => a.at - b.at),
  };
}
