// The audit log: who changed what, and when. Each entry is written in the transaction of its change, and never
// modified.
import type { Page, PageRequest } from "../../common/domain.ts";
import { notFound } from "../../common/errors.ts";
import type { TokenId, WorkspaceId } from "../../common/ids.ts";
import type { Row } from "../../database/database.ts";
import { eachPage, readPage } from "../../database/page.ts";
import { integer, text } from "../../database/row.ts";
import { described, oneOf, option, orNull, shape } from "../../schema/struct.ts";
import type { Infer, Members } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { toEntry } from "../kernel/audit-chain.ts";
import { hidingHashes, listSealed } from "../kernel/cursors.ts";
import { actionOf } from "../kernel/event-types.ts";
import { toLines } from "../kernel/export.ts";
import { exportOperation, listOperation } from "../kernel/declare.ts";
import { pageOf, sources } from "../kernel/operation.ts";
import type { Management, Source, Store } from "../kernel/operation.ts";
import { timeRange } from "../records/record-filter.ts";

const AuditEntry = shape("AuditEntry", {
  position: described(
    v.positive,
    "The number of the entry, from 1 without gaps. For a token of one workspace, among the entries of that workspace",
  ),
  createdAt: v.timestamp,
  action: described(v.text, "A noun and what happened to it, such as deployment.promoted"),
  targetId: orNull(v.text, "The id of what changed. Null if all workspaces changed"),
  workspaceId: orNull(v.textAs<WorkspaceId>(), "The workspace of what changed, or null"),
  before: orNull(v.anyObject, "The members that changed, with their values before. Null for a creation"),
  after: orNull(v.anyObject, "The members that changed, with their values after. Null for a deletion"),
  source: described(oneOf(...sources), "How the change was made"),
  actor: described(v.text, "The name of the token, or the user of the command line. It may be empty"),
  tokenId: orNull(v.textAs<TokenId>(), "The token that made the change, or null"),
  note: described(v.text, "The reason that was given. It may be empty"),
  requestId: orNull(v.text, "The id of the request in the log of the service, or null"),
  hash: described(
    v.text,
    "SHA-256 of the hash before it and of this entry. Empty for an entry that is older than the audit log. A token of one " +
      "workspace gets another hash, which changes if this one does",
  ),
});
export type AuditEntry = Infer<typeof AuditEntry>;

const oneAction = String.raw`[a-z_]+(\.([a-z_]+|\*))?`;
const action = v.matching(
  "actions such as deployment.promoted, or nouns such as deployment, separated by commas",
  String.raw`^${oneAction}(,${oneAction})*$`,
);
const filter = {
  workspaceId: option(v.workspaceId, "Only entries of this workspace, which may have been deleted"),
  action: option(
    action,
    "Only these actions or types of events, such as deployment.promoted, or all of a noun, such as deployment",
  ),
  target: option(v.label, "Only changes to the object with this id"),
  actor: option(v.label, "Only changes by the token or the user of this name"),
  ...timeRange,
};
type Filter = Members<typeof filter>;
const options = "[--action ACTION] [--target ID]";

export const listAuditEntries = listOperation({
  id: "listAuditEntries",
  summary: "List the audit log, newest entry first",
  path: "/audit",
  paged: "newest",
  command: `audit list ${options} [--limit N] [--cursor CURSOR] [--all] [--page]`,
  input: { ...filter, ...v.page },
  output: pageOf(AuditEntry),
  isScoped: true,
  seesDeleted: true,
  async run(management, { limit, cursor, ...filter }) {
    await requireKnown(management, filter);
    return await listSealed(
      management,
      "audit",
      management.caller.workspaceId,
      { limit, cursor },
      (page) => listEntries(management, filter, page),
    );
  },
});

