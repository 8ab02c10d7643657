// What a person may do who signs in with their company's account.
import { noAddress, noRole, noWorkspaceOfRole } from "../common/errors.ts";
import { addressOf, grantOf } from "../common/roles.ts";
import type { Claims, RoleRule } from "../common/roles.ts";
import type { Caller, Store } from "./operation.ts";

const maxNamed = 20, maxNameLength = 40; // of claims in a refusal

/** The caller that a person is, by the claims of their sign-in. Throws if no rule gives them a role. */
export async function toPerson(store: Store, claims: Claims, rules: readonly RoleRule[]): Promise<Caller> {
  const address = addressOf(claims);
  if (address === undefined) throw noAddress();
  const grant = grantOf(claims, rules);
  if (grant === undefined) {
    const names = Object.keys(claims).map((name) => name.toWellFormed().slice(0, maxNameLength)).sort();
    throw noRole(address, names.length > maxNamed ? [...names.slice(0, maxNamed), "…"] : names);
  }
  const person: Caller = { source: "api", actor: address, owner: address, ...grant };
  await requireWorkspace(store, person);
  return person;
}

/** Throws if a person's role is for a workspace that there is not, or not any more. */
export async function requireWorkspace({ database }: Store, { actor, workspaceId }: Caller): Promise<void> {
  if (workspaceId === undefined) return;
  const [row] = await database.read({
    sql: "select 1 from workspaces where id = :id and id not in (select id from deleted_workspaces)",
    args: { id: workspaceId },
  });
  if (row === undefined) throw noWorkspaceOfRole(actor, workspaceId);
}
