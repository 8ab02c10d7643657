// Reads a slice of the log: the numbers of its records from the index, and the times of its commits. One statement
// reads them as three texts, since a row for each record would cost far more.
import type { DeploymentId, KeyId } from "../common/ids.ts";
import type { Database, Row } from "../database/database.ts";
import { textOrNull } from "../database/row.ts";
import { blocksOfRange } from "../ledger/blocks.ts";
import type { LogRange, TimeRange } from "../ledger/blocks.ts";
import { feedbackOfSlice, noFeedback, readFeedback, testsOfFeedback } from "../feedback/feedback-scan.ts";
import type { FeedbackFilter, FeedbackOf, FeedbackReads, RecordFeedback } from "../feedback/feedback-scan.ts";
import { noVoices, readVoices, voicesOfSlice } from "../feedback/feedback-voices.ts";
import type { VoiceReads, Voices } from "../feedback/feedback-voices.ts";
import { isCount } from "../schema/values.ts";
import { boundLatency } from "../statistics/histogram.ts";
import type { Model, Pricing, RatesAt } from "../statistics/pricing.ts";
import { costAt, ownCost } from "../statistics/rates.ts";
import type { Cost, Rates } from "../statistics/rates.ts";

/** Source of costs: the prices, and the model of each version by the deployment's place in the filter. */
export type Costing = {
  pricing: Pricing;
  modelOf(deployment: number, version: number): Model;
  /** True if prices come before the costs that providers report. */
  prefersPrices: boolean;
  /** A key of the prices, which differs if costs do. */
  prices: string;
};

/** Source of a record's cost: the record itself, its provider, or the prices. */
export type CostSource = "record" | "provider" | "prices";

/**
 * A record, as far as the index contains it. Numbers are null if the record does not have them. They are bounded,
 * whatever was submitted or stored.
 */
export type MeasuredRecord = {
  /** The place of its deployment in the filter. */
  deployment: number;
  position: number;
  version: number;
  status: number;
  isFailure: boolean;
  latency: number | null;
  input: number | null;
  output: number | null;
  /** Input from a cache. */
  cached: number;
  /** Input that was written to a cache. */
  written: number;
  /** Input that was written to a cache for an hour. */
  writtenHour: number;
  /** The bits of the media of its tokens other than text. */
  media: number;
  createdAt: number;
  model: string;
  /** Undefined if neither the record nor the prices give one. */
  cost: Cost | undefined;
  /** Set only with a cost. */
  costSource: CostSource;
  /** Only if sessions are read. */
  session: string;
  /** Only if keys are read. */
  keyId: KeyId;
  /** Only if feedback is read. */
  feedback: RecordFeedback;
  /** Only if what authors gave is read. */
  voices: Voices;
};

/** Optional data to read: sessions, keys, feedback, and the feedback of some authors. */
export type Reads = { sessions?: boolean; keys?: boolean; feedback?: FeedbackReads; voices?: VoiceReads };

/** Which records to read: what SQLite can tell. */
export type IndexFilter = TimeRange & FeedbackFilter & {
  deployIds: DeploymentId[];
  /** The records of one of these sessions. */
  sessionIds?: string[] | undefined;
  statuses?: number[] | undefined;
  promptVersions?: number[] | undefined;
  keyId?: KeyId | undefined;
  /** The records whose version a rollout chose. */
  rolloutId?: string | undefined;
};

type Value = number | string | null | OptionalMeasures;

/** The measures that few records have, in the order of the column `measures`. */
type OptionalMeasures = [
  cached: number,
  model?: string,
  provider?: string,
  cost?: string,
  written?: number,
  writtenHour?: number,
  media?: number,
  charge?: string,
];

/** A slice as read. `feedbackOf` is undefined if its feedback is too much for one query. */
export type Slice = { row: Row; first: number; isOne: boolean; reads: Reads; feedbackOf: FeedbackOf | undefined };

const manyLookups = 128;

/** Offsets of submits, and their keys. A row covers up to 256 calls, which may begin before the slice. */
const keysOfCalls = `
  select group_concat(position - :first) as calls, group_concat(api_key_id) as keys from (
    select position, api_key_id from calls
    where position > :first - 256 and position < :end and operation = 'submit' order by position
  )`;

