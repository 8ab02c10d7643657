// Deletes single records. A row of deleted_diagnoses replaces each of them, which keeps the ledger balanced.
import type { Statement } from "../database/database.ts";

/** The statements that delete the records at these positions. The first returns a row for each that was still there. */
export function deleteDiagnoses(positions: number[], now: number): Statement[] {
  const args = { positions: JSON.stringify(positions) };
  return [
    {
      sql: `insert into deleted_diagnoses (position, deployment_id, prompt_version, deleted_at)
        select position, deployment_id, prompt_version, :now from diagnoses
        where position in (select value from json_each(:positions)) returning position`,
      args: { ...args, now },
    },
    { sql: "delete from diagnoses where position in (select value from json_each(:positions))", args },
  ];
}
