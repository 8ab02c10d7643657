// The contents of a workspace's prompts in pages, for folders of prompt files.
import type { Page } from "../../common/domain.ts";
import { defaultPageSize, pageBytes } from "../../database/page.ts";
import { integer } from "../../database/row.ts";
import { oneOf, option, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { listOperation } from "../kernel/declare.ts";
import { pageOf } from "../kernel/operation.ts";
import { authorship, bytesOfVersion, PromptVersion, pushesOf, toAuthorship, toVersion } from "./versions.ts";

const PromptContents = shape("PromptContents", { ...PromptVersion.schema, ...authorship });
export type PromptContents = Infer<typeof PromptContents>;

const chosen = {
  newest: "v.version = (select max(version) from prompt_versions where prompt_id = p.id)",
  live: `exists (
    select 1 from deployments d
    where d.prompt_id = p.id and d.current_version = v.version and d.archived_at is null and d.prompt_archived_at is null
  )`,
  all: "true",
} as const;

export const listPromptContents = listOperation({
  id: "listPromptContents",
  summary: "List the contents of a workspace's prompts, the oldest prompt and version first. A page may be short",
  path: "/workspaces/{workspaceId}/prompt-contents",
  input: {
    workspaceId: v.workspaceId,
    versions: option(oneOf("newest", "live", "all"), "Which versions of each prompt", { default: "newest" }),
    ...v.archivable,
    ...v.page,
  },
  output: pageOf(PromptContents),
  async run(
    management,
    { workspaceId, versions = "newest", archived, limit = defaultPageSize, cursor = "" },
  ): Promise<Page<PromptContents>> {
    // The cursor is the id of a prompt and a version.
    const [, promptId = "", version = "0"] = /^(\w+)_(\d{1,15})$/.exec(cursor) ?? [];
    const rows = await management.database.read({
      sql: `
        with page as materialized (
          select prompt_id, version, row_number() over wanted as nth,
            sum(bytes) over (wanted rows unbounded preceding) as bytes
          from (
            select v.prompt_id, v.version, ${bytesOfVersion} as bytes
            from prompts p join prompt_versions v on v.prompt_id = p.id
            where p.workspace_id = :workspaceId and ${archived ? "true" : "p.archived_at is null"}
              and (v.prompt_id, v.version) > (:promptId, :version) and ${chosen[versions]}
            order by v.prompt_id, v.version limit :rows
          ) window wanted as (order by prompt_id, version)
        ), pushes as materialized (${pushesOf("select prompt_id from page")})
        select v.prompt_id as id, p.name, v.version, v.title, v.description, v.messages, v.llm_config, v.declarations,
          v.note, v.created_at,
          e.actor, e.source, e.after -> 'origin' as origin, (select count(*) from page) as found
        from page cross join prompt_versions v on v.prompt_id = page.prompt_id and v.version = page.version
        cross join prompts p on p.id = v.prompt_id
        left join pushes on pushes.prompt_id = v.prompt_id and pushes.version = v.version
        left join audit_log e on e.position = pushes.position
        where page.nth = 1 or page.bytes <= ${pageBytes}
        order by v.prompt_id, v.version`,
      args: { workspaceId, promptId, version: Number(version), rows: limit + 1 },
    });
    const items = rows.slice(0, limit).map((row) => ({ ...toVersion(row), ...toAuthorship(row) }));
    const last = items.at(-1), found = rows.length === 0 ? 0 : integer(rows[0]!, "found");
    return { items, nextCursor: last === undefined || found === items.length ? null : `${last.id}_${last.version}` };
  },
});
