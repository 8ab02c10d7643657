// The reads of a page: the page remembers what it has read until its response is complete.
import type { Database, Row, Statement } from "../database/database.ts";

const maxKept = 4 * 1024 * 1024; // characters and bytes of rows, because statistics read the whole log

/**
 * Makes a function that wraps the databases of one page. They read the rows of a statement at most once, as long as there
 * is room for them.
 */
export function createReads(): (database: Database) => Database {
  const kept = new Map<string, Promise<Row[]>>();
  let room = maxKept;
  return (database) => ({
    ...database,
    read(statement: Statement) {
      const key = JSON.stringify(statement);
      const known = kept.get(key);
      if (known !== undefined) return known;
      const result = database.read(statement);
      kept.set(key, result);
      return result.then((rows) => {
        const size = sizeOf(rows);
        if (size > room) kept.delete(key);
        else room -= size;
        return rows;
      });
    },
  });
}

const sizeOf = (rows: Row[]): number =>
  rows.reduce((sum, row) => Object.values(row).reduce((size: number, value) => size + lengthOf(value), sum), 0);

const lengthOf = (value: unknown): number =>
  typeof value === "string" ? value.length : ArrayBuffer.isView(value) ? value.byteLength : 8;
