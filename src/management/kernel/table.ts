// Reads and writes rows as items of a struct. The column of a member has its name in snake case.
import type { Page, PageRequest } from "../../common/domain.ts";
import type { Database, Statement } from "../../database/database.ts";
import { readPage } from "../../database/page.ts";
import { readerOf, toColumn } from "../../database/row.ts";
import type { Schema, Struct } from "../../schema/struct.ts";

/** Values of columns by member. */
export type Columns = Record<string, string | number | boolean | null>;

/** SQLite has no booleans. */
const toArgs = (columns: Columns) =>
  Object.fromEntries(
    Object.entries(columns).map(([name, value]) => [name, typeof value === "boolean" ? Number(value) : value]),
  );

/** The statement that inserts a row. */
export function insertInto(table: string, columns: Columns): Statement {
  const names = Object.keys(columns);
  const values = names.map((name) => `:${name}`).join(", ");
  return { sql: `insert into ${table} (${names.map(toColumn).join(", ")}) values (${values})`, args: toArgs(columns) };
}

/** The statement that updates columns of the row with an id, and adds 1 to others. */
export function updateOf(table: string, id: string, columns: Columns, incremented: readonly string[] = []): Statement {
  const changes = [
    ...Object.keys(columns).map((name) => `${toColumn(name)} = :${name}`),
    ...incremented.map((column) => `${column} = ${column} + 1`),
  ];
  return { sql: `update ${table} set ${changes.join(", ")} where id = :id`, args: { ...toArgs(columns), id } };
}

/** Finds and lists the rows of a query, whose `id` grows with time. */
export function tableOf<T extends { id: string }>(struct: Struct<T, Schema>, select: string) {
  const toItem = readerOf(struct);
  const where = (condition: string, args: Exclude<Statement["args"], undefined>): Statement => ({
    sql: `select * from (${select}) where ${condition}`,
    args,
  });
  const byId = (id: T["id"]): Statement => where("id = ?", [id]);
  return {
    toItem,
    /** Statement that finds the items for which a condition holds. */
    where,
    /** Statement that finds an item, for a transaction. */
    byId,
    find: async (database: Database, id: T["id"]): Promise<T | undefined> =>
      (await database.read(byId(id))).map(toItem)[0],
    /** Items whose members have these values, newest first, and for which the condition, with its arguments, holds. */
    list(
      database: Database,
      filter: Record<string, string>,
      request: PageRequest,
      condition = "true",
      args: Record<string, string> = {},
    ): Promise<Page<T>> {
      const conditions = Object.keys(filter).map((name) => `${toColumn(name)} = :${name} and `).join("");
      const sql = `select * from (${select}) where ${conditions}${condition} and id < coalesce(:cursor, '~')
        order by id desc limit :rows`;
      return readPage(
        database,
        request,
        (page) => ({ sql, args: { ...filter, ...args, ...page } }),
        toItem,
        ({ id }) => id,
      );
    },
  };
}
