// Deletes single records. A row of deleted_diagnoses replaces each of them, so that the ledger still balances.
import type { Database } from "../database/database.ts";

/** Deletes the records at these positions. Returns how many of them still existed. */
export async function deleteDiagnoses(database: Database, positions: number[], now: number): Promise<number> {
  const args = { positions: JSON.stringify(positions) };
  const [deleted] = await database.write([
    {
      sql: `insert into deleted_diagnoses (position, deployment_id, prompt_version, deleted_at)
        select position, deployment_id, prompt_version, :now from diagnoses
        where position in (select value from json_each(:positions)) returning position`,
      args: { ...args, now },
    },
    { sql: "delete from diagnoses where position in (select value from json_each(:positions))", args },
  ]);
  return deleted!.length;
}