/** Throws if a workspace never existed. */
export async function requireKnown(
  { database, visible }: Store,
  { workspaceId: id }: Pick<Filter, "workspaceId">,
): Promise<void> {
  if (id === undefined || visible?.has(id)) return;
  const sql = "select id from workspaces where id = :id union all select id from deleted_workspaces where id = :id";
  if ((await database.read({ sql, args: { id } })).length === 0) throw notFound("Workspace", id);
}

const exportPage = 100; // entries

export const exportAuditEntries = exportOperation({
  id: "exportAuditEntries",
  summary: "Export the audit log, newest entry first, as one JSON document per line",
  path: "/audit/export",
  command: `audit export ${options} [--out FILE] [--force]`,
  input: filter,
  isScoped: true,
  seesDeleted: true,
  async run(management, filter) {
    await requireKnown(management, filter);
    const list = (cursor: string | undefined) => listEntries(management, filter, { limit: exportPage, cursor });
    const { items, nextCursor } = await list(undefined);
    async function* pages() {
      yield items;
      if (nextCursor !== null) yield* eachPage((cursor = nextCursor) => list(cursor));
    }
    return { name: "audit", format: "ndjson" as const, text: toLines(pages()) };
  },
});

async function listEntries(
  { database, caller }: Management,
  filter: Filter,
  { limit, cursor }: PageRequest,
): Promise<Page<AuditEntry>> {
  const bound = caller.workspaceId;
  const { action, ...others } = { ...filter, workspaceId: filter.workspaceId ?? bound };
  const given = { ...others, action: action === undefined ? undefined : toGlobs(action) };
  const args = Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => value === undefined ? [] : [[name, value]]),
  );
  const clauses = Object.keys(args).map((name) => `and ${conditions[name as keyof Filter]}`).join(" ");
  const sql = `
    with page as materialized (
      select * from audit_log where position < coalesce(cast(:cursor as integer), ${Number.MAX_SAFE_INTEGER})
        ${clauses} order by position desc limit :rows
    )
    select *, ${bound === undefined ? "position" : numberInWorkspace} as number
    from (select *, lag(position, 1, 0) over (order by position) as before_it from page) e order by position desc`;
  const query = (page: object) => ({ sql, args: { ...args, ...page } });
  const { items, nextCursor } = await readPage(
    database,
    { limit, cursor },
    query,
    (row) => row,
    (row) => integer(row, "position"),
  );
  const hide = bound === undefined ? (hash: string) => hash : await hidingHashes(database, bound);
  return { items: await Promise.all(items.map(async (row) => toItem(row, await hide(text(row, "hash"))))), nextCursor };
}

/** Globs for actions, as JSON, from types of events and nouns. */
const toGlobs = (given: string): string =>
  JSON.stringify(given.split(",").map((each) => each.includes(".") ? actionOf(each) : `${each}.*`));

/** Position of a row among the workspace's entries, by counting those since the row before it. */
const numberInWorkspace = `sum((
    select count(*) from audit_log o
    where o.workspace_id = :workspaceId and o.position > e.before_it and o.position <= e.position
  )) over (order by e.position)`;

const conditions: Record<keyof Filter, string> = {
  workspaceId: "workspace_id = :workspaceId",
  action: "exists (select 1 from json_each(:action) where action glob value)",
  target: "target_id = :target",
  actor: "actor = :actor",
  from: "created_at >= :from",
  to: "created_at < :to",
};

const parse = (json: string | null) => json === null ? null : JSON.parse(json) as Record<string, unknown>;

function toItem(row: Row, hash: string): AuditEntry {
  const { createdAt, action, targetId, workspaceId, before, after, ...origin } = toEntry(row);
  const { source, actor, tokenId, note, requestId } = origin;
  return {
    ...{ position: integer(row, "number"), createdAt, action, targetId },
    workspaceId: workspaceId as WorkspaceId | null,
    before: parse(before),
    after: parse(after),
    source: source as Source,
    actor,
    tokenId: tokenId as TokenId | null,
    ...{ note, requestId, hash },
  };
}

export const auditOperations = [listAuditEntries, exportAuditEntries];
