// Reads columns of a row. Throws on a column that is missing or has another type, which is a bug in the query.
import { jsonText } from "../common/json-text.ts";
import { hasType, isOptional, isRawJson } from "../schema/struct.ts";
import type { Schema, Struct } from "../schema/struct.ts";
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

/** The column of a member: its name in snake case. */
export const toColumn = (member: string) => member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * Creates a function that reads a row as an item, without optional members that are null. It throws if a column is
 * missing, because the query is wrong then.
 */
export function readerOf<T extends object>(struct: Struct<T, Schema>): (row: Row) => T {
  const members = Object.entries(struct.schema).map(([name, member]) => ({
    name,
    column: toColumn(name),
    isOptional: isOptional(member),
    isJson: isRawJson(member),
    isBoolean: hasType(member, "boolean"),
    isParsed: hasType(member, "array") || hasType(member, "object"),
  }));
  return (row) =>
    Object.fromEntries(members.flatMap(({ name, column, isOptional, isJson, isBoolean, isParsed }) => {
      const value = row[column];
      if (value === undefined) throw new TypeError(`The row has no column ${column}`);
      if (isOptional && value === null) return [];
      if (isJson) return [[name, jsonText(value as string)]];
      return [[name, isParsed ? JSON.parse(String(value)) : isBoolean ? value === 1 : value]];
    })) as T;
}
