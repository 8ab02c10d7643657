// What a caller may not see is as if absent: what belongs to a workspace that is being deleted, though some of it is there
// still, and for a caller who is bound to a workspace all that belongs to others.
import { notFound } from "../common/errors.ts";
import { readSlotId } from "../common/ids.ts";
import type { WorkspaceId } from "../common/ids.ts";
import type { Database } from "../database/database.ts";
import { integer } from "../database/row.ts";
import { nounOf } from "../schema/struct.ts";
import type { Schema } from "../schema/struct.ts";

/** A member of an input that names something: its noun and its id. */
export type Named = { noun: string; id: string };

/** What an input names by ids, which its schema declares by nouns. */
export const namedIn = (schema: Schema, input: object): Named[] =>
  Object.entries(input).flatMap(([name, id]) => {
    const noun = nounOf(schema[name] ?? {});
    return noun === undefined || !nouns.has(noun) || typeof id !== "string" ? [] : [{ noun, id }];
  });

/** Refuses to name what is hidden, the first in the order of the input, as if it were absent. */
export async function refuseHidden(
  database: Database,
  all: Named[],
  { seesDeleted = false, bound }: { seesDeleted?: boolean | undefined; bound: WorkspaceId | undefined },
): Promise<void> {
  if (all.length === 0 || seesDeleted && bound === undefined) return;
  const { id: diagnosisId = "" } = all.find(({ noun }) => noun === "Diagnosis") ?? {};
  const { commitId = "", slot = 0 } = readSlotId("diag", diagnosisId) ?? {};
  const args = { diagnosisId, commitId, slot, seesDeleted: Number(seesDeleted), bound: bound ?? null };
  const [row] = await database.read({ sql, args: { named: JSON.stringify(all), ...args } });
  if (row === undefined) return;
  // The id is not read back: SQLite may hold text that is no Unicode, which cannot be read.
  const { noun, id } = all[integer(row, "place")]!;
  throw notFound(noun, id);
}

const tables: Record<string, string> = {
  "API key": "api_keys",
  Prompt: "prompts",
  Deployment: "deployments",
  Token: "management_tokens",
};

const nouns = new Set(["Workspace", "Diagnosis", ...Object.keys(tables)]);

const owners = Object.entries(tables).map(([noun, table]) =>
  `union all select n.place, o.workspace_id
      from named n cross join ${table} o on o.id = n.id where n.noun = '${noun}'`
);

/**
 * A caller who is bound may name only what the workspace owns. Thereby what others own and what does not exist are refused
 * alike, and a token for all workspaces is out of reach. To other callers, what does not exist is refused by the operation.
 */
const sql = `
  with named(place, noun, id) as (select key, value ->> 'noun', value ->> 'id' from json_each(:named)),
  owned(place, workspace_id) as (
    select place, id from named where noun = 'Workspace'
    ${owners.join("\n    ")}
    union all select n.place, c.workspace_id
      from named n cross join commits m on m.id = :commitId cross join calls c on c.position = (
        select max(position) from calls where position <= m.position + :slot
      )
      where n.noun = 'Diagnosis' and n.id = :diagnosisId
  )
  select n.place from named n left join owned o on o.place = n.place
  where :bound is not null and o.workspace_id is not :bound
    or not :seesDeleted and o.workspace_id in (select id from deleted_workspaces where finished_at is null)
  order by n.place limit 1`;
