// Reads what the index of the records holds: status, version, and the measures that statistics need. Lists, exports,
// sessions and statistics all find their records here, so that their filters are the same.
import type { Amount } from "../common/decimal.ts";
import type { DeploymentId, KeyId } from "../common/ids.ts";
import type { Database } from "../database/database.ts";
import { textOrNull } from "../database/row.ts";
import { blocksOfRange } from "./blocks.ts";
import type { LogRange, TimeRange } from "./blocks.ts";
import { matchesDocument, readDocuments } from "./documents.ts";
import type { DocumentFilter } from "./documents.ts";
import { amountOf, costAt, ownCost } from "./pricing.ts";
import type { Cost, Model, Pricing, RateAt } from "./pricing.ts";

/** Which records of some deployments to find. Every condition must hold. */
export type RecordFilter = TimeRange & DocumentFilter & {
  deployIds: DeploymentId[];
  /** The records of one of these sessions. */
  sessionIds?: string[] | undefined;
  statuses?: number[] | undefined;
  promptVersion?: number | undefined;
  keyId?: KeyId | undefined;
  /** Latency in ms. */
  slowerThan?: number | undefined;
  /** Input and output together. */
  moreTokensThan?: number | undefined;
  costlierThan?: Amount | undefined;
  model?: string | undefined;
};

/** What costs follow from: the prices, and the model of each version by the deployment's place in the filter. */
export type Costing = { pricing: Pricing; modelOf(deployment: number, version: number): Model };

/** For those who need no costs and no models. */
export const noCosting: Costing = {
  pricing: () => () => undefined,
  modelOf: () => ({ model: "", provider: "" }),
};

/** A record, as far as its index tells. Numbers are null if the record lacks them. */
export type MeasuredRecord = {
  /** The place of its deployment in the filter. */
  deployment: number;
  position: number;
  version: number;
  status: number;
  latency: number | null;
  input: number | null;
  output: number | null;
  /** How much of the input came from a cache. */
  cached: number;
  createdAt: number;
  /** Undefined if nothing tells it. */
  cost: Cost | undefined;
  /** Only if sessions are read. */
  session: string;
};

/** What to find, and what costs follow from. */
export type ScanOptions = { filter: RecordFilter; costing: Costing; readsSessions?: boolean };

/** Calls `visit` with each record of a range that matches, in no order. The object is reused: copy what you keep. */
export async function scan(
  database: Database,
  { filter, costing, readsSessions = false }: ScanOptions,
  range: LogRange,
  visit: (record: MeasuredRecord) => void,
): Promise<void> {
  const commits = await readCommits(database, range);
  const { from = -Infinity, to = Infinity } = filter;
  if (commits.latest < from || commits.earliest >= to) return;
  const numbers = await readNumbers(database, filter, range, readsSessions);
  const isRead = filter.text !== undefined || filter.where !== undefined;
  const candidates = new Map<number, MeasuredRecord>();
  decode(numbers, filter, costing, commits, range.first, readsSessions, (record) => {
    if (record.createdAt < from || record.createdAt >= to || !matches(filter, record)) return;
    if (isRead) candidates.set(record.position, { ...record });
    else visit(record);
  });
  const isMatch = matchesDocument(filter);
  for await (const { position, document } of readDocuments(database, [...candidates.keys()])) {
    if (isMatch(document)) visit(candidates.get(position)!);
  }
}

function matches({ slowerThan, moreTokensThan, costlierThan }: RecordFilter, record: MeasuredRecord): boolean {
  const { latency, input, output, cost } = record;
  if (slowerThan !== undefined && (latency === null || latency <= slowerThan)) return false;
  if (moreTokensThan !== undefined && (input ?? 0) + (output ?? 0) <= moreTokensThan) return false;
  return costlierThan === undefined || cost !== undefined && amountOf(cost) > costlierThan;
}

/** The times of the commits of a range, in order of their positions. */
type Commits = { positions: number[]; times: number[]; earliest: number; latest: number };

async function readCommits(database: Database, range: LogRange): Promise<Commits> {
  const [row] = await database.read({
    sql: `select group_concat(position) as positions, group_concat(created_at) as times from (
        select position, created_at from commits
        where position >= coalesce((select max(position) from commits where position <= :first), 0) and position < :end
        order by position
      )`,
    args: { ...range },
  });
  const read = (name: string): number[] => JSON.parse(`[${textOrNull(row!, name) ?? ""}]`);
  const positions = read("positions"), times = read("times");
  let earliest = Infinity, latest = -Infinity;
  for (const time of times) {
    if (time < earliest) earliest = time;
    if (time > latest) latest = time;
  }
  return { positions, times, earliest, latest };
}

type Value = number | string | null | [cached: number, model?: string, provider?: string, cost?: string];

/** The numbers of records in one flat list, and where in the range each record is. */
type Numbers = { numbers: Value[]; offsets: number[] };

