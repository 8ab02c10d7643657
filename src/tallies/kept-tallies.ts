// Cached tallies of parts of the log, which leave only changed parts to read again. They are valid until a record of
// the part changes, or feedback on one, which the table changed_blocks counts. Their keys contain everything else that
// they depend on.
import { createCache } from "../common/cache.ts";
import type { Cache } from "../common/cache.ts";
import { sha256 } from "../common/ids.ts";
import type { Database } from "../database/database.ts";
import { integer, text } from "../database/row.ts";
import { endOfTick } from "../database/yielding.ts";
import type { LogRange, TimeRange } from "../ledger/blocks.ts";
import { createCounter } from "./counting.ts";
import type { Counter, Division, Group, Interval } from "./counting.ts";
import { emptyHistogram } from "../statistics/histogram.ts";
import { unknownModel } from "../statistics/pricing.ts";
import { scanAll } from "../log/scan.ts";
import type { ScanOptions } from "../log/scan.ts";
import type { MeasuredRecord } from "../log/slices.ts";
import { bytesOf, packedPart, packedTally } from "./tally.ts";

/**
 * Tallies of a deployment in a part of the log in some state, and the times of its oldest and newest record, in Unix
 * ms.
 */
type CountedPart = { state: string; oldest: number; newest: number; versions: Group[]; bytes: number };

/**
 * `length` is that of a part, in positions, a multiple of 256. A part with more tallies than `maxTallies` is not
 * cached.
 */
type Limits = { length: number; maxTallies: number; maxBytes: number };
export type KeptTallies = Limits & { parts: Cache<CountedPart> };

const usualLimits: Limits = {
  length: 16384, // To read them takes some 30 ms
  maxTallies: 1024, // some 1 MB. Counting fewer than 16 records for each again takes little longer
  maxBytes: 32 * 1024 * 1024, // some 2 million records. With more, the part read last is read again
};
const maxDeployments = 256; // that are counted separately
const partsAtOnce = 8; // that are counted in one pass
const tallyWeight = 16; // of feedback, which takes as much memory as a tally

export function createKeptTallies(given: Partial<Limits> = {}): KeptTallies {
  const limits = { ...usualLimits, ...given };
  return { ...limits, parts: createCache(limits.maxBytes) };
}

/** True if tallies of these records are cached. The filter may have only versions and times. */
export function isKept({ filter, reads }: ScanOptions): boolean {
  const { deployIds, promptVersions: _versions, from: _from, to: _to, ...others } = filter;
  return deployIds.length <= maxDeployments && Object.values(others).every((value) => value === undefined) &&
    !reads?.keys && !reads?.sessions && !reads?.voices;
}

/**
 * Counts the records of a range like a scan of it. Scans what follows the last whole part of the log, parts that a time
 * limit divides, and parts with too many tallies.
 */
export async function countKept(
  database: Database,
  kept: KeptTallies,
  { matching, division, range }: { matching: ScanOptions; division: Division; range: LogRange },
  counter: Counter,
  report: (share: number) => void,
): Promise<void> {
  const { length } = kept, { filter } = matching;
  const first = Math.floor(range.first / length), end = Math.floor(range.end / length);
  const scan = (from: number, to: number, report?: (share: number) => void) =>
    scanAll(database, matching, { first: Math.max(from, range.first), end: to }, counter.visit, report);
  if (first >= end) return await scan(range.first, range.end, report);
  const reportFrom = (from: number, to: number) => (share: number) =>
    report((from + share * (to - from) - first * length) / (range.end - first * length));
  const parts = await openParts(database, kept, matching, division.interval === "hour" ? "hour" : "day", {
    first,
    end,
  });
  for (let part = first; part < end;) {
    const found = parts.find(part);
    let next = part + 1;
    while (found === undefined && next < Math.min(end, part + partsAtOnce) && parts.find(next) === undefined) next++;
    const reportCounted = reportFrom(part * length, next * length);
    if (found !== undefined) parts.hold(found);
    const counted = found === undefined ? await parts.count({ first: part, end: next }, reportCounted) : [found];
    for (; part < next; part++) {
      const ofDeployments = counted.shift()!;
      if (ofDeployments === "crowded" || ofDeployments.some((each) => isDivided(each, filter, division))) {
        await scan(part * length, (part + 1) * length, counter.checkSize);
      } else addPart(counter, ofDeployments, filter);
    }
    reportCounted(1);
    await endOfTick();
  }
  await scan(end * length, range.end, reportFrom(end * length, range.end));
}

