// Notices for API keys and management tokens that will expire.
import type { WorkspaceId } from "../../common/ids.ts";
import type { Row } from "../../database/database.ts";
import { integer, text, textOrNull } from "../../database/row.ts";
import { announce, batch, isNew } from "../kernel/notices.ts";
import type { Notice } from "../kernel/notices.ts";
import { nouns } from "../kernel/nouns.ts";
import type { Store } from "../kernel/operation.ts";

const day = 86_400_000; // ms

/**
 * Notices fourteen days before the expiry, and three. Secrets with a shorter lifetime get none. Once three days are
 * left, the fourteen have passed.
 */
const expiring = (noun: "key" | "token") => `
  select '${noun}' as noun, h.id, h.workspace_id, h.name, h.expires_at, s.days
  from (select 14 as days, 3 as least union all select 3, 0) s cross join ${nouns[noun].tables[0].name} h
    on h.expires_at > :now + s.least * ${day} and h.expires_at <= :now + s.days * ${day} and h.revoked_at is null
  where max(h.created_at, coalesce(h.rotated_at, 0)) < h.expires_at - s.days * ${day}
    and coalesce(h.workspace_id, '') not in (select id from deleted_workspaces)
    and ${isNew(`${noun}.expiring`, "h.id", "h.expires_at || ' ' || s.days")}`;

const all = `${expiring("key")} union all ${expiring("token")} order by id limit ${batch}`;

async function findExpiring({ database, clock }: Store): Promise<Notice[]> {
  return (await database.read({ sql: all, args: { now: clock() } })).map(toNotice);
}

function toNotice(row: Row): Notice {
  const noun = text<"key" | "token">(row, "noun"), subject = text(row, "id");
  const expiresAt = integer(row, "expires_at"), days = integer(row, "days");
  return {
    action: `${noun}.expiring`,
    ...{ subject, fact: `${expiresAt} ${days}`, workspaceId: textOrNull(row, "workspace_id") as WorkspaceId | null },
    data: { expiresAt, days },
    note: `The ${noun} expires in less than ${days} days, at ${new Date(expiresAt).toISOString()}`,
  };
}

export async function noticeExpiries(store: Store, isOver: () => boolean): Promise<void> {
  await announce(store, isOver, findExpiring);
}
