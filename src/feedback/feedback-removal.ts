// Removes feedback before its records go, where it is more than one transaction should remove with them.
import { withArgs } from "../database/database.ts";
import type { Database } from "../database/database.ts";
import { integer } from "../database/row.ts";

const batchRows = 512; // some 10 ms

/** SQL that joins records (d): a `with` clause or nothing, the joins, and the conditions. */
export type RecordsSql = { begin: string; joins: string; conditions: string };

const recordsAt: RecordsSql = {
  begin: "",
  joins: "json_each(:positions) e cross join diagnoses d on d.position = e.value",
  conditions: "true",
};

/** Removes all but a little of the feedback on the records at these positions, if that is much. */
export async function removeMuchFeedbackAt(database: Database, positions: number[]): Promise<void> {
  const args = { positions: JSON.stringify(positions) };
  let isMuch = true;
  while (isMuch) isMuch = await removeMuchFeedback(database, recordsAt, args);
}

/**
 * Removes a part of the feedback on records, if that is much. Otherwise it goes with them, and false is returned. Pieces go
 * before what they replaced, and that of a piece goes at once, so that every history stays whole.
 */
export async function removeMuchFeedback(
  database: Database,
  { begin, joins, conditions }: RecordsSql,
  args: Record<string, string | number | null>,
): Promise<boolean> {
  const some = (table: string, columns: string) =>
    `select ${columns} from ${joins} cross join ${table} f on f.position = d.position where ${conditions} limit :rows`;
  const countOf = (table: string) => `(select count(*) from (${some(table, "1")}))`;
  const bound = { ...args, rows: batchRows };
  const counts = `${begin} select ${countOf("feedback")} as pieces, ${countOf("earlier_feedback")} as earlier`;
  const [row] = await database.read(withArgs(counts, bound));
  const pieces = integer(row!, "pieces");
  if (pieces < batchRows && integer(row!, "earlier") < batchRows) return false;
  const table = pieces > 0 ? "feedback" : "earlier_feedback";
  const statements = [
    `${begin} insert into changed_blocks (number, changes)
      select distinct position >> 8, 1 from (${some(table, "f.position")}) where true
      on conflict do update set changes = changes + 1`,
    `${begin} delete from ${table} where (position, name, author) in (
      select position, name, author from (${some(table, "f.position, f.name, f.author")})
    )`,
  ];
  await database.write(statements.map((sql) => withArgs(sql, bound)));
  return true;
}
