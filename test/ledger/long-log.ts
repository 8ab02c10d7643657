// Makes the log long in little time: by reads, of which a row stands for 256.
import type { Database } from "../../src/database/database.ts";
import { newCommitId } from "../../src/common/ids.ts";
import { monthOf } from "../../src/common/month.ts";
import { noon } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";

const callsPerCommit = 256;

/** Adds at least so many reads of a tenant to the end of the log, and to its quota. */
export async function fillLog(
  database: Database,
  { workspaceId, keyId, deployId }: Tenant,
  positions: number,
  now = noon,
): Promise<void> {
  const commits = Math.ceil(positions / callsPerCommit), month = monthOf(now);
  const ids = JSON.stringify(Array.from({ length: commits }, () => newCommitId(now)));
  const [end] = await database.read({ sql: "select coalesce(max(next_position), 1) as position from commits" });
  const start = Number(end!.position), args = { ids, start, month, now };
  await database.write([
    {
      sql: `insert into commits (position, next_position, id, month, created_at)
        select :start + ${callsPerCommit} * key, :start + ${callsPerCommit} * (key + 1), value, :month, :now
        from json_each(:ids)`,
      args,
    },
    {
      sql:
        `insert into calls (position, count, number, workspace_id, api_key_id, deployment_id, prompt_version, operation)
        select :start + ${callsPerCommit} * e.key, ${callsPerCommit},
          1 + ${callsPerCommit} * e.key + coalesce(
            (select reads + submits from quota_usage where workspace_id = :workspaceId and month = :month), 0
          ), :workspaceId, :keyId, :deployId, 1, 'read'
        from json_each(:ids) e`,
      args: { ids, start, month, workspaceId, keyId, deployId },
    },
    {
      sql: `insert into quota_usage (workspace_id, month, reads, submits) values (:workspaceId, :month, :reads, 0)
        on conflict do update set reads = reads + excluded.reads`,
      args: { workspaceId, month, reads: commits * callsPerCommit },
    },
  ]);
}
