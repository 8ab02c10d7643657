// What belongs to a workspace that is being deleted is hidden, though some of it is there still.
import { notFound } from "../common/errors.ts";
import { readSlotId } from "../common/ids.ts";
import type { Database } from "../database/database.ts";
import { text } from "../database/row.ts";

const nouns: Record<string, string> = {
  ws: "Workspace",
  key: "API key",
  prompt: "Prompt",
  dep: "Deployment",
  diag: "Diagnosis",
};

const prefixOf = (value: string): string => /^[a-z]+(?=_)/.exec(value)?.[0] ?? "";

/** Refuses input that names anything of such a workspace by its id. */
export async function refuseHidden(database: Database, input: object): Promise<void> {
  const ids = Object.values(input).filter((value): value is string =>
    typeof value === "string" && Object.hasOwn(nouns, prefixOf(value))
  );
  if (ids.length === 0) return;
  const { commitId = "", slot = 0 } = ids.map((id) => readSlotId("diag", id)).find((each) => each !== undefined) ?? {};
  const diagnosisId = ids.find((id) => prefixOf(id) === "diag") ?? "";
  const [row] = await database.read({ sql, args: { ids: JSON.stringify(ids), diagnosisId, commitId, slot } });
  if (row !== undefined) throw notFound(nouns[prefixOf(text(row, "id"))]!, text(row, "id"));
}

const sql = `
  with named(id) as (select value from json_each(:ids)),
  owned(id, workspace_id) as (
    select id, id from named
    union all select k.id, k.workspace_id from named n cross join api_keys k on k.id = n.id
    union all select p.id, p.workspace_id from named n cross join prompts p on p.id = n.id
    union all select d.id, d.workspace_id from named n cross join deployments d on d.id = n.id
    union all select :diagnosisId, c.workspace_id
      from commits m cross join calls c on c.position = (
        select max(position) from calls where position <= m.position + :slot
      )
      where m.id = :commitId
  )
  select o.id from deleted_workspaces w cross join owned o on o.workspace_id = w.id where w.finished_at is null limit 1`;