/** A column of the call that stored a record (r). */
const ofCall = (column: string) =>
  `(select ${column} from calls where position <= r.position order by position desc limit 1)`;

/** Reads the records of a range, and of others in its commits if a time is given. */
export async function readSlice(
  database: Database,
  { deployIds, sessionIds, statuses, promptVersions, keyId, rolloutId, from, to, ...ofFeedback }: IndexFilter,
  range: LogRange,
  reads: Reads,
): Promise<Slice> {
  const given = Object.entries({
    sessionIds: sessionIds && JSON.stringify(sessionIds),
    statuses: statuses && JSON.stringify(statuses),
    promptVersions: promptVersions && JSON.stringify(promptVersions),
    ...{ keyId, rolloutId, from, to },
  }).filter((entry): entry is [string, string | number] => entry[1] !== undefined);
  const has = Object.fromEntries(given.map(([name]) => [name, true]));
  const isOne = deployIds.length === 1;
  // A few deployments, and sessions of them, are looked up in each block. With many it is faster to read all of it.
  const records = deployIds.length * (sessionIds?.length ?? 1) > manyLookups
    ? "block cross join diagnoses r on r.position >> 8 = block.number cross join deployment on deployment.id = r.deployment_id"
    : "block cross join deployment cross join diagnoses r on r.position >> 8 = block.number and r.deployment_id = deployment.id";
  const tests = testsOfFeedback(ofFeedback);
  const conditions = `r.position >= :first and r.position < :end
    ${has.sessionIds ? "and r.session_id in (select value from json_each(:sessionIds))" : ""}
    ${has.promptVersions ? "and r.prompt_version in (select value from json_each(:promptVersions))" : ""}
    ${has.statuses ? "and r.status in (select value from json_each(:statuses))" : ""}
    ${has.keyId ? `and ${ofCall("api_key_id")} = :keyId` : ""}
    ${has.rolloutId ? `and ${ofCall("rollout_id")} = :rolloutId` : ""}
    ${has.from ? "and (select max(created_at) from time) >= :from" : ""}
    ${has.to ? "and (select min(created_at) from time) < :to" : ""}
    ${tests.sql}`;
  const feedback = feedbackOfSlice(reads.feedback, records, conditions);
  const voices = voicesOfSlice(reads.voices, records, conditions);
  const sql = `${blocksOfRange},
    deployment(ordinal, id) as materialized (select key, value from json_each(:deployIds)),
    time(position, created_at) as materialized (
      select position, created_at from commits
      where position >= coalesce((select max(position) from commits where position <= :first), 0) and position < :end
      order by position
    )
    select * from (
      select group_concat(position) as positions, group_concat(created_at) as times from time
    )${reads.keys ? ` cross join (${keysOfCalls})` : ""}${feedback.sql}${voices.sql} cross join (
      -- Two lists take less time than a longer text for each record.
      select group_concat(r.position - :first) as offsets, group_concat(
        ${isOne ? "" : "deployment.ordinal || ',' || "}${
    reads.sessions ? "json_quote(r.session_id) || ',' || " : ""
  }r.statistics
      ) as numbers
      from ${records} where ${conditions}
    )`;
  const args = {
    deployIds: JSON.stringify(deployIds),
    ...{ ...range, ...feedback.args, ...voices.args, ...tests.args },
    ...Object.fromEntries(given),
  };
  const [row] = await database.read({ sql, args });
  return { row: row!, first: range.first, isOne, reads, feedbackOf: readFeedback(row!, reads.feedback) };
}