/** Opens some parts of the log. Each is counted by version and interval for each deployment, in their order. */
async function openParts(
  database: Database,
  { length, maxTallies, maxBytes, parts }: KeptTallies,
  matching: ScanOptions,
  interval: Interval,
  range: LogRange,
) {
  const { filter: { deployIds }, costing, failures = [], reads } = matching;
  const names = [...reads?.feedback?.names ?? []];
  const view = await sha256(JSON.stringify([costing.prices, [...failures], names, interval]));
  const keysOf = (part: number) => deployIds.map((deployId) => `${view} ${deployId} ${part}`);
  // Marks that these deployments together have too many tallies. Each may have few.
  const all = await sha256(deployIds.join()), crowdedKeyOf = (part: number) => `${view} ${all} ${part}`;
  // States are read before the records: a part that changes in between is counted again the next time.
  const states = await readStates(database, range, length);
  // Bytes found and cached for this call. It must not evict its own parts: if all are read in turn, none would be found
  // the next time.
  let held = 0;
  function keep(key: string, counted: CountedPart): void {
    if (held + counted.bytes > maxBytes) return;
    held += counted.bytes;
    parts.set(key, counted, counted.bytes);
  }
  return {
    /** The cached tallies of a part, if they are still valid. */
    find(part: number): CountedPart[] | "crowded" | undefined {
      const isSame = (each: CountedPart | undefined) => each?.state === states.get(part);
      if (isSame(parts.get(crowdedKeyOf(part)))) return "crowded";
      const found = keysOf(part).map((key) => parts.get(key));
      return found.every(isSame) ? found as CountedPart[] : undefined;
    },
    /** Counts found tallies as in use. */
    hold(found: CountedPart[] | "crowded"): void {
      held += found === "crowded" ? partBytes : found.reduce((bytes, each) => bytes + each.bytes, 0);
    },
    /** Counts parts, and caches the tallies. */
    async count({ first, end }: LogRange, report: (share: number) => void): Promise<(CountedPart[] | "crowded")[]> {
      const tallies = Array.from({ length: end - first }, () => 0);
      const counters = tallies.map(() => deployIds.map(() => createPartCounter(interval)));
      const visit = (record: MeasuredRecord) => {
        const nth = Math.floor(record.position / length) - first;
        if (tallies[nth]! > maxTallies) return;
        tallies[nth]! += counters[nth]![record.deployment]!.visit(record);
        if (tallies[nth]! > maxTallies) counters[nth] = [];
      };
      const unlimited = { ...matching, filter: { deployIds } };
      await scanAll(database, unlimited, { first: first * length, end: end * length }, visit, report);
      return counters.map((ofDeployments, nth) => {
        const part = first + nth, keys = keysOf(part);
        if (tallies[nth]! > maxTallies) {
          const none = { oldest: Infinity, newest: -Infinity, versions: [], bytes: partBytes };
          keep(crowdedKeyOf(part), { state: states.get(part)!, ...none });
          return "crowded";
        }
        return ofDeployments.map((counter, deployment) => {
          const counted = counter.finish(states.get(part)!);
          const isKnown = ({ group }: Group) => costing.modelOf(deployment, group) !== unknownModel;
          // A version may have been published since the models were read.
          if (counted.versions.every(isKnown)) keep(keys[deployment]!, counted);
          return counted;
        });
      });
    },
  };
}

/**
 * The states of some parts: how often their records, or feedback on them, were changed, and the newest commit. After a
 * restore from a backup, a different commit may have the positions of one that was lost.
 */
async function readStates(database: Database, { first, end }: LogRange, length: number): Promise<Map<number, string>> {
  const rows = await database.read({
    sql: `with recursive part(number) as (select :first union all select number + 1 from part where number + 1 < :end)
      select number, coalesce((
        select sum(changes) from changed_blocks b
        where b.number >= part.number * :length >> 8 and b.number < (part.number + 1) * :length >> 8
      ), 0) || ' ' || coalesce((
        select id from commits where position < (part.number + 1) * :length order by position desc limit 1
      ), '') as state from part`,
    args: { length, first, end },
  });
  return new Map(rows.map((row) => [integer(row, "number"), text(row, "state")]));
}

function createPartCounter(interval: Interval) {
  const counter = createCounter({ by: "version", interval });
  const size = () => counter.countParts() + counter.weight() / tallyWeight;
  let oldest = Infinity, newest = -Infinity;
  return {
    /** Returns how many tallies it adds, or as much feedback. */
    visit(record: MeasuredRecord): number {
      const before = size();
      oldest = Math.min(oldest, record.createdAt);
      newest = Math.max(newest, record.createdAt);
      counter.visit(record);
      return size() - before;
    },
    finish(state: string): CountedPart {
      const versions = counter.finish().groups.map(({ group, tally, parts }) => ({
        group,
        // Its latencies are those of the parts.
        tally: packedTally({ ...tally, latencies: emptyHistogram() }),
        parts: parts.map(({ group, at, tally }) => ({ group, at, tally: packedPart(tally) })),
      }));
      return { state, oldest, newest, versions, bytes: bytesOfVersions(versions) };
    },
  };
}

const isDivided = ({ oldest, newest }: CountedPart, { from, to }: TimeRange, { splitAt }: Division): boolean =>
  [from, to, splitAt].some((at) => at !== undefined && oldest < at && at <= newest);

/** Adds the tallies of a part that no time limit divides. */
function addPart(counter: Counter, ofDeployments: CountedPart[], { promptVersions, from, to }: ScanOptions["filter"]) {
  for (const [deployment, { oldest, newest, versions }] of ofDeployments.entries()) {
    if (newest < (from ?? -Infinity) || oldest >= (to ?? Infinity)) continue;
    for (const version of versions) {
      if (promptVersions?.includes(version.group) ?? true) counter.add(deployment, version, oldest);
    }
  }
}

const partBytes = 500;

const bytesOfVersions = (versions: Group[]): number =>
  versions.flatMap(({ tally, parts }) => [tally, ...parts.map(({ tally }) => tally)])
    .reduce((bytes, tally) => bytes + bytesOf(tally), partBytes);
