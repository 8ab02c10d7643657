// Reads the measures of stored records again. It goes through the log in small transactions. Each one stores its
// progress, from which a later run continues.
import type { Database } from "../database/database.ts";
import { integer, text } from "../database/row.ts";
import { readDocument } from "./documents.ts";
import { measuresOf } from "../ledger/measures.ts";

const batchRecords = 256;
const batchBytes = 256 * 1024; // of documents

/** Result of a transaction. `share` is the share of the log that has been read, from 0 to 1. */
type Reindexed = { records: number; changed: number; share: number };

/** Reads the next records again. Returns undefined at the end. */
export async function reindexNext(database: Database): Promise<Reindexed | undefined> {
  const rows = await database.read({ sql: nextSql, args: { batchRecords, batchBytes } });
  const last = rows.at(-1);
  if (last === undefined) return undefined;
  const position = integer(last, "position") + 1;
  const changes = rows.flatMap((row) => {
    const document = text(row, "document");
    const members = readDocument(document);
    const measures = members && measuresOf(JSON.parse(document), members);
    return measures === undefined || measures === row.measures ? [] : [[row.position, measures]];
  });
  await database.write([
    ...(changes.length === 0 ? [] : [{ sql: updateSql, args: { changes: JSON.stringify(changes) } }]),
    { sql: "update reindexing set position = max(position, ?)", args: [position] },
  ]);
  const first = integer(last, "first"), end = integer(last, "end");
  return { records: rows.length, changed: changes.length, share: (position - first) / Math.max(1, end - first) };
}

const nextSql = `
  with chosen(position) as (
    select position from (
      select position, sum(octet_length(document)) over (order by position rows unbounded preceding) as bytes,
        row_number() over (order by position) as nth
      from (
        select position, document from diagnoses
        where position >= (select position from reindexing) order by position limit :batchRecords
      )
    )
    where nth = 1 or bytes <= :batchBytes
  )
  select d.position, d.measures, d.document, (select min(position) from diagnoses) as first,
    (select max(position) + 1 from diagnoses) as end
  from chosen cross join diagnoses d on d.position = chosen.position
  order by d.position`;

// A record that was deleted meanwhile stays deleted.
const updateSql = `
  update diagnoses set measures = r.value ->> 1 from json_each(:changes) r where diagnoses.position = r.value ->> 0`;
