// Figures of single records from the index, with their models and costs.
import { readSlotId } from "../common/ids.ts";
import type { DeploymentId, PromptId, RecordId, WorkspaceId } from "../common/ids.ts";
import type { Database } from "../database/database.ts";
import { integer, text } from "../database/row.ts";
import type { LogRange } from "../ledger/blocks.ts";
import { scan } from "../log/scan.ts";
import type { Costing, MeasuredRecord } from "../log/slices.ts";

export type Placed = { id: RecordId; position: number; deployId: DeploymentId; promptId: PromptId };

/** Finds the places of records by id. Leaves out ids that the workspace does not have. */
export async function placeRecords(
  database: Database,
  workspaceId: WorkspaceId,
  ids: readonly RecordId[],
): Promise<Placed[]> {
  const wanted = [...new Set(ids)].flatMap((id) => {
    const slot = readSlotId("diag", id);
    return slot === undefined ? [] : [{ id, ...slot }];
  });
  const rows = await database.read({
    sql: `
      select w.value ->> 'id' as id, d.position, d.deployment_id, y.prompt_id
      from json_each(:wanted) w
      cross join commits m on m.id = w.value ->> 'commitId'
      cross join diagnoses d on d.position = m.position + (w.value ->> 'slot') and d.position < m.next_position
      cross join deployments y on y.id = d.deployment_id and y.workspace_id = :workspaceId
      order by w.key`,
    args: { wanted: JSON.stringify(wanted), workspaceId },
  });
  return rows.map((row) => ({
    id: text<RecordId>(row, "id"),
    position: integer(row, "position"),
    deployId: text<DeploymentId>(row, "deployment_id"),
    promptId: text<PromptId>(row, "prompt_id"),
  }));
}

/** The figures of records at these places, by position. `deployIds` are those of the costing. */
export async function measureRecords(
  database: Database,
  placed: readonly Placed[],
  { deployIds, costing }: { deployIds: DeploymentId[]; costing: Costing },
): Promise<Map<number, MeasuredRecord>> {
  const found = new Map<number, MeasuredRecord>();
  const wanted = new Set(placed.map(({ position }) => position));
  await Promise.all(
    rangesOf([...wanted]).map((range) =>
      scan(database, { filter: { deployIds }, costing }, range, (record) => {
        if (wanted.has(record.position)) found.set(record.position, { ...record });
      })
    ),
  );
  return found;
}

const nearby = 256; // maximum gap of unneeded positions to read instead of starting another query

/** Ranges of the log that contain all positions. */
function rangesOf(positions: number[]): LogRange[] {
  const ranges: LogRange[] = [];
  for (const position of positions.sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && position < last.end + nearby) last.end = position + 1;
    else ranges.push({ first: position, end: position + 1 });
  }
  return ranges;
}
