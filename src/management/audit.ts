// The audit log: who changed what, and when. Each entry is written in the transaction of its change, and never changed.
import type { Page } from "../common/domain.ts";
import { notFound } from "../common/errors.ts";
import type { TokenId, WorkspaceId } from "../common/ids.ts";
import type { Row } from "../database/database.ts";
import { eachPage, readPage } from "../database/page.ts";
import { text } from "../database/row.ts";
import { described, exactly, named, nullable, oneOf, optional, predicate } from "../schema/struct.ts";
import type { Infer, Members } from "../schema/struct.ts";
import * as v from "./values.ts";
import { toEntry } from "./audit-chain.ts";
import { ExportText, toLines } from "./export.ts";
import { operation, pageOf, sources } from "./operation.ts";
import type { Management, Source } from "./operation.ts";
import { timeRange } from "./records.ts";

const AuditEntry = named(
  "AuditEntry",
  exactly({
    position: described(v.positive, "Its number in the log, from 1 without gaps"),
    createdAt: v.timestamp,
    action: described(v.text, "A noun and what happened to it, such as deployment.promoted"),
    targetId: described(nullable(v.text), "The id of what changed; null where all workspaces did"),
    workspaceId: described(nullable(v.textAs<WorkspaceId>()), "The workspace of what changed; null without one"),
    before: described(nullable(v.anyObject), "The members that changed, before; null for what was created"),
    after: described(nullable(v.anyObject), "The members that changed, after; null for what was deleted"),
    source: described(oneOf(...sources), "How the change was made"),
    actor: described(v.text, "The name of the token, or the user of the command line; may be empty"),
    tokenId: described(nullable(v.textAs<TokenId>()), "The token that made the change, or null"),
    note: described(v.text, "Why; may be empty"),
    requestId: described(nullable(v.text), "The id of the request in the log of the service; null without one"),
    hash: described(v.text, "SHA-256 of the hash before and of this entry; empty for one from before the audit log"),
  }),
);
export type AuditEntry = Infer<typeof AuditEntry>;

const actionPattern = String.raw`^[a-z]+(\.[a-z_]+)?$`;
const action = predicate<string>(
  "a noun, or a noun and what happened to it, such as deployment.promoted",
  (value) => typeof value === "string" && new RegExp(actionPattern).test(value),
  { type: "string", pattern: actionPattern },
);
const filter = {
  workspaceId: optional(described(v.workspaceId, "Only of this workspace, which may be deleted")),
  action: optional(described(action, "Only this, such as deployment.promoted, or all of a noun, such as deployment")),
  target: optional(described(v.label, "Only of what has this id")),
  actor: optional(described(v.label, "Only by the token of this name, or this user")),
  ...timeRange,
};
type Filter = Members<typeof filter>;
const options = "[--workspace ID] [--action ACTION] [--target ID] [--actor NAME] [--from TIME] [--to TIME]";

export const listAuditEntries = operation({
  id: "listAuditEntries",
  summary: "List who changed what, newest first",
  method: "GET",
  path: "/audit",
  role: "viewer",
  command: `audit list ${options} [--limit N] [--cursor CURSOR] [--all] [--page]`,
  input: { ...filter, ...v.numberedPage },
  output: pageOf(AuditEntry),
  refusals: ["not_found"],
  isScoped: true,
  seesDeleted: true,
  async run(management, { limit, cursor, ...filter }) {
    await requireKnown(management, filter);
    return await listEntries(management, { ...filter, limit, cursor });
  },
});

/** Refuses a workspace that never was. */
async function requireKnown({ database }: Management, { workspaceId: id }: Filter): Promise<void> {
  if (id === undefined) return;
  const sql = "select id from workspaces where id = :id union all select id from deleted_workspaces where id = :id";
  if ((await database.read({ sql, args: { id } })).length === 0) throw notFound("Workspace", id);
}

const exportPage = 256; // entries

export const exportAuditEntries = operation({
  id: "exportAuditEntries",
  summary: "Export who changed what, newest first, as one JSON document per line",
  method: "GET",
  path: "/audit/export",
  role: "viewer",
  command: `audit export ${options} [--out FILE] [--force]`,
  input: filter,
  output: ExportText,
  refusals: ["not_found"],
  isScoped: true,
  seesDeleted: true,
  isLong: true,
  async run(management, filter) {
    await requireKnown(management, filter);
    const list = (cursor: string | undefined) => listEntries(management, { ...filter, limit: exportPage, cursor });
    const { items, nextCursor } = await list(undefined);
    async function* pages() {
      yield items;
      if (nextCursor !== null) yield* eachPage((cursor = nextCursor) => list(cursor));
    }
    return { name: "audit", format: "ndjson" as const, text: toLines(pages()) };
  },
});

function listEntries(
  { database, caller }: Management,
  { limit, cursor, ...filter }: Filter & Members<typeof v.numberedPage>,
): Promise<Page<AuditEntry>> {
  const given = { ...filter, workspaceId: filter.workspaceId ?? caller.workspaceId };
  const args = Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => value === undefined ? [] : [[name, value]]),
  );
  const wanted = Object.keys(args).map((name) => `and ${conditions[name as keyof Filter]}`).join(" ");
  const sql = `select * from audit_log where position < coalesce(cast(:cursor as integer), ${Number.MAX_SAFE_INTEGER})
    ${wanted} order by position desc limit :rows`;
  return readPage(
    database,
    { limit, cursor },
    (page) => ({ sql, args: { ...args, ...page } }),
    toItem,
    ({ position }) => position,
  );
}

const conditions: Record<keyof Filter, string> = {
  workspaceId: "workspace_id = :workspaceId",
  action: "(action = :action or action glob :action || '.*')",
  target: "target_id = :target",
  actor: "actor = :actor",
  from: "created_at >= :from",
  to: "created_at < :to",
};

const parse = (json: string | null) => json === null ? null : JSON.parse(json) as Record<string, unknown>;

function toItem(row: Row): AuditEntry {
  const { position, createdAt, action, targetId, workspaceId, before, after, ...origin } = toEntry(row);
  const { source, actor, tokenId, note, requestId } = origin;
  return {
    ...{ position, createdAt, action, targetId },
    workspaceId: workspaceId as WorkspaceId | null,
    before: parse(before),
    after: parse(after),
    source: source as Source,
    actor,
    tokenId: tokenId as TokenId | null,
    ...{ note, requestId, hash: text(row, "hash") },
  };
}

export const auditOperations = [listAuditEntries, exportAuditEntries];
