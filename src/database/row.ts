// Reads columns of a row. Throws on a column that is missing or has another type, which is a bug in the query.
import type { Row } from "./database.ts";

/** A column of text. The caller chooses its type, such as an id or a union of texts. */
export function text<T extends string>(row: Row, column: string): T {
  const value = row[column];
  if (typeof value !== "string") throw new TypeError(`Column ${column} is not text`);
  return value as T;
}

export function integer(row: Row, column: string): number {
  const value = row[column];
  if (typeof value !== "number") throw new TypeError(`Column ${column} is not a number`);
  return value;
}

export const textOrNull = (row: Row, column: string): string | null => row[column] === null ? null : text(row, column);

export const integerOrNull = (row: Row, column: string): number | null =>
  row[column] === null ? null : integer(row, column);
