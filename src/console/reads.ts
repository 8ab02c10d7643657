// The reads of a page: the page remembers each until its response is complete.
import type { Database, Row, Statement } from "../database/database.ts";

const maxKept = 1_024; // rows of one statement. A page asks for more only to count them

/**
 * Makes a function that wraps the databases of one page. They read the rows of a statement at most once, if these are
 * few.
 */
export function createReads(): (database: Database) => Database {
  const kept = new Map<string, Promise<Row[]>>();
  return (database) => ({
    ...database,
    read(statement: Statement) {
      const key = JSON.stringify(statement);
      const known = kept.get(key);
      if (known !== undefined) return known;
      const result = database.read(statement);
      kept.set(key, result);
      return result.then((rows) => {
        if (rows.length > maxKept) kept.delete(key);
        return rows;
      });
    },
  });
}
