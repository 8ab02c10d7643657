// Feedback in scans of the log: how its counts are read with a slice, and what records must have of it.
import type { Database, Row } from "../database/database.ts";
import { textOrNull } from "../database/row.ts";
import type { FeedbackNames } from "./feedback-words.ts";

/**
 * Feedback on a record: from `begin` to `end` each item of these lists is a value under a name, and how many pieces have it. A
 * value is a number, 0 or 1 for a boolean, or the number of a label. Those of a name follow one another.
 */
export type RecordFeedback = { lists: CountLists; begin: number; end: number };
type CountLists = {
  names: FeedbackNames;
  nameIds: readonly number[];
  values: readonly number[];
  pieces: readonly number[];
};

export const noFeedback: RecordFeedback = {
  lists: { names: new Map(), nameIds: [], values: [], pieces: [] },
  ...{ begin: 0, end: 0 },
};

/** The feedback to read: under these names, which are all of the workspace or some. */
export type FeedbackReads = { names: FeedbackNames; isAll: boolean };

/** Maximum number of counts in one query: some 300 kB. A record has at most 1000. */
const maxCounts = 8_192;

const listsOf = (counts: string): string => `
    select group_concat(place) as places, group_concat(name_id) as name_ids, group_concat(value) as amounts,
      group_concat(pieces) as pieces from (${counts} limit ${maxCounts + 1})`;

const ofNames = ({ isAll }: FeedbackReads) => isAll ? "" : "and c.name_id in (select value from json_each(:names))";
const argsOf = ({ names, isAll }: FeedbackReads) => isAll ? {} : { names: JSON.stringify([...names.keys()]) };

/**
 * Join for the statement of a slice: the counts of feedback on its records (r), which `records` joins and `conditions`
 * choose. They are lists of numbers, in which those of a record follow one another.
 */
export function feedbackOfSlice(reads: FeedbackReads | undefined, records: string, conditions: string) {
  if (!reads?.names.size) return { sql: "", args: {} };
  const counts = `select r.position - :first as place, c.name_id, c.value, c.pieces
    from ${records} cross join feedback_counts c on c.position = r.position ${ofNames(reads)} where ${conditions}`;
  return { sql: ` cross join (${listsOf(counts)})`, args: argsOf(reads) };
}

/** Finds the feedback on a record by its place in the lists. The object is reused. */
export type FeedbackOf = (place: number) => RecordFeedback;

/** The feedback in a slice. Undefined if it is too much for one query. */
export function readFeedback(row: Row, reads: FeedbackReads | undefined): FeedbackOf | undefined {
  if (!reads?.names.size) return () => noFeedback;
  const { places, feedbackOf } = readLists(row, reads);
  return places.length > maxCounts ? undefined : feedbackOf;
}

function readLists(row: Row, { names }: FeedbackReads): { places: number[]; feedbackOf: FeedbackOf } {
  const read = (list: string): number[] => JSON.parse(`[${textOrNull(row, list) ?? ""}]`);
  const places = read("places");
  const lists = { names, nameIds: read("name_ids"), values: read("amounts"), pieces: read("pieces") };
  // By place, one more than where its counts begin. Records come in no order.
  const begins = new Int32Array(places.reduce((most, place) => Math.max(most, place), 0) + 1);
  for (let nth = places.length; nth-- > 0;) begins[places[nth]!] = nth + 1;
  const feedback: RecordFeedback = { lists, begin: 0, end: 0 };
  const feedbackOf = (place: number) => {
    const begin = begins[place];
    if (!begin) return noFeedback;
    feedback.begin = begin - 1;
    feedback.end = begin;
    while (places[feedback.end] === place) feedback.end++;
    return feedback;
  };
  return { places, feedbackOf };
}

const batchRecords = 2_048;

/** Reads the feedback on the records at positions, in their order and in parts of bounded size, however much it is. */
export async function* readMuchFeedback(
  database: Database,
  positions: readonly number[],
  reads: FeedbackReads,
): AsyncGenerator<{ positions: readonly number[]; feedbackOf: FeedbackOf }> {
  const sql = listsOf(`select p.key as place, c.name_id, c.value, c.pieces
    from json_each(:positions) p cross join feedback_counts c on c.position = p.value ${ofNames(reads)}`);
  for (let next = 0, length = batchRecords; next < positions.length;) {
    const batch = positions.slice(next, next + length);
    const [row] = await database.read({ sql, args: { positions: JSON.stringify(batch), ...argsOf(reads) } });
    const { places, feedbackOf } = readLists(row!, reads);
    // The last record may have more than was read.
    const count = places.length > maxCounts ? Math.max(1, places.at(-1)!) : batch.length;
    yield { positions: batch.slice(0, count), feedbackOf };
    next += count;
    length = Math.min(batchRecords, 2 * count);
  }
}

/**
 * Condition on the feedback under a name, by any author. `nameId` is null for a name that is not in use. Nothing equals
 * a null `value`, and everything differs from it.
 */
export type FeedbackCondition = {
  nameId: number | null;
  comparison: "=" | "!=" | "<" | "<=" | ">" | ">=";
  /** A number, 0 or 1 for a boolean, or the number of a label. */
  value: number | null;
};

/** Stands for every name. */
export const anyName = "*";

/** Which feedback records must have, all of it, and which they must lack: that under a name, or any, and all of an author. */
export type FeedbackFilter = {
  feedback?: FeedbackCondition[] | undefined;
  withoutFeedback?: { nameId: number | null } | typeof anyName | undefined;
  withoutAuthor?: string | undefined;
};

const operators = { "=": "is", "!=": "is not" } as const;

/** The conditions of a filter for feedback on a record (r), each with `and` before it. */
export function testsOfFeedback({ feedback = [], withoutFeedback, withoutAuthor }: FeedbackFilter) {
  const args: Record<string, number | string | null> = {};
  const tests = feedback.map(({ nameId, comparison, value }, nth) => {
    args[`name${nth}`] = nameId;
    args[`value${nth}`] = value;
    const operator = comparison === "=" || comparison === "!=" ? operators[comparison] : comparison;
    return `exists (select 1 from feedback_counts
      where position = r.position and name_id = :name${nth} and value ${operator} :value${nth})`;
  });
  if (withoutFeedback !== undefined) {
    const ofName = withoutFeedback === anyName ? "" : "and name_id = :withoutName";
    if (withoutFeedback !== anyName) args.withoutName = withoutFeedback.nameId;
    tests.push(`not exists (select 1 from feedback_counts where position = r.position ${ofName})`);
  }
  if (withoutAuthor !== undefined) {
    args.withoutAuthor = withoutAuthor;
    // The length of a text is read without the text.
    tests.push(`not exists (select 1 from feedback where position = r.position
      and octet_length(author) = octet_length(:withoutAuthor) and author = :withoutAuthor)`);
  }
  return { sql: tests.map((test) => `and ${test}`).join("\n"), args };
}
