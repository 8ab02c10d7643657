// Authenticates requests to the management API, by the admin token or by a management token, and makes guessing slow.
import { createCache } from "../common/cache.ts";
import { invalidAdminToken, missingAuthorization, Refusal } from "../common/errors.ts";
import { isToken, sha256 } from "../common/ids.ts";
import type { Caller, Store } from "../management/operation.ts";
import { findTokenCaller } from "../management/tokens.ts";
import { isSame, readBearer } from "./authorization.ts";

/** Who sent a request; or, where too many have failed, how many seconds are left of the minute. */
export type Authenticated = { caller: Caller } | { retryAfter: number };

export type Gate = (request: Request, store: Store) => Promise<Authenticated>;

const mostFailures = 30; // in a minute, of all clients together
const minute = 60_000; // ms
const mostRemembered = 1_000; // tokens

/**
 * Beyond `mostFailures` in a minute, the database is asked about nothing but tokens that this process has found valid
 * before: a guess costs no query. Those still get through, and so does the admin token. They are remembered by their hashes
 * to tell them from guesses, not to let them in: each request looks its token up, so that a revoked one is refused at once.
 * A valid token that this process has not met yet is refused like a guess, but only until the minute ends.
 */
export function createGate(adminToken: string | undefined): Gate {
  const known = createCache<true>(mostRemembered);
  const lookups = new Map<string, Promise<Caller | undefined>>();
  let current = NaN;
  let failures = 0;

  /** Requests with the same token that come at once share a query. */
  function lookUp(store: Store, hash: string): Promise<Caller | undefined> {
    const running = lookups.get(hash);
    if (running !== undefined) return running;
    const lookup = findTokenCaller(store, hash).finally(() => lookups.delete(hash));
    lookups.set(hash, lookup);
    return lookup;
  }

  return async (request, store) => {
    const token = tokenOf(request);
    if (token !== undefined && adminToken !== undefined && await isSame(token, adminToken)) {
      return { caller: { source: "api", actor: "", role: "owner" } };
    }
    const hash = token !== undefined && isToken(token) ? await sha256(token) : undefined;
    const now = store.clock();
    const began = Math.floor(now / minute);
    if (began !== current) [current, failures] = [began, 0];
    // A token that is being looked up counts as a failure until it is found, so that guesses cannot come all at once.
    const isGuess = hash === undefined || known.get(hash) === undefined && !lookups.has(hash);
    if (isGuess && failures >= mostFailures) return { retryAfter: Math.ceil(((began + 1) * minute - now) / 1000) };
    failures += Number(isGuess);
    const takeBack = () => void (failures -= Number(isGuess && began === current));
    if (hash !== undefined) {
      const caller = await lookUp(store, hash).catch((error) => {
        takeBack();
        throw error;
      });
      if (caller !== undefined) {
        takeBack();
        known.set(hash, true, 1);
        return { caller };
      }
      known.delete(hash);
    }
    failures += Number(!isGuess);
    throw token === undefined ? missingAuthorization() : invalidAdminToken();
  };
}

/** The bearer token of a request, if it has one. */
function tokenOf({ headers }: Request): string | undefined {
  try {
    return readBearer(headers.get("Authorization") ?? "");
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}
