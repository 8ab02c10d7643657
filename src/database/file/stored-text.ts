// Text that queries return as bytes. libSQL aborts the process when it reads a text that is not valid UTF-8, as a bad
// sector leaves behind, and ends a text at NUL.
import { createCache } from "../../common/cache.ts";
import type { Database, Row, Statement } from "../database.ts";

/** A column of a query: its name, and the type that its table declares; null for an expression. */
export type Column = { name: string; type: string | null };

/** True if a statement is a query that `asBytes` accepts. */
export const isQuery = (sql: string): boolean => /^\s*(select|with)\s/i.test(sql);

/** A query for the same rows, in which texts are bytes. */
export function asBytes(sql: string, columns: readonly Column[]): string {
  const names = columns.map((_, index) => `c${index}`);
  const values = columns.map(({ name, type }, index) => {
    const value = `c${index}`;
    const bytes = `cast(${value} as blob)`;
    const read = isNumber(type)
      ? value
      : type === "TEXT"
      ? bytes
      : `iif(typeof(${value}) = 'text', ${bytes}, ${value})`;
    return `${read} as "${name.replaceAll('"', '""')}"`;
  });
  // With an offset, SQLite does not merge the two queries, which would compute a value each time it is named.
  return `with result(${names}) as (select * from (${sql}\n) limit -1 offset 0) select ${values} from result`;
}

// All tables are strict.
const isNumber = (type: string | null) => type === "INTEGER" || type === "REAL";

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const tolerant = new TextDecoder("utf-8", { ignoreBOM: true });

/** Decodes the texts of rows. `onDamage` is the handling of text that is not valid UTF-8. */
export function readTexts(rows: Record<string, unknown>[], onDamage: Statement["onDamage"]): Row[] {
  const damaged = rows.filter((row) => {
    let isDamaged = false;
    for (const name in row) {
      const value = row[name];
      if (!(value instanceof ArrayBuffer)) continue;
      try {
        row[name] = strict.decode(value);
      } catch {
        row[name] = tolerant.decode(value);
        isDamaged = true;
      }
    }
    return isDamaged;
  });
  if (onDamage === "select") return damaged;
  if (onDamage === "refuse" && damaged.length > 0) {
    throw Object.assign(new Error("A text in the database is damaged"), { code: "DAMAGED_TEXT" });
  }
  return rows;
}

const maxQueries = 100; // whose columns are known

/** Wraps a database to read texts as bytes. `findColumns` returns the columns of a query. */
export function readingBytes(database: Database, findColumns: (statement: Statement) => Promise<Column[]>): Database {
  const known = createCache<string>(maxQueries);

  async function toBytes(statement: Statement): Promise<Statement> {
    if (!isQuery(statement.sql)) return statement;
    const cached = known.get(statement.sql);
    if (cached !== undefined) return { ...statement, sql: cached };
    try {
      const sql = asBytes(statement.sql, await findColumns(statement));
      known.set(statement.sql, sql, 1);
      return { ...statement, sql };
    } catch {
      // Its tables may be created in the same transaction. If the query is wrong, it fails with its own error.
      return statement;
    }
  }
  const read = (rows: Row[], { onDamage }: Statement) => readTexts(rows.map((row) => ({ ...row })), onDamage);

  return {
    ...database,
    read: async (statement) => read(await database.read(await toBytes(statement)), statement),
    async write(statements) {
      const results = await database.write(await Promise.all(statements.map(toBytes)));
      return results.map((rows, index) => read(rows, statements[index]!));
    },
  };
}
