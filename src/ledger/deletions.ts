// Deleting single records: an entry in deleted_diagnoses takes the place of each, so that the ledger still balances.
import type { Database } from "../database/database.ts";

/** Deletes the records at these positions, of those that are there still; gives how many. */
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
