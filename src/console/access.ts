// Who is signed in, and how one signs in: with a token of management, or by a link that works once.
import { invalidAdminToken, Refusal, tooManyFailures } from "../common/errors.ts";
import { newToken, sha256 } from "../common/ids.ts";
import type { Gate, ManagementAccess } from "../http/management-access.ts";
import type { Caller, Store } from "../management/operation.ts";
import { findTokenHashes } from "../management/tokens.ts";
import { adminId, openSession, readCookie, sealSession } from "./session-cookie.ts";

/** Links that sign in once. Only the process that made them knows them. */
export type Links = {
  /** Makes the code of a link for a token. */
  create(token: string): string;
  /** The token of a code, which works no second time. */
  take(code: string): string | undefined;
};

export function createLinks(): Links {
  const tokens = new Map<string, string>();
  return {
    create(token) {
      const code = newToken().slice("plm_".length);
      tokens.set(code, token);
      return code;
    },
    take(code) {
      const token = tokens.get(code);
      tokens.delete(code);
      return token;
    },
  };
}

/** What authenticates the people of one service. */
type Access = Pick<ManagementAccess, "store" | "gate" | "adminToken">;

/** The caller whose session a request belongs to. Undefined if there is none, or its token is no longer valid. */
export async function findCaller({ store, gate, adminToken }: Access, request: Request): Promise<Caller | undefined> {
  const cookie = readCookie(request);
  if (cookie === undefined) return undefined;
  const findHashes = async (id: string) => {
    if (id !== adminId) return await findTokenHashes(store, id);
    return adminToken === undefined ? [] : [await sha256(adminToken)];
  };
  const token = await openSession(cookie, findHashes, store.clock());
  return token === undefined ? undefined : await callerOf(gate, store, token);
}

/** The value of the cookie for a token. Throws if the token is not valid. */
export async function signIn({ store, gate }: Access, token: string): Promise<string> {
  const caller = await callerOf(gate, store, token);
  if (caller === undefined) throw invalidAdminToken();
  return await sealSession(token, caller.tokenId ?? adminId, store.clock());
}

async function callerOf(gate: Gate, store: Store, token: string): Promise<Caller | undefined> {
  try {
    const authenticated = await gate(token, store);
    if ("retryAfter" in authenticated) throw tooManyFailures();
    return { ...authenticated.caller, source: "console" };
  } catch (error) {
    if (error instanceof Refusal && error.kind === "unauthorized") return undefined;
    throw error;
  }
}
