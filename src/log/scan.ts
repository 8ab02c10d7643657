// Finds records by the index, in slices of the log. Lists, exports, sessions and statistics all find their records
// here, and share its filters.
import type { Amount } from "../support/decimal.ts";
import { fold } from "../support/fold.ts";
import type { Database } from "../database/database.ts";
import type { LogRange } from "../ledger/blocks.ts";
import { matchesDocument, needsDocuments, readDocuments } from "./documents.ts";
import type { DocumentFilter } from "./documents.ts";
import { readMuchFeedback } from "../feedback/feedback-scan.ts";
import { unknownModel } from "../statistics/pricing.ts";
import { amountOf } from "../statistics/rates.ts";
import { decode, readSlice } from "./slices.ts";
import type { Costing, IndexFilter, MeasuredRecord, Reads, Slice } from "./slices.ts";

/** Which records of some deployments to find. Every condition must hold. */
export type RecordFilter = IndexFilter & DocumentFilter & {
  /** Latency in ms. */
  slowerThan?: number | undefined;
  /** Input and output together. */
  moreTokensThan?: number | undefined;
  costlierThan?: Amount | undefined;
  model?: string | undefined;
  /** A part of the session's id, whatever the case. It needs sessions to be read. */
  sessionContains?: string | undefined;
};

/**
 * The most expensive work for a filter: SQL over the index, the numbers or the call of each record, or the documents.
 */
export function workOf(filter: RecordFilter): "index" | "numbers" | "documents" {
  if (needsDocuments(filter)) return "documents";
  const { keyId, rolloutId, slowerThan, moreTokensThan, costlierThan, model, sessionContains } = filter;
  const { feedback, withoutFeedback, withoutAuthor } = filter;
  const ofFeedback = [feedback, withoutFeedback, withoutAuthor];
  const tested = [keyId, rolloutId, slowerThan, moreTokensThan, costlierThan, model, sessionContains, ...ofFeedback];
  return tested.every((value) => value === undefined) ? "index" : "numbers";
}

/** For callers that need no costs and no models. */
export const noCosting: Costing = {
  pricing: () => () => undefined,
  modelOf: () => unknownModel,
  prefersPrices: false,
  prices: "",
};

/** The filter, the source of costs, the statuses that count as failures, and optional columns to read. */
export type ScanOptions = {
  filter: RecordFilter;
  costing: Costing;
  failures?: ReadonlySet<number>;
  reads?: Reads;
  /** The range of the log for the times of the filter, if known. */
  range?: LogRange;
};

type Visit = (record: MeasuredRecord) => void;

/** Calls `visit` with each record of a range that matches, in no order. The object is reused: copy what you keep. */
export async function scan(database: Database, options: ScanOptions, range: LogRange, visit: Visit): Promise<void> {
  await visitSlice(database, options, await read(database, options, range), visit);
}

const sliceLength = 4_096; // positions that one query reads. Visiting their records takes 3 ms, in which nothing else runs
const readAhead = 2; // slices. The reader thread has the next query before it has answered the one that is awaited

/**
 * Scans a range of any length. While the records of a slice are visited, the next slice is read. `report` is called
 * after each slice with the share of the range that was visited, from 0 to 1.
 */
export async function scanAll(
  database: Database,
  options: ScanOptions,
  { first, end }: LogRange,
  visit: Visit,
  report?: (share: number) => void,
): Promise<void> {
  const slices: Promise<Slice>[] = [];
  if (first >= end) report?.(1);
  for (let next = first, start = first; start < end; start += sliceLength) {
    for (; next < end && next <= start + readAhead * sliceLength; next += sliceLength) {
      const slice = read(database, options, { first: next, end: Math.min(next + sliceLength, end) });
      // If another slice fails first, this one is not awaited.
      slice.catch(() => {});
      slices.push(slice);
    }
    await visitSlice(database, options, await slices.shift()!, visit);
    report?.((Math.min(start + sliceLength, end) - first) / (end - first));
  }
}

const read = (database: Database, { filter, reads = {} }: ScanOptions, range: LogRange): Promise<Slice> =>
  readSlice(database, filter, range, reads);

const none: ReadonlySet<number> = new Set();

async function visitSlice(
  database: Database,
  { filter, costing, failures = none }: ScanOptions,
  slice: Slice,
  visit: Visit,
): Promise<void> {
  const tests = testsOf(filter);
  const matching = (use: Visit): Visit => (record) => {
    if (tests.every((test) => test(record))) use(record);
  };
  const hasFeedback = slice.feedbackOf !== undefined;
  if (hasFeedback && !needsDocuments(filter)) {
    return decode(slice, costing, failures, tests.length === 0 ? visit : matching(visit));
  }
  const records = new Map<number, MeasuredRecord>();
  const keep: Visit = (record) => void records.set(record.position, { ...record, feedback: { ...record.feedback } });
  decode(slice, costing, failures, matching(keep));
  if (needsDocuments(filter)) await keepMatches(database, filter, records);
  if (hasFeedback) return records.forEach(visit);
  const positions = [...records.keys()].sort((a, b) => a - b);
  for await (const part of readMuchFeedback(database, positions, slice.reads.feedback!)) {
    for (const [place, position] of part.positions.entries()) {
      visit({ ...records.get(position)!, feedback: part.feedbackOf(place) });
    }
  }
}

/** Removes the records whose documents do not match. */
async function keepMatches(
  database: Database,
  filter: RecordFilter,
  records: Map<number, MeasuredRecord>,
): Promise<void> {
  const isMatch = matchesDocument(filter), positions = [...records.keys()];
  const left = new Set(positions);
  for await (const { position, document } of readDocuments(database, positions)) {
    if (isMatch(document)) left.delete(position);
  }
  // A record may have been deleted meanwhile.
  for (const position of left) records.delete(position);
}

type Test = (record: MeasuredRecord) => boolean;

/** Tests for conditions that neither SQLite nor documents decide. */
function testsOf(filter: RecordFilter): Test[] {
  const { from, to, slowerThan, moreTokensThan, costlierThan, model, sessionContains } = filter;
  const tests: Test[] = [];
  if (from !== undefined) tests.push(({ createdAt }) => createdAt >= from);
  if (to !== undefined) tests.push(({ createdAt }) => createdAt < to);
  if (slowerThan !== undefined) tests.push(({ latency }) => latency !== null && latency > slowerThan);
  if (moreTokensThan !== undefined) tests.push(({ input, output }) => (input ?? 0) + (output ?? 0) > moreTokensThan);
  if (costlierThan !== undefined) tests.push(({ cost }) => cost !== undefined && amountOf(cost) > costlierThan);
  if (model !== undefined) {
    const wanted = fold(model);
    tests.push((record) => fold(record.model) === wanted);
  }
  if (sessionContains !== undefined) {
    const wanted = fold(sessionContains);
    tests.push(({ session }) => fold(session).includes(wanted));
  }
  return tests;
}