/** Reads the numbers of records in one flat list, which costs far less than a row for each. */
async function readNumbers(
  database: Database,
  { deployIds, sessionIds, statuses, promptVersion, keyId }: RecordFilter,
  range: LogRange,
  readsSessions: boolean,
): Promise<Numbers> {
  const given = Object.entries({
    sessionIds: sessionIds && JSON.stringify(sessionIds),
    statuses: statuses && JSON.stringify(statuses),
    promptVersion,
    keyId,
  }).filter((entry): entry is [string, string | number] => entry[1] !== undefined);
  const has = Object.fromEntries(given.map(([name]) => [name, true]));
  // A few deployments are looked up in each block. With many it is faster to read all of it.
  const ofDeployment = deployIds.length > manyDeployments
    ? "diagnoses r on r.position >> 8 = block.number cross join deployment on deployment.id = r.deployment_id"
    : "deployment cross join diagnoses r on r.position >> 8 = block.number and r.deployment_id = deployment.id";
  const sql = `${blocksOfRange},
    deployment(ordinal, id) as materialized (select key, value from json_each(:deployIds))
    -- The last part is a column of the index. Two lists take less time than a longer text for each record.
    select group_concat(r.position - :first) as offsets, group_concat(
      ${deployIds.length > 1 ? "deployment.ordinal || ',' || " : ""}${
    readsSessions ? "json_quote(r.session_id) || ',' || " : ""
  }(r.prompt_version || ',' || r.status || ',' || r.measures)
    ) as numbers
    from block cross join ${ofDeployment}
    where r.position >= :first and r.position < :end
      ${has.sessionIds ? "and r.session_id in (select value from json_each(:sessionIds))" : ""}
      ${has.promptVersion ? "and r.prompt_version = :promptVersion" : ""}
      ${has.statuses ? "and r.status in (select value from json_each(:statuses))" : ""}
      ${has.keyId ? `and ${isOfKey}` : ""}`;
  const args = { deployIds: JSON.stringify(deployIds), ...range, ...Object.fromEntries(given) };
  const [row] = await database.read({ sql, args });
  const read = (name: string) => JSON.parse(`[${textOrNull(row!, name) ?? ""}]`);
  return { numbers: read("numbers"), offsets: read("offsets") };
}

const manyDeployments = 32;

const isOfKey = `(select api_key_id from calls where position <= r.position order by position desc limit 1) = :keyId`;

/** Makes records of numbers. */
function decode(
  { numbers, offsets }: Numbers,
  filter: RecordFilter,
  { pricing, modelOf }: Costing,
  { positions, times }: Commits,
  first: number,
  readsSessions: boolean,
  visit: (record: MeasuredRecord) => void,
): void {
  const isOne = filter.deployIds.length === 1;
  const wanted = filter.model?.toLowerCase();
  const record: MeasuredRecord = {
    ...{ deployment: 0, position: 0, version: 0, status: 0, latency: null, input: null, output: null, cached: 0 },
    ...{ createdAt: 0, cost: undefined, session: "" },
  };
  let commit = 0, known: { model: Model; rateAt: RateAt } | undefined;
  for (let at = 0, nth = 0; at < numbers.length; nth++) {
    const deployment = isOne ? 0 : numbers[at++] as number, position = first + offsets[nth]!;
    if (readsSessions) record.session = numbers[at++] as string;
    const version = numbers[at++] as number;
    record.status = numbers[at++] as number;
    record.latency = numbers[at++] as number | null;
    record.input = numbers[at++] as number | null;
    record.output = numbers[at++] as number | null;
    const rest = Array.isArray(numbers[at]) ? numbers[at++] as [number, string?, string?, string?] : undefined;
    record.cached = rest?.[0] ?? 0;
    commit = commitOf(positions, position, commit);
    record.createdAt = times[commit]!;
    if (known === undefined || deployment !== record.deployment || version !== record.version) {
      const model = modelOf(deployment, version);
      known = { model, rateAt: pricing(model) };
    }
    record.deployment = deployment;
    record.position = position;
    record.version = version;
    let { model, rateAt } = known;
    if (rest?.[1] || rest?.[2]) {
      // The version tells the provider of its own model only.
      const isOwn = rest[1] === "" || rest[1] === model.model;
      model = { model: rest[1] || model.model, provider: rest[2] || (isOwn ? model.provider : "") };
      rateAt = pricing(model);
    }
    if (wanted !== undefined && model.model.toLowerCase() !== wanted) continue;
    const rate = rest?.[3] ? undefined : rateAt(record.createdAt);
    record.cost = rest?.[3] ? ownCost(rest[3]) : rate && costAt(rate, record);
    visit(record);
  }
}

/** The index of the commit that contains a position. `guess` is that of the record before. */
function commitOf(positions: number[], position: number, guess: number): number {
  const next = positions[guess + 1];
  if (positions[guess]! <= position && (next === undefined || next > position)) return guess;
  let low = 0, high = positions.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (positions[middle]! <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}
