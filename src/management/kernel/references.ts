// Resolves references, which a caller may send instead of the id of a prompt, a deployment or a rollout: the name of a
// prompt, such as `support/assistant`, or `support/assistant@production`. Operations declare the references among their
// input members, and get ids.
import { ambiguousReference, notFound } from "../../common/errors.ts";
import { isId } from "../../common/ids.ts";
import type { WorkspaceId } from "../../common/ids.ts";
import { readReference } from "../../common/reference.ts";
import type { Database, Statement } from "../../database/database.ts";
import { text } from "../../database/row.ts";
import { nounOf, option } from "../../schema/struct.ts";
import type { Schema } from "../../schema/struct.ts";
import * as v from "./values.ts";

/** Determines only the workspace of a name. Operations that declare it do not get it. */
const workspaceId = option(
  v.workspaceId,
  "The workspace in which to look up a name. Needed if several workspaces have the name",
);

/** Input members of operations on one prompt, or one deployment. */
export const ofPrompt = { id: v.promptReference, workspaceId };
export const ofDeployment = { id: v.deploymentReference, workspaceId };
/** Input members of operations on parts of a deployment. */
export const withDeployment = { deployId: v.deploymentReference, workspaceId };

/** Finds ids. `:workspaceId` is null if the caller gave none, `:bound` if the caller may see every workspace. */
type Query = (reference: string) => Statement & { args: Record<string, string> };

const inWorkspace = `(:workspaceId is null or p.workspace_id = :workspaceId)
  and (:bound is null or p.workspace_id = :bound)
  and p.workspace_id not in (select id from deleted_workspaces)`;

const findPrompt: Query = (reference) => ({
  sql: `select id from prompts p where (id = :reference or name = :reference) and ${inWorkspace}`,
  args: { reference },
});

const findDeployment: Query = (reference) => {
  const named = readReference(reference);
  return named === undefined
    ? { sql: `select id from deployments p where id = :reference and ${inWorkspace}`, args: { reference } }
    : {
      sql: `select d.id from prompts p join deployments d on d.prompt_id = p.id and d.name = :deploymentName
        where p.name = :promptName and ${inWorkspace}`,
      args: named,
    };
};

/** A deployment resolves to its newest rollout. */
const findRollout: Query = (reference) => {
  const named = readReference(reference);
  return named === undefined
    ? { sql: `select id from rollouts p where id = :reference and ${inWorkspace}`, args: { reference } }
    : {
      sql: `select max(r.id) as id from prompts p join deployments d on d.prompt_id = p.id and d.name = :deploymentName
        join rollouts r on r.deployment_id = d.id
        where p.name = :promptName and ${inWorkspace} group by d.id`,
      args: named,
    };
};

/** `nouns` are those that input members declare. `noun` is that of what they name. `mayBeName`: a name may look like an id. */
type Kind = { noun: string; nouns: string[]; find: Query; isId(reference: string): boolean; mayBeName?: true };

const kinds: Kind[] = [
  { noun: "Prompt", nouns: ["Prompt"], find: findPrompt, isId: (text) => isId("prompt", text), mayBeName: true },
  {
    noun: "Deployment",
    nouns: ["Deployment", "Deployment or name"],
    find: findDeployment,
    isId: (text) => !text.includes("@"),
  },
  { noun: "Rollout", nouns: ["Rollout"], find: findRollout, isId: (text) => !text.includes("@") },
];

/**
 * Replaces references by ids. An id itself is looked up only if the caller gave a workspace that it must be in, and `check`
 * rejects if it is not. A caller who is bound to a workspace finds nothing in others, and nobody finds anything in one that is
 * being deleted: who passes `check` may see the ids in `lookedUp`.
 */
export async function resolveReferences(
  database: Database,
  schema: Schema,
  input: object,
  bound: WorkspaceId | undefined,
): Promise<{ members: object; lookedUp: ReadonlySet<string>; check: Promise<unknown> }> {
  const members = { ...input } as Record<string, unknown>;
  const isScope = schema.workspaceId === workspaceId;
  const scope = members.workspaceId as WorkspaceId | undefined;
  if (isScope) delete members.workspaceId;
  const checks: Promise<string>[] = [], lookedUp = new Set<string>();
  for (const [name, struct] of Object.entries(schema)) {
    const kind = kinds.find(({ nouns }) => nouns.includes(nounOf(struct) ?? ""));
    const reference = members[name];
    if (kind === undefined || typeof reference !== "string") continue;
    if (kind.isId(reference) && !(isScope && scope !== undefined)) continue;
    const id = findId(database, kind, { field: name, reference }, { workspaceId: scope ?? null, bound: bound ?? null });
    if (kind.isId(reference) && !kind.mayBeName) checks.push(id);
    else members[name] = await id;
    lookedUp.add(members[name] as string);
  }
  return { members, lookedUp, check: Promise.all(checks) };
}

/** The id that a reference in a field stands for, among what the caller may see. */
async function findId(
  database: Database,
  { noun, find }: Kind,
  { field, reference }: { field: string; reference: string },
  scope: { workspaceId: WorkspaceId | null; bound: WorkspaceId | null },
): Promise<string> {
  const { sql, args } = find(reference);
  const rows = await database.read({ sql, args: { ...args, ...scope } });
  const ids = rows.map((row) => text(row, "id"));
  // The name of a prompt may be the id of another one. Then the id wins.
  const [id, other] = ids.includes(reference) ? [reference] : ids;
  if (id === undefined) throw notFound(noun, reference, field);
  if (other !== undefined) throw ambiguousReference(noun.toLowerCase(), reference);
  return id;
}
