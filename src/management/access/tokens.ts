// Management tokens authenticate people and programs to the management API. Each has a role, and may be bound to one
// workspace. A secret is shown once, when it is created. The database stores only its hash.
import { invalidField } from "../../common/errors.ts";
import { isToken, newId, newToken } from "../../common/ids.ts";
import type { TokenId, WorkspaceId } from "../../common/ids.ts";
import { withTimeout } from "../../common/timeout.ts";
import { text } from "../../database/row.ts";
import { described, oneOf, option, optional, orNull, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { createOperation, listOperation } from "../kernel/declare.ts";
import { hasRole, pageOf, requireRole, roles } from "../kernel/operation.ts";
import type { Caller, Store } from "../kernel/operation.ts";
import { isSamePerson } from "../kernel/people.ts";
import { requireRoom } from "../kernel/room.ts";
import { expiresAt, prefix, requireFuture, secretDates, secretsOf, unused } from "./secrets.ts";
import { insertInto, tableOf } from "../kernel/table.ts";

const role = described(oneOf(...roles), "Its role. Each role includes the permissions of those before it");
const token = {
  id: v.textAs<TokenId>(),
  workspaceId: orNull(v.textAs<WorkspaceId>(), "The only workspace that it may access, or null for all"),
  name: described(v.text, "The person or program that uses it. The audit log has this name"),
  role,
  owner: orNull(
    v.name,
    "The person that it belongs to, such as ann@acme.com, or the token that made it, or null. Two tokens of one person are one person",
  ),
  prefix,
  createdAt: v.timestamp,
  expiresAt,
  ...secretDates,
  lastUsedAt: described(v.moment, "When it was last used, to the hour, in Unix milliseconds, or null"),
};
const Token = shape("Token", token);
export type Token = Infer<typeof Token>;
const NewToken = shape("NewToken", { ...token, token: described(v.text, "The secret. No other response contains it") });

export const tokenTable = tableOf(Token, "select * from management_tokens");

const secrets = secretsOf("token", {
  example: "A token is named by its id, token_…",
  create: newToken,
  isSecret: isToken,
  ...tokenTable,
});

export const createToken = createOperation({
  id: "createToken",
  summary: "Create a management token, with the caller's role at most. Its secret is shown only once",
  path: "/tokens",
  role: "admin",
  command: `token create --name NAME --role ${roles.join("|")} [--owner PERSON] [--expires EXPIRY]`,
  input: {
    name: described(v.name, "The person or program that uses it. The audit log has this name"),
    role,
    workspaceId: option(v.workspaceId, "The only workspace that it may access. Default: that of the caller, or all"),
    owner: option(
      v.name,
      "The person that it belongs to, such as ann@acme.com. Only the role owner may name someone other than the caller. Default: the caller, but none for the role owner with a token that belongs to nobody",
    ),
    expiresAt: optional(expiresAt),
  },
  output: NewToken,
  locate: ({ id }) => `/tokens/${id}`,
  conflicts: true,
  isScoped: true,
  async run(management, { name, role, expiresAt = null, ...input }) {
    const { caller, clock } = management;
    requireRole(caller, role);
    const { owner = caller.owner ?? (hasRole(caller, "owner") ? null : caller.tokenId ?? null) } = input;
    requirePerson(caller, { owner }, "for a token of another person");
    const { workspaceId = caller.workspaceId ?? null } = input;
    if (role === "owner" && workspaceId !== null) {
      throw invalidField("workspaceId", "A token with the role owner must be for all workspaces");
    }
    const createdAt = clock();
    requireFuture(expiresAt, createdAt);
    await requireRoom(management, "tokens", workspaceId);
    const id: TokenId = newId("token", createdAt);
    const { secret, prefix, secretHash, added } = await secrets.issue(id);
    const stored = { name, role, owner, prefix, createdAt, expiresAt };
    await management.commit(
      [{ action: "token.created", id, workspaceId, after: { ...stored, secretHash } }],
      [insertInto("management_tokens", { id, workspaceId, ...stored }), added],
    );
    return { id, workspaceId, token: secret, ...stored, ...unused };
  },
});

export const listTokens = listOperation({
  id: "listTokens",
  summary: "List the management tokens that the caller may see, without their secrets, newest first",
  path: "/tokens",
  command: "token list",
  input: v.page,
  output: pageOf(Token),
  isScoped: true,
  run: ({ database, caller: { workspaceId } }, page) =>
    tokenTable.list(database, workspaceId === undefined ? {} : { workspaceId }, page),
});

export const { get: getToken, revoke: revokeToken, rotate: rotateToken } = secrets.operations("Token", {
  ...{ words: "a management token", path: "/tokens", output: Token, issued: NewToken, member: "token" },
  // Otherwise a caller with a lower role could take the token over. The role of a token never changes.
  async requireMay(management, id, action) {
    const { caller } = management, { role, owner } = await secrets.requireHolder(management, id);
    requireRole(caller, role);
    if (action === "rotate") requirePerson(caller, { owner, tokenId: id }, "to rotate a token of another person");
  },
});

/** Throws if a caller would get another person's token, and could then approve their own requests. */
function requirePerson(caller: Caller, person: Pick<Caller, "tokenId"> & { owner: string | null }, purpose: string) {
  if (!isSamePerson(caller, person)) requireRole(caller, "owner", purpose);
}

const hour = 3_600_000; // ms
const useTimeout = 1_000; // ms that a request waits until its use of the token is stored

/** Caller whose token has a secret with this hash; undefined if it is missing or not valid now. */
export async function findTokenCaller({ database, clock }: Store, hash: string): Promise<Caller | undefined> {
  const now = clock();
  const [row] = await database.read({
    sql: `select t.* from management_token_secrets s cross join management_tokens t on t.id = s.token_id
      where s.hash = :hash and (s.expires_at is null or s.expires_at > :now)
        and coalesce(t.workspace_id, '') not in (select id from deleted_workspaces)`,
    args: { hash, now },
  });
  if (row === undefined) return undefined;
  const { id: tokenId, name: actor, role, owner, workspaceId, lastUsedAt } = tokenTable.toItem(row);
  const hourNow = now - now % hour;
  if (lastUsedAt === null || lastUsedAt < hourNow) {
    const written = database.write([{
      sql: `update management_tokens set last_used_at = :hourNow
        where id = :tokenId and coalesce(last_used_at, 0) < :hourNow`,
      args: { tokenId, hourNow },
    }]);
    // The request waits for this, because a Worker may be stopped once it has answered, but not for long. If it fails,
    // the next request tries again.
    await withTimeout<unknown>(useTimeout, written, () => {}).catch(() => {});
  }
  return { source: "api", actor, role, owner: owner ?? undefined, tokenId, workspaceId: workspaceId ?? undefined };
}

/** Hashes of all secrets that are valid now. */
export async function findHashes({ database, clock }: Store): Promise<Set<string>> {
  const rows = await database.read({
    sql: "select hash from management_token_secrets where expires_at is null or expires_at > :now",
    args: { now: clock() },
  });
  return new Set(rows.map((row) => text(row, "hash")));
}

export const tokenOperations = [createToken, listTokens, getToken, revokeToken, rotateToken];
