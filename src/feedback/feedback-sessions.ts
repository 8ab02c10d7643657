// Finds the records for feedback on sessions, however old they are. Records are not indexed by session, since each
// submit would have to write that, so the search looks up each session in every block of the log.
import type { DeploymentRef } from "../common/reference.ts";
import { toSqlJson } from "../common/json-text.ts";
import type { Database } from "../database/database.ts";
import { findFirst } from "../database/page.ts";
import { integer, text } from "../database/row.ts";
import { isVisible, namedDeployment } from "../ledger/authorize.ts";
import { blocksOfRange } from "../ledger/blocks.ts";
import { jsonTable } from "../ledger/statements.ts";

/** A session of a deployment. */
export type Session = { deployId: DeploymentRef; sessionId: string };

/**
 * The positions of the newest records of sessions, by their places in the list. Sessions without a record have none.
 * Unless the search is complete, it ran out of time, and sessions without a position may have a record.
 */
export type SessionPositions = { refusal?: undefined; positions: ReadonlyMap<number, number>; isComplete: boolean };

/** Reason why nothing was searched: the key is invalid, or may not give feedback. */
export type SearchRefusal = { refusal: "key_invalid" | "feedback_forbidden" };

const sliceLength = { first: 4_096, most: 65_536 }; // positions that one query searches: some ms for 20 sessions

// Skips records of the workspace that were pruned, or deleted by its retention.
const startSql = `
  with ${jsonTable("named", ["deployment"], "deployments")}
  select coalesce(k.read_only and not k.submit_only, 0) as is_forbidden,
    max(
      coalesce((select min(position) from commits), 1),
      coalesce((select max(position, records_position) from prunings where workspace_id = w.id), 0)
    ) as first,
    coalesce((select next_position from commits order by position desc limit 1), 1) as end,
    (
      select json_group_array(json_array(b.ordinal, d.id))
      from named b cross join deployments d on d.id = ${namedDeployment} and ${isVisible}
    ) as deployments
  from api_key_secrets k cross join workspaces w on w.id = k.workspace_id
  where k.hash = :keyHash and (k.expires_at is null or k.expires_at > :now)`;

// For each session, sorts one row per block instead of one per record.
const sliceSql = `${blocksOfRange},
  ${jsonTable("session", ["place", "deployment", "id"], "sessions")}
  select place, max(position) as position from (
    select s.place, (
      select max(d.position) from diagnoses d
      where d.position >> 8 = block.number and d.deployment_id = s.deployment and d.session_id = s.id
        and d.position >= :first and d.position < :end
    ) as position
    from block cross join session s
  ) where position is not null group by place`;

/** Searches the log for the newest record of each session that the key may see, until `isOver`. */
export async function findNewestOfSessions(
  database: Database,
  { keyHash, now }: { keyHash: string; now: number },
  sessions: readonly Session[],
  isOver: () => boolean,
): Promise<SessionPositions | SearchRefusal> {
  const deployments = toSqlJson(sessions.map(({ deployId }) => [deployId]));
  const [start] = await database.read({ sql: startSql, args: { deployments, keyHash, now } });
  if (start === undefined) return { refusal: "key_invalid" };
  if (integer(start, "is_forbidden") === 1) return { refusal: "feedback_forbidden" };
  const places: [number, string][] = JSON.parse(text(start, "deployments"));
  const left = new Map(places.map(([place, id]) => [place, [place, id, sessions[place]!.sessionId]]));
  const first = integer(start, "first"), positions = new Map<number, number>();
  let length = sliceLength.first;
  /** A page of the search has an item once nothing is left to find. */
  async function searchSlice(end: number) {
    const low = Math.max(first, end - length);
    length = Math.min(4 * length, sliceLength.most);
    if (left.size > 0 && low < end) {
      const args = { first: low, end, sessions: toSqlJson([...left.values()]) };
      for (const row of await database.read({ sql: sliceSql, args })) {
        positions.set(integer(row, "place"), integer(row, "position"));
        left.delete(integer(row, "place"));
      }
    }
    return { items: left.size === 0 ? [positions] : [], nextCursor: low > first ? String(low) : null };
  }
  const { outcome } = await findFirst(
    (cursor) => searchSlice(cursor === undefined ? integer(start, "end") : Number(cursor)),
    isOver,
  );
  return { positions, isComplete: outcome !== "out_of_time" };
}
