// Finds damaged stored text: a bad sector leaves bytes that are not UTF-8. Queries return U+FFFD in their place.
import type { DamagedText } from "../schema/ledger.ts";
import { isFile } from "../database/database.ts";
import type { Database } from "../database/database.ts";
import { integer, text } from "../database/row.ts";
import { commitAt, idAt } from "../ledger/blocks.ts";
import { workBytes } from "./documents.ts";

const sliceRows = 1_024;

/** A table: its name, its columns of text, and an expression for the key of a row. */
type Table = { name: string; texts: string[]; key: string };

/**
 * The rows of a file whose text is damaged. Undefined for a database on a server, which refuses to read such text. The
 * tables of calls and of secrets hold no text from clients or people. `report` gets the progress, from 0 to 1.
 */
export async function findDamagedTexts(
  database: Database,
  report: (share: number) => void,
): Promise<DamagedText[] | undefined> {
  if (!isFile(database)) return undefined;
  const tables = await listTables(database);
  const found: DamagedText[] = [];
  for (const [index, table] of tables.entries()) {
    for await (const { rows, share } of scanTable(database, table)) {
      found.push(...rows.map((row) => ({ table: table.name, key: text(row, "key") })));
      report((index + share) / tables.length);
    }
  }
  return found;
}

const maxNamed = 10;

/** Names rows whose text is damaged, in one sentence without a period. `total` is their number. */
export function describeDamaged(rows: readonly DamagedText[], total = rows.length): string {
  const named = rows.slice(0, maxNamed).map(({ table, key }) => `${table} ${key}`).join(", ");
  const rest = total > maxNamed ? ` and ${total - maxNamed} more` : "";
  return `${total === 1 ? "A row has" : `${total} rows have`} damaged text: ${named}${rest}`;
}

async function listTables(database: Database): Promise<Table[]> {
  const rows = await database.read({
    sql: `
      select name, (select json_group_array(c.name) from pragma_table_info(t.name) c where c.type = 'TEXT') as texts,
        (select json_group_array(c.name) from pragma_table_info(t.name) c where c.pk > 0) as key
      from pragma_table_list t
      where schema = 'main' and type = 'table' and not wr and name not like 'sqlite_%' and name not in ('calls', 'commits')
      order by name`,
  });
  return rows.map((row) => {
    const name = text(row, "name");
    const key = JSON.parse(text(row, "key")) as string[];
    return {
      name,
      texts: JSON.parse(text(row, "texts")),
      key: name === "diagnoses"
        ? `(select ${idAt("diag", "t.position")} from (select 1) join ${commitAt("t.position")})`
        : key.map((column) => `t.${column}`).join(" || ' ' || "),
    };
  }).filter(({ texts }) => texts.length > 0);
}

/**
 * Reads a table in parts of bounded size. Yields the damaged rows of each, and how much of the table was read by then.
 */
async function* scanTable(database: Database, { name, texts, key }: Table) {
  const bytes = texts.map((column) => `coalesce(octet_length(${column}), 0)`).join(" + ");
  const [range] = await database.read({
    sql: `select coalesce(min(rowid) - 1, 0) as first, coalesce(max(rowid), 0) as last from ${name}`,
  });
  const first = integer(range!, "first"), last = integer(range!, "last");
  for (let after = first; after < last;) {
    const [slice] = await database.read({
      sql: `
        select max(id) as last from (
          select id, row_number() over rows as nth, sum(bytes) over rows as bytes
          from (select rowid as id, ${bytes} as bytes from ${name} where rowid > :after order by rowid limit ${sliceRows})
          window rows as (order by id rows unbounded preceding)
        ) where nth = 1 or bytes <= ${workBytes}`,
      args: { after },
    });
    const end = integer(slice!, "last");
    const sql = `
      select coalesce(${key}, t.rowid || '') as key, ${texts.map((column) => `t.${column}`)}
      from ${name} t where t.rowid > :after and t.rowid <= :end`;
    const rows = await database.read({ sql, args: { after, end }, onDamage: "select" });
    yield { rows, share: (end - first) / (last - first) };
    after = end;
  }
}
