// Reads the call log, which only the ledger writes.
import type { Page } from "../common/domain.ts";
import type { DeploymentId, KeyId, RolloutId, WorkspaceId } from "../common/ids.ts";
import { Call } from "../schema/ledger.ts";
import type { Operation } from "../schema/ledger.ts";
import { commitAt, findLogRange, idAt, inTime, newestPositions, readNewest } from "../ledger/blocks.ts";
import type { LogRange, SearchRequest, TimeRange } from "../ledger/blocks.ts";
import type { Database } from "../database/database.ts";
import { readerOf } from "../database/row.ts";

/** Filter of a workspace's accepted requests. */
type CallFilter = TimeRange & {
  workspaceId: WorkspaceId;
  keyId?: KeyId | undefined;
  deployId?: DeploymentId | undefined;
  promptVersion?: number | undefined;
  rollout?: RolloutId | undefined;
  operation?: Operation | undefined;
};

const scanLimit = { query: 65_536, least: 65_536 };

/** The accepted requests of a workspace, newest first. */
export async function listCalls(
  database: Database,
  filter: CallFilter,
  { cursor, ...request }: SearchRequest,
): Promise<Page<Call>> {
  const { first, end } = await findLogRange(database, filter);
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  const columns: Record<string, string> = {
    workspaceId: "r.workspace_id",
    keyId: "r.api_key_id",
    deployId: "r.deployment_id",
    promptVersion: "r.prompt_version",
    rollout: "r.rollout_id",
    operation: "r.operation",
  };
  const conditions = given.filter(([name]) => name in columns).map(([name]) => `${columns[name]} = :${name}`);
  // A row covers up to 256 calls. They may begin before the range and end after it.
  const condition = `${conditions.join(" and ")} and ${inTime(filter, "r.position")}`;
  const sql = `
    with recursive call(position, number, rest, row) as (
      select position + count - 1, number + count - 1, count - 1, position
      from calls where position in (${newestPositions(condition, ":first - 255")})
      union all select position - 1, number - 1, rest - 1, row from call where rest > 0
      order by 1 desc limit :limit + 255
    )
    select call.position, ${
    idAt("call", "call.position")
  } as id, c.operation, call.number, m.month, c.api_key_id as key_id,
      c.deployment_id as deploy_id, c.prompt_version, c.rollout_id as rollout, m.created_at
    from call cross join calls c on c.position = call.row cross join ${commitAt("call.position")}
    where call.position >= :first and call.position < :end
    order by call.position desc limit :limit`;
  const query = (range: LogRange & { limit: number }) => ({ sql, args: { ...Object.fromEntries(given), ...range } });
  const before = Math.min(end, cursor === undefined ? end : Number(cursor));
  const { rows, nextCursor } = await readNewest(database, query, { first, end: before }, request, scanLimit);
  return { items: rows.map(toCall), nextCursor };
}

const toCall = readerOf(Call);
