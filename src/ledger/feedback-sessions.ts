// Finds the record that feedback about a session is about.
import type { DeploymentId, WorkspaceId } from "../common/ids.ts";
import type { Database } from "../database/database.ts";
import { text } from "../database/row.ts";
import { findPositions } from "./diagnoses.ts";
import { noCosting } from "./scan.ts";

/**
 * The position of the newest record of a session in a deployment, which an id or a reference names. It is looked for among the
 * newest million positions of the log.
 */
export async function findLastOfSession(
  database: Database,
  workspaceId: WorkspaceId,
  deployment: string,
  sessionId: string,
): Promise<number | undefined> {
  const [row] = await database.read({
    sql: `select id from deployments where id = :deployment and workspace_id = :workspaceId
      union all select d.id from prompts p cross join deployments d on d.prompt_id = p.id
        where p.workspace_id = :workspaceId and p.name = :prompt and d.name = :name`,
    args: { deployment, workspaceId, ...partsOf(deployment) },
  });
  if (row === undefined) return undefined;
  const filter = { deployIds: [text<DeploymentId>(row, "id")], sessionIds: [sessionId] };
  const { positions } = await findPositions(database, { filter, costing: noCosting }, { limit: 1 });
  return positions[0];
}

const partsOf = (reference: string) => {
  const at = reference.indexOf("@");
  return at < 0 ? { prompt: "", name: "" } : { prompt: reference.slice(0, at), name: reference.slice(at + 1) };
};
