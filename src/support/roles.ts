// Roles, and the rules that give a person one for the claims of their sign-in: `groups:llm-admins=admin`.
import type { WorkspaceId } from "../common/ids.ts";

/** Roles, in ascending order. Each includes the permissions of those before it. */
export const roles = ["viewer", "editor", "publisher", "admin", "owner"] as const;
export type Role = (typeof roles)[number];

/** A role in one workspace, or in all of them if undefined. */
export type Grant = Readonly<{ role: Role; workspaceId: WorkspaceId | undefined }>;

/** Gives a role to people with a claim that has, or is, a text that matches. A `*` matches any characters. */
export type RoleRule = Grant & Readonly<{ claim: string; pattern: string }>;

/** Claims of an identity provider about a person. Only the signature of the whole is verified. */
export type Claims = Readonly<Record<string, unknown>>;

// A claim may be a URL, as custom claims of some providers are.
const rulePattern = /^((?:https?:\/\/)?[^:]+):(.+)=([a-z]+)(?:@(ws_[0-9a-z]+))?$/;

/** Parses the rules of a setting. Never throws: invalid rules are in `faults`. */
export function readRoleRules(text: string): { rules: RoleRule[]; faults: string[] } {
  const rules: RoleRule[] = [], faults: string[] = [];
  for (const part of text.split(",").map((rule) => rule.trim())) {
    const [, claim, pattern, name, workspaceId] = rulePattern.exec(part) ?? [];
    const role = roles.find((role) => role === name);
    if (claim === undefined || pattern === undefined) {
      faults.push(`has ${part}, which is no rule such as groups:llm-admins=admin or email:*@acme.com=viewer@ws_…`);
    } else if (role === undefined) faults.push(`has ${part}, whose role is none of ${roles.join(", ")}`);
    else if (role === "owner" && workspaceId !== undefined) {
      faults.push(`has ${part}: the role owner is always for all workspaces`);
    } else rules.push({ claim, pattern, role, workspaceId: workspaceId as WorkspaceId | undefined });
  }
  return { rules, faults };
}

/**
 * Determines the role for claims. Of several rules that match, those for all workspaces come first, then the highest
 * role, then the first in the list, because a caller has one role, in one workspace or in all.
 */
export function grantOf(claims: Claims, rules: readonly RoleRule[]): Grant | undefined {
  const found = rules.filter(({ claim, pattern }) =>
    valuesOf(claims, claim).some((value) => matches(pattern, claim === "email" ? toLower(value) : value, claim))
  );
  const rank = ({ role, workspaceId }: Grant) => roles.indexOf(role) + (workspaceId === undefined ? roles.length : 0);
  return found.reduce<RoleRule | undefined>(
    (best, rule) => best === undefined || rank(rule) > rank(best) ? rule : best,
    undefined,
  );
}

/** The texts of a claim. `realm_access.roles` is also the member `roles` of the claim `realm_access`. */
function valuesOf(claims: Claims, name: string): string[] {
  if (name === "email" && !isVerified(claims)) return [];
  const value = valueOf(claims, name);
  return (Array.isArray(value) ? value : [value]).filter((item) => typeof item === "string");
}

const valueOf = (claims: Claims, name: string): unknown =>
  memberOf(claims, name) ?? name.split(".").reduce<unknown>((inside, part) => memberOf(inside, part), claims);

/** True if claims have everything that rules and the name of a person need. */
export const hasAllClaims = (claims: Claims, rules: readonly RoleRule[]): boolean =>
  ["email", "email_verified", ...rules.map(({ claim }) => claim)].every((name) => valueOf(claims, name) !== undefined);

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;

/** True if a text matches a pattern. Takes time in proportion to both, whatever they are. */
function matches(pattern: string, text: string, claim: string): boolean {
  const parts = (claim === "email" ? toLower(pattern) : pattern).split("*");
  const first = parts.shift()!, last = parts.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
  let from = first.length;
  for (const part of parts) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return from <= text.length - last.length;
}

// Only ASCII letters: a Kelvin sign in an address must not become the k of another one.
const toLower = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** True if verified. Some providers send a string, and many nothing, for known addresses. */
const isVerified = ({ email_verified: verified = true }: Claims): boolean =>
  [true, "true", null].some((each) => each === verified);

/**
 * The name of a person in the audit log: their email address in lower case, else `preferred_username`, else `sub`.
 * Undefined if that is not printable. An unverified address does not count, and `preferred_username` often repeats it.
 */
export function addressOf(claims: Claims): string | undefined {
  const names = isVerified(claims) ? ["email", "preferred_username", "sub"] : ["sub"];
  const name = names.find((name) => typeof memberOf(claims, name) === "string" && memberOf(claims, name) !== "");
  const address = String(memberOf(claims, name ?? "") ?? "");
  const isShown = /^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u.test(address) && address.trim() === address;
  return isShown ? name === "email" ? toLower(address) : address : undefined;
}
