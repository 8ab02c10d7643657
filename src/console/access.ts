// Who is signed in, and how one signs in: with a token of management, or by a link.
import { invalidAdminToken, Refusal, tooManyFailures } from "../common/errors.ts";
import { newToken } from "../common/ids.ts";
import type { Gate, ManagementAccess } from "../http/management-access.ts";
import type { Caller, Store } from "../management/operation.ts";
import { readCookie } from "./sessions.ts";
import type { Sessions } from "./sessions.ts";

/** How often a link signs in: once, unless it is reusable. */
export type LinkOptions = { isReusable?: boolean };

/** Links that sign in. Only the process that made them knows them. */
export type Links = {
  /** Makes the code of a link for a token. */
  create(token: string, options: LinkOptions): string;
  /** The token of a code. The code works no second time, unless its link is reusable. */
  take(code: string): string | undefined;
};

export function createLinks(): Links {
  const links = new Map<string, LinkOptions & { token: string }>();
  return {
    create(token, options) {
      const code = newToken().slice("plm_".length);
      links.set(code, { ...options, token });
      return code;
    },
    take(code) {
      const link = links.get(code);
      if (link?.isReusable !== true) links.delete(code);
      return link?.token;
    },
  };
}

/** What authenticates the people of one service. */
type Access = Pick<ManagementAccess, "store" | "gate"> & { sessions: Sessions };

const noToken = ""; // the gate counts it as a wrong one, without a query

/**
 * The caller whose session a request belongs to. Undefined if there is none, it has expired, or its token is no longer valid. A
 * cookie that is forged, or copied from a session that was signed out, counts as a wrong token.
 */
export async function findCaller({ store, gate, sessions }: Access, request: Request): Promise<Caller | undefined> {
  const cookie = readCookie(request);
  if (cookie === undefined) return undefined;
  const session = await sessions.open(store, cookie);
  if (session === undefined) return await callerOf(gate, store, noToken);
  if (session.endsAt <= store.clock()) return undefined;
  const [hasEnded, caller] = await Promise.all([
    sessions.hasEnded(store, session),
    callerOf(gate, store, session.token),
  ]);
  return hasEnded ? await callerOf(gate, store, noToken) : caller;
}

/** The value of the cookie for a token. Throws if the token is not valid. */
export async function signIn({ store, gate, sessions }: Access, token: string): Promise<string> {
  if (await callerOf(gate, store, token) === undefined) throw invalidAdminToken();
  return await sessions.begin(store, token);
}

/** Ends the session that a request belongs to, if there is one. */
export async function signOut({ store, sessions }: Access, request: Request): Promise<void> {
  const cookie = readCookie(request);
  const session = cookie === undefined ? undefined : await sessions.open(store, cookie);
  if (session !== undefined && !await sessions.hasEnded(store, session)) await sessions.end(store, session);
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
