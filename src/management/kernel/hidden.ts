// Resources that a caller may not see look missing: everything in a workspace that is being deleted, though some of it
// is still stored, and for a caller who is bound to a workspace everything in other workspaces.
import { notFound } from "../../common/errors.ts";
import { readSlotId } from "../../common/ids.ts";
import type { WorkspaceId } from "../../common/ids.ts";
import type { Database } from "../../database/database.ts";
import { integer } from "../../database/row.ts";
import { nounOf } from "../../schema/struct.ts";
import type { Schema } from "../../schema/struct.ts";
import { allNouns } from "./nouns.ts";

/** A member of an input that names something: its noun, its id and its own name. */
export type Named = { noun: string; id: string; field?: string };

/** The ids in an input, with their nouns, which the schema declares. */
export const namedIn = (schema: Schema, input: object): Named[] =>
  Object.entries(input).flatMap(([name, id]) => {
    const noun = nounOf(schema[name] ?? {});
    return noun === undefined || !hideable.has(noun) || typeof id !== "string" ? [] : [{ noun, id, field: name }];
  });

/** The caller's view: the ids in `visible` have been checked, and those that pass are added. */
type View = {
  seesDeleted?: boolean | undefined;
  bound: WorkspaceId | undefined;
  visible?: Set<string> | undefined;
};

/** Throws that the first id that names something hidden, in the order of the input, was not found. */
export async function refuseHidden(
  database: Database,
  named: Named[],
  { seesDeleted = false, bound, visible }: View,
): Promise<void> {
  const all = named.filter(({ id }) => !visible?.has(id));
  if (all.length === 0 || seesDeleted && bound === undefined) return;
  const { id: recordId = "" } = all.find(({ noun }) => noun === "Record") ?? {};
  const { commitId = "", slot = 0 } = readSlotId("diag", recordId) ?? {};
  const args = { recordId, commitId, slot, seesDeleted: Number(seesDeleted), bound: bound ?? null };
  // Without the names of members, so that a page asks once for what several inputs name.
  const ids = JSON.stringify(all.map(({ noun, id }) => ({ noun, id })));
  const [row] = await database.read({ sql, args: { named: ids, ...args } });
  if (row === undefined) {
    if (!seesDeleted) all.forEach(({ id }) => visible?.add(id));
    return;
  }
  // The query does not return the id, because SQLite may hold text that is invalid Unicode and cannot be read back.
  const { noun, id, field } = all[integer(row, "ordinal")]!;
  throw notFound(noun, id, field);
}

/** Nouns that belong to a workspace and have an id. The query itself handles workspaces and records. */
const owned = [...allNouns.values()].filter(({ owner, prefix }) => owner !== "service" && prefix !== undefined);
const hideable = new Set(owned.map(({ name }) => name));

const owners = owned.flatMap(({ name, tables: [first] }) =>
  first?.key !== undefined || first?.name === "workspaces" ? [] : [
    `union all select n.ordinal, o.workspace_id
      from named n cross join ${first!.name} o on o.id = n.id where n.noun = '${name}'`,
  ]
);

/**
 * Refuses a workspace that does not exist. A bound caller may name only resources of its workspace. So foreign and
 * missing resources are indistinguishable, and a token for all workspaces is out of reach. For other callers, the
 * operation refuses anything else that does not exist.
 */
const sql = `
  with named(ordinal, noun, id) as (select key, value ->> 'noun', value ->> 'id' from json_each(:named)),
  owned(ordinal, workspace_id) as (
    select ordinal, id from named where noun = 'Workspace'
    ${owners.join("\n    ")}
    union all select n.ordinal, c.workspace_id
      from named n cross join commits m on m.id = :commitId cross join calls c on c.position = (
        select max(position) from calls where position <= m.position + :slot
      )
      where n.noun = 'Record' and n.id = :recordId
  )
  select n.ordinal from named n left join owned o on o.ordinal = n.ordinal
  where n.noun = 'Workspace' and not :seesDeleted and not exists (select 1 from workspaces w where w.id = n.id)
    or :bound is not null and o.workspace_id is not :bound
    or not :seesDeleted and o.workspace_id in (select id from deleted_workspaces where finished_at is null)
  order by n.ordinal limit 1`;
