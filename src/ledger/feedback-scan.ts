// Feedback in scans of the log: how it is read with a slice, and what records must have of it.
import type { Row } from "../database/database.ts";
import { textOrNull } from "../database/row.ts";
import type { FeedbackKind, FeedbackValue } from "../schema/feedback.ts";

/** A piece of feedback on a record. Its author is empty unless authors are read. */
export type SlicePiece = { name: string; value: FeedbackValue; author: string };

/** The kind of the values under each name to read. */
export type FeedbackKinds = ReadonlyMap<string, FeedbackKind>;

export const noFeedback: readonly SlicePiece[] = [];

/**
 * What the statement of a slice joins: the offsets of the records that have feedback, and in the same order what it says. Names
 * come as their places among the kinds: numbers take less time than texts.
 */
export function feedbackOfSlice(kinds: FeedbackKinds | undefined, withAuthors = false) {
  if (!kinds?.size) return { tables: "", sql: "", args: {} };
  const tables = `,
    wanted_name(place, name) as materialized (select key, value from json_each(:names))`;
  // Rows come in the order of the primary key, the only index. To ask for that order takes twice the time.
  const sql = ` cross join (
    select group_concat(f.position - :first) as judged, group_concat(n.place) as names,
      json_group_array(f.value) as given, ${withAuthors ? "json_group_array(f.author)" : "null"} as authors
    from feedback f not indexed cross join wanted_name n on n.name = f.name
    where f.position >= :first and f.position < :end
  )`;
  return { tables, sql, args: { names: JSON.stringify([...kinds.keys()]) } };
}

/** Finds the feedback on the record at an offset, ordered by name. */
export function readFeedback(row: Row, kinds: FeedbackKinds | undefined): (offset: number) => readonly SlicePiece[] {
  const offsets = kinds?.size ? textOrNull(row, "judged") : null;
  if (offsets === null) return () => noFeedback;
  const at: number[] = JSON.parse(`[${offsets}]`);
  const places: number[] = JSON.parse(`[${textOrNull(row, "names")}]`);
  const given: (number | string)[] = JSON.parse(textOrNull(row, "given")!);
  const authors: string[] = JSON.parse(textOrNull(row, "authors") ?? "[]");
  const names = [...kinds!];
  const toPiece = (nth: number): SlicePiece => {
    const [name, kind] = names[places[nth]!]!, value = given[nth]!;
    return { name, value: kind === "boolean" ? value === 1 : value, author: authors[nth] ?? "" };
  };
  // By offset, one more than where its pieces begin. Records come in no order.
  const begins = new Int32Array(at.at(-1)! + 1);
  for (let nth = at.length; nth-- > 0;) begins[at[nth]!] = nth + 1;
  return (offset) => {
    const begin = begins[offset];
    if (!begin) return noFeedback;
    let next = begin - 1;
    const pieces = [toPiece(next++)];
    while (at[next] === offset) pieces.push(toPiece(next++));
    return pieces;
  };
}

/** What a piece of feedback must say. `number` is what the text stands for, if it is true, false or a number. */
export type FeedbackCondition = {
  name: string;
  comparison: "=" | "!=" | "<" | "<=" | ">" | ">=";
  text: string;
  number: number | undefined;
};

/**
 * Which feedback records must have, all of it, and which they must lack: that under a name, or any, and all of an author, whose
 * name must be read.
 */
export type FeedbackFilter = {
  feedback?: FeedbackCondition[] | undefined;
  withoutFeedback?: string | undefined;
  withoutAuthor?: string | undefined;
};

export const anyName = "*";

/** Makes a test of the feedback on a record. Any piece of a name may fulfil a condition. */
export function matchesFeedback(
  { feedback: conditions = [], withoutFeedback, withoutAuthor }: FeedbackFilter,
): ((pieces: readonly SlicePiece[]) => boolean) | undefined {
  if (conditions.length === 0 && withoutFeedback === undefined && withoutAuthor === undefined) return undefined;
  const isUnwanted = ({ name, author }: SlicePiece) =>
    withoutFeedback === anyName || name === withoutFeedback || author === withoutAuthor;
  return (pieces) =>
    !pieces.some(isUnwanted) && conditions.every((condition) => pieces.some((piece) => fulfils(piece, condition)));
}

function fulfils(piece: SlicePiece, { name, comparison, text, number }: FeedbackCondition): boolean {
  if (piece.name !== name) return false;
  if (comparison === "=" || comparison === "!=") {
    const isSame = typeof piece.value === "string" ? piece.value === text : Number(piece.value) === number;
    return isSame === (comparison === "=");
  }
  if (typeof piece.value === "string" || number === undefined) return false;
  const difference = Number(piece.value) - number;
  if (difference === 0) return comparison.endsWith("=");
  return difference < 0 === comparison.startsWith("<");
}