/** Calls `visit` with each record of a slice, in no order. The object is reused: copy what you keep. */
export function decode(
  { row, first, isOne, reads, feedbackOf = () => noFeedback }: Slice,
  { pricing, modelOf, prefersPrices }: Costing,
  failures: ReadonlySet<number>,
  visit: (record: MeasuredRecord) => void,
): void {
  const read = (name: string) => JSON.parse(`[${textOrNull(row, name) ?? ""}]`);
  const positions: number[] = read("positions"), times: number[] = read("times");
  const offsets: number[] = read("offsets"), values: Value[] = read("numbers");
  const calls: number[] = reads.keys ? read("calls") : [];
  const keys = (reads.keys ? textOrNull(row, "keys") ?? "" : "").split(",") as KeyId[];
  const record: MeasuredRecord = {
    deployment: 0,
    position: 0,
    version: 0,
    status: 0,
    isFailure: false,
    latency: null,
    input: null,
    output: null,
    cached: 0,
    written: 0,
    writtenHour: 0,
    media: 0,
    createdAt: 0,
    model: "",
    cost: undefined,
    costSource: "prices",
    session: "",
    keyId: "" as KeyId,
    feedback: noFeedback,
    voices: noVoices,
  };
  const voicesOf = readVoices(row, reads.voices);
  let commit = 0, call = 0;
  // Model and rates for the version of the previous record, which most records share.
  let ofVersion: Model | undefined, ratesAt: RatesAt = unpriced, rates: Rates | undefined;
  for (let at = 0, nth = 0; at < values.length; nth++) {
    const deployment = isOne ? 0 : values[at++] as number;
    if (reads.sessions) record.session = values[at++] as string;
    const version = values[at++] as number;
    record.status = values[at++] as number;
    record.isFailure = failures.has(record.status);
    record.latency = latencyOf(values[at++]);
    record.input = countOf(values[at++]);
    record.output = countOf(values[at++]);
    const rest = typeof values[at] === "object" && values[at] !== null ? values[at++] as OptionalMeasures : undefined;
    record.cached = boundedBy(record.input ?? 0, rest?.[0]);
    record.written = rest === undefined ? 0 : boundedBy((record.input ?? 0) - record.cached, rest[4]);
    record.writtenHour = rest === undefined ? 0 : boundedBy(record.written, rest[5]);
    record.media = rest?.[6] ?? 0;
    record.position = first + offsets[nth]!;
    record.feedback = feedbackOf(offsets[nth]!);
    record.voices = voicesOf(offsets[nth]!);
    commit = indexAt(positions, record.position, commit);
    if (reads.keys) record.keyId = keys[call = indexAt(calls, offsets[nth]!, call)]!;
    const createdAt = times[commit]!;
    if (ofVersion === undefined || version !== record.version || deployment !== record.deployment) {
      record.deployment = deployment;
      record.version = version;
      ofVersion = modelOf(deployment, version);
      ratesAt = pricing(ofVersion);
      rates = ratesAt(createdAt);
    } else if (createdAt !== record.createdAt) rates = ratesAt(createdAt);
    record.createdAt = createdAt;
    if (rest === undefined || rest.length === 1) {
      record.model = ofVersion.model;
      record.cost = rates && costAt(rates, record, createdAt);
      record.costSource = "prices";
    } else {
      const model = modelBy(rest, ofVersion);
      record.model = model.model;
      setCost(record, rest, prefersPrices, model === ofVersion ? rates : pricing(model)(createdAt));
    }
    visit(record);
  }
}

/**
 * Sets the cost that the record contains, or else the one from its provider or from the prices, whichever is preferred.
 */
function setCost(
  record: MeasuredRecord,
  [, , , cost, , , , charge]: OptionalMeasures,
  prefersPrices: boolean,
  rates: Rates | undefined,
): void {
  const charged = charge ? ownCost(charge) : undefined;
  const isPriced = !cost && rates !== undefined && (charged === undefined || prefersPrices);
  const priced = isPriced ? costAt(rates, record, record.createdAt) : undefined;
  record.cost = cost ? ownCost(cost) : priced ?? charged;
  record.costSource = cost ? "record" : priced === undefined && charged !== undefined ? "provider" : "prices";
}

const latencyOf = (value: unknown) => typeof value === "number" ? boundLatency(value) : null;
const countOf = (value: unknown) => isCount(value) ? value : null;

const boundedBy = (bound: number, value: unknown) => isCount(value) ? Math.min(value, bound) : 0;

/** The model that a record names itself, or else that of its version. */
function modelBy([, model, provider]: OptionalMeasures, ofVersion: Model): Model {
  if (!model && !provider) return ofVersion;
  if (provider) return { model: model || ofVersion.model, provider };
  // A record that names another model may have been made by another provider.
  return model === ofVersion.model ? ofVersion : { model: model!, provider: "", versionProvider: ofVersion.provider };
}

const unpriced: RatesAt = () => undefined;

/** The index of the commit or the call that contains a position. `guess` is that of the record before. */
function indexAt(positions: number[], position: number, guess: number): number {
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
