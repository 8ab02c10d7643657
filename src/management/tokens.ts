// Management tokens: what people and programs authenticate with to the management API. Each has a role, and may be bound to
// one workspace. A secret is shown once, when it is made; the database has its hash.
import { invalid } from "../common/errors.ts";
import { isToken, newId, newToken } from "../common/ids.ts";
import type { TokenId, WorkspaceId } from "../common/ids.ts";
import { described, exactly, named, nullable, oneOf, optional } from "../schema/struct.ts";
import type { Infer } from "../schema/struct.ts";
import * as v from "./values.ts";
import { operation, pageOf, requireRole, roles } from "./operation.ts";
import type { Caller, Management, Store } from "./operation.ts";
import { changes, expiresAt, prefix, rotation, secretsOf } from "./secrets.ts";
import { insertInto, tableOf } from "./table.ts";
import { requireWorkspace } from "./workspaces.ts";

const role = described(oneOf(...roles), "What it may do; each role may do all that those before it may");
const token = {
  id: v.textAs<TokenId>(),
  workspaceId: described(nullable(v.textAs<WorkspaceId>()), "The workspace that it is bound to; null for all"),
  name: described(v.text, "Whose it is; the histories name it"),
  role,
  prefix,
  createdAt: v.timestamp,
  expiresAt,
  ...changes,
  lastUsedAt: described(v.moment, "When it was last used, to the hour, in Unix milliseconds, or null"),
};
const Token = named("Token", exactly(token));
export type Token = Infer<typeof Token>;
const NewToken = named(
  "NewToken",
  exactly({ ...token, token: described(v.text, "The secret; no other answer shows it") }),
);

const table = tableOf(Token, "select * from management_tokens");

const secrets = secretsOf({
  noun: "Token",
  audited: "token",
  example: "A token is named by its id, token_…",
  create: newToken,
  isSecret: isToken,
  table: "management_tokens",
  secrets: "management_token_secrets",
  owner: "token_id",
  copied: [],
  ...table,
});

export const createToken = operation({
  id: "createToken",
  summary: "Create a management token, shown this once, with the caller's role at most",
  method: "POST",
  path: "/tokens",
  role: "admin",
  command: `token create --name NAME --role ${roles.join("|")} [--workspace ID] [--expires EXPIRY]`,
  input: {
    name: described(v.name, "Whose it is; the histories name it"),
    role,
    workspaceId: optional(
      described(v.workspaceId, "The workspace that it is bound to; that of the caller, or all, unless given"),
    ),
    expiresAt: optional(expiresAt),
  },
  output: NewToken,
  locate: ({ id }) => `/tokens/${id}`,
  refusals: ["not_found"],
  isScoped: true,
  async run(management, { name, role, expiresAt = null, ...input }) {
    const { caller, clock } = management;
    requireRole(caller, role);
    const { workspaceId = caller.workspaceId ?? null } = input;
    if (role === "owner" && workspaceId !== null) throw invalid("The role owner is for all workspaces");
    if (workspaceId !== null) await requireWorkspace(management, workspaceId);
    const createdAt = clock();
    const id: TokenId = newId("token", createdAt);
    const { secret, prefix, added } = await secrets.issue(id);
    const stored = { name, role, prefix, createdAt, expiresAt };
    await management.commit(
      [{ action: "token.created", id, workspaceId, after: stored }],
      [insertInto("management_tokens", { id, workspaceId, ...stored }), added],
    );
    return {
      id,
      workspaceId,
      token: secret,
      ...stored,
      revokedAt: null,
      rotatedAt: null,
      overlapEndsAt: null,
      lastUsedAt: null,
    };
  },
});

export const listTokens = operation({
  id: "listTokens",
  summary: "List the management tokens that the caller may see by their first characters, newest first",
  method: "GET",
  path: "/tokens",
  role: "viewer",
  command: "token list",
  input: v.page,
  output: pageOf(Token),
  refusals: [],
  isScoped: true,
  run: ({ database, caller: { workspaceId } }, page) =>
    table.list(database, workspaceId === undefined ? {} : { workspaceId }, page),
});

export const getToken = operation({
  id: "getToken",
  summary: "Show a management token by its first characters",
  method: "GET",
  path: "/tokens/{id}",
  role: "viewer",
  command: "token show ID",
  input: { id: v.tokenId },
  output: Token,
  refusals: ["not_found"],
  run: (management, { id }) => secrets.requireHolder(management, id),
});

export const revokeToken = operation({
  id: "revokeToken",
  summary: "Refuse a management token, whichever of its secrets is sent, from the next request on",
  method: "POST",
  path: "/tokens/{id}/revoke",
  role: "admin",
  command: "token revoke ID",
  input: { id: v.tokenId },
  output: Token,
  refusals: ["not_found"],
  async run(management, { id }) {
    await requireRoleOf(management, id);
    return await secrets.revoke(management, id);
  },
});

export const rotateToken = operation({
  id: "rotateToken",
  summary:
    "Give a management token a new secret, shown this once; the old one stays valid for the overlap, none unless set",
  method: "POST",
  path: "/tokens/{id}/rotate",
  role: "admin",
  command: "token rotate ID [--overlap DURATION] [--expires EXPIRY]",
  input: { id: v.tokenId, ...rotation },
  output: NewToken,
  refusals: ["not_found", "conflict"],
  async run(management, { id, ...input }) {
    await requireRoleOf(management, id);
    const { rotated, secret } = await secrets.rotate(management, id, input);
    return { ...rotated, token: secret };
  },
});

/** Nobody takes or disables a token that may do more than they may. The role of a token never changes. */
async function requireRoleOf(management: Management, id: TokenId): Promise<void> {
  requireRole(management.caller, (await secrets.requireHolder(management, id)).role);
}

const hour = 3_600_000; // ms

/** The caller whose token has a secret with this hash; undefined if there is none, or it is not valid now. */
export async function findTokenCaller({ database, clock }: Store, hash: string): Promise<Caller | undefined> {
  const now = clock();
  const [row] = await database.read({
    sql: `select t.* from management_token_secrets s cross join management_tokens t on t.id = s.token_id
      where s.hash = :hash and (s.expires_at is null or s.expires_at > :now)
        and coalesce(t.workspace_id, '') not in (select id from deleted_workspaces)`,
    args: { hash, now },
  });
  if (row === undefined) return undefined;
  const { id: tokenId, name: actor, role, workspaceId, lastUsedAt } = table.toItem(row);
  const hourNow = now - now % hour;
  if (lastUsedAt === null || lastUsedAt < hourNow) {
    // Nobody waits for this. Where it fails, the next request does it.
    database.write([{
      sql: `update management_tokens set last_used_at = :hourNow
        where id = :tokenId and coalesce(last_used_at, 0) < :hourNow`,
      args: { tokenId, hourNow },
    }]).catch(() => {});
  }
  return { source: "api", actor, role, tokenId, workspaceId: workspaceId ?? undefined };
}

export const tokenOperations = [createToken, listTokens, getToken, revokeToken, rotateToken];
