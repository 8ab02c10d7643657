// Identity of people, and the permissions of those who sign in with their company's account.
import { Refusal } from "../../common/errors.ts";
import { fold } from "../../support/fold.ts";
import type { TokenId } from "../../common/ids.ts";
import { addressOf, grantOf } from "../../support/roles.ts";
import type { Claims, RoleRule } from "../../support/roles.ts";
import type { Caller, Store } from "./operation.ts";

/** `claims` are the names of those that the person has. */
const noRole = (address: string, claims: readonly string[]) =>
  new Refusal(
    "forbidden",
    `${address} has no role here: no rule of AUTH_ROLES matches the claims of this sign-in, which are ${
      claims.join(", ")
    }. Ask an admin for a rule`,
    "no_role",
  );
const noAddress = () =>
  new Refusal("forbidden", "This sign-in has no email, preferred_username or sub that is a name", "no_role");
const noWorkspaceOfRole = (address: string, id: string) =>
  new Refusal("forbidden", `${address} has a role in ${id} alone, which is no workspace`, "no_role");

const maxNamed = 20, maxNameLength = 40; // of claims in a refusal

/** Converts the claims of a person's sign-in to a caller. Throws if no rule gives them a role. */
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

/** Throws if a person's role is for a workspace that does not exist, or not any more. */
export async function requireWorkspace({ database }: Store, { actor, workspaceId }: Caller): Promise<void> {
  if (workspaceId === undefined) return;
  const [row] = await database.read({
    sql: "select 1 from workspaces where id = :id and id not in (select id from deleted_workspaces)",
    args: { id: workspaceId },
  });
  if (row === undefined) throw noWorkspaceOfRole(actor, workspaceId);
}

/** Identity of a caller or an author: the owner of the token, or the token if it has none. */
type Someone = { owner?: string | null | undefined; tokenId?: TokenId | null | undefined };

/** Text common to all spellings of a person. It is empty without an owner or a token. */
const personOf = ({ owner, tokenId }: Someone): string => fold((owner ?? tokenId ?? "").normalize("NFKC").trim());

/**
 * True if two are one person. The admin token, the command line on a database and embedding code have no owner, so they
 * are one person.
 */
export const isSamePerson = (one: Someone, other: Someone): boolean => personOf(one) === personOf(other);
