// Statistics of a deployment's records. They come from the index alone, which gives a million records in half a second.
import type { DeploymentId } from "../common/ids.ts";
import type { VersionStats } from "../schema/ledger.ts";
import { blocksOfRange, findLogRange, inTime } from "./blocks.ts";
import type { LogRange, TimeRange } from "./blocks.ts";
import type { Database } from "../database/database.ts";
import { integerOrNull, textOrNull } from "../database/row.ts";

const sliceLength = 4_096; // positions that one query scans: 5 ms, in which nothing else runs

/** Which records of a deployment to count. */
export type StatsFilter = TimeRange & { deployId: DeploymentId; promptVersion?: number | undefined };

/** Statistics of each version that has records, newest first. `report` gets the progress, from 0 to 1. */
export async function findStats(
  database: Database,
  filter: StatsFilter,
  report: (share: number) => void,
): Promise<VersionStats[]> {
  const versions = new Map<number, Tally>();
  const whole = await findLogRange(database, filter);
  for (let { first } = whole; first < whole.end; first += sliceLength) {
    const range = { first, end: Math.min(first + sliceLength, whole.end) };
    const numbers = await readNumbers(database, filter, range);
    addRecords(versions, numbers);
    report((range.end - whole.first) / (whole.end - whole.first));
  }
  return [...versions].sort(([a], [b]) => b - a).map(([version, tally]) => toStats(version, tally));
}

/** Reads five numbers of each record, in a flat list: version, status, latency, prompt tokens and completion tokens. */
async function readNumbers(
  database: Database,
  { deployId, promptVersion, from, to }: StatsFilter,
  range: LogRange,
): Promise<(number | null)[]> {
  const isInTime = await isWithin(database, { from, to }, range);
  const sql = `${blocksOfRange}
    -- This expression is a column of the index.
    select group_concat(r.prompt_version || ',' || r.status || ',' || r.measures) as numbers
    from block cross join diagnoses r on r.position >> 8 = block.number and r.deployment_id = :deployId
      and r.position >= :first and r.position < :end
      ${promptVersion === undefined ? "" : "and r.prompt_version = :promptVersion"}
      ${isInTime ? "" : `and ${inTime({ from, to }, "r.position")}`}`;
  const optional = { ...(promptVersion === undefined ? {} : { promptVersion }) };
  const times = isInTime ? {} : { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  const [row] = await database.read({ sql, args: { deployId, ...range, ...optional, ...times } });
  return JSON.parse(`[${textOrNull(row!, "numbers") ?? ""}]`);
}

/** Whether all of a range lies in a time range, so that its records need no check one by one. */
async function isWithin(database: Database, { from, to }: TimeRange, { first, end }: LogRange): Promise<boolean> {
  if (from === undefined && to === undefined) return true;
  const [row] = await database.read({
    sql: `select min(created_at) as earliest, max(created_at) as latest from commits
      where position >= (select max(position) from commits where position <= :first) and position < :end`,
    args: { first, end },
  });
  const earliest = integerOrNull(row!, "earliest");
  const latest = integerOrNull(row!, "latest");
  return earliest !== null && latest !== null && earliest >= (from ?? 0) && latest < (to ?? Infinity);
}

/** Counts of a version's records, which take no more memory for more records. */
type Tally = {
  records: number;
  statuses: Map<number, number>;
  /** By the number of the latency's bucket. */
  latencies: Map<number, number>;
  measured: number;
  tokens: { records: number; prompt: number; completion: number };
};

const emptyTally = (): Tally => ({
  records: 0,
  statuses: new Map(),
  latencies: new Map(),
  measured: 0,
  tokens: { records: 0, prompt: 0, completion: 0 },
});

/** Counts records, which have five numbers each, and some an array behind them. */
function addRecords(versions: Map<number, Tally>, numbers: (number | null)[]): void {
  let version: number | undefined, tally = emptyTally();
  for (let at = 0; at < numbers.length; at += Array.isArray(numbers[at + 5]) ? 6 : 5) {
    if (numbers[at] !== version) {
      version = numbers[at]!;
      tally = versions.get(version) ?? emptyTally();
      versions.set(version, tally);
    }
    const status = numbers[at + 1]!, latency = numbers[at + 2]!;
    const prompt = numbers[at + 3]!, completion = numbers[at + 4]!;
    tally.records++;
    increase(tally.statuses, status);
    if (tally.statuses.size > maxStatuses) tally.statuses = mostFrequent(tally.statuses, maxStatuses / 2);
    if (latency !== null) {
      tally.measured++;
      increase(tally.latencies, bucketOf(latency));
    }
    if (prompt !== null || completion !== null) {
      tally.tokens.records++;
      tally.tokens.prompt += prompt ?? 0;
      tally.tokens.completion += completion ?? 0;
    }
  }
}

const maxStatuses = 2_000; // counted separately for a version: clients may send any number of them
const shownStatuses = 10;

/** The highest counts, and of equal ones the first. */
const mostFrequent = (counts: Map<number, number>, count: number): Map<number, number> =>
  new Map([...counts].sort(([, a], [, b]) => b - a).slice(0, count));

function increase(counts: Map<number, number>, key: number): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

// Latencies below a second are rounded to a tenth of a millisecond, longer ones to four digits: 9,000 buckets per power of
// ten. The buckets are numbered from 0 and from 10,000 on.
const fine = 10_000, perPower = 9_000;

function bucketOf(latency: number): number {
  if (latency < 1000) return Math.round(latency * 10);
  let power = 3, unit = 1;
  for (; latency >= 10_000 * unit; unit *= 10) power++;
  return fine + (power - 3) * perPower + Math.round(latency / unit) - 1000;
}

/** The latency that a bucket stands for, in ms. */
function latencyOf(bucket: number): number {
  if (bucket < fine) return bucket / 10;
  const power = Math.floor((bucket - fine) / perPower);
  // Parsed as a decimal, since multiplying by a high power of ten would be a little off.
  return Math.min(Number(`${1000 + (bucket - fine) % perPower}e${power}`), Number.MAX_VALUE);
}

function toStats(version: number, { records, statuses, latencies, measured, tokens }: Tally): VersionStats {
  const ordered = [...latencies].sort(([a], [b]) => a - b);
  const shareOf = (count: number) => ({ records: count, share: count / records });
  const shown = [...statuses].sort(([a, one], [b, other]) => other - one || a - b).slice(0, shownStatuses);
  return {
    version,
    records,
    statuses: shown.map(([status, count]) => ({ status, ...shareOf(count) })),
    otherStatuses: shareOf(shown.reduce((rest, [, count]) => rest - count, records)),
    latency: {
      records: measured,
      p50: percentile(ordered, measured, 0.5),
      p95: percentile(ordered, measured, 0.95),
      p99: percentile(ordered, measured, 0.99),
    },
    tokens,
  };
}

/** The smallest latency that at least this share of all records does not exceed (nearest rank). */
function percentile(ordered: [bucket: number, count: number][], total: number, share: number): number | null {
  let rank = Math.max(1, Math.ceil(share * total));
  for (const [bucket, count] of ordered) {
    rank -= count;
    if (rank <= 0) return latencyOf(bucket);
  }
  return null;
}
