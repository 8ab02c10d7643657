// Authenticates requests to the management API, by the admin token or by a management token, and makes guessing slow.
import { createCache } from "../common/cache.ts";
import { invalidAdminToken, missingAuthorization, Refusal } from "../common/errors.ts";
import { isToken, sha256 } from "../common/ids.ts";
import type { Slots } from "../common/slots.ts";
import type { Caller, Store } from "../management/operation.ts";
import { findTokenCaller } from "../management/tokens.ts";
import { headerOf, isSame, readBearer } from "./authorization.ts";
import type { Exports } from "./exports.ts";
import type { Face, FaceHost } from "./face.ts";

/** What people manage a service with: who may, on what, and how much of it at once. */
export type ManagementAccess = {
  adminToken: string | undefined;
  /** Counts the failures of all faces together. */
  gate: Gate;
  store: Store;
  /** Long work has a queue of its own, so that short requests do not wait for its slices. */
  longStore: Store;
  longWork: Slots;
  exports: Exports;
};

/** A face of management, which shares its access to a service with other faces. It shares nothing if it is off. */
export type ManagementFace<Members extends object = object> = Face<Members> & {
  access(host: FaceHost): ManagementAccess | undefined;
};

/** The caller of a request. If too many requests have failed in this minute, the seconds until it ends. */
type Authenticated = { caller: Caller } | { retryAfter: number };

/** Authenticates the bearer of a token, which is undefined for a request without one. */
export type Gate = (token: string | undefined, store: Store) => Promise<Authenticated>;

const maxFailures = 30; // in a minute, of all clients together
const minute = 60_000; // ms
const maxKnown = 1_000; // tokens

/**
 * After `maxFailures` in a minute, the gate looks up only tokens that this process has found valid before, so that a
 * guess costs no query. Those tokens and the admin token still get through. The process keeps their hashes only to
 * distinguish them from guesses: each request looks its token up, so that a revoked one is refused at once. A valid
 * token that is new to this process is refused like a guess, but only until the minute ends.
 */
export function createGate(adminToken: string | undefined): Gate {
  const known = createCache<true>(maxKnown);
  const lookups = new WeakMap<Store, Map<string, Promise<Caller | undefined>>>();
  let current = NaN;
  let failures = 0;

  /** The lookups under way of a store, by hash. Each request to a Worker has a store of its own, and waits for no other. */
  function lookupsOf(store: Store): Map<string, Promise<Caller | undefined>> {
    const running = lookups.get(store) ?? new Map();
    lookups.set(store, running);
    return running;
  }

  /** Concurrent requests with the same token share a query. */
  function lookUp(store: Store, hash: string): Promise<Caller | undefined> {
    const running = lookupsOf(store);
    const lookup = running.get(hash) ?? findTokenCaller(store, hash).finally(() => running.delete(hash));
    running.set(hash, lookup);
    return lookup;
  }

  return async (token, store) => {
    if (token !== undefined && adminToken !== undefined && await isSame(token, adminToken)) {
      return { caller: { source: "api", actor: "", role: "owner" } };
    }
    const hash = token !== undefined && isToken(token) ? await sha256(token) : undefined;
    const now = store.clock();
    const began = Math.floor(now / minute);
    if (began !== current) [current, failures] = [began, 0];
    // A token counts as a failure until its lookup finds it, so that many concurrent guesses are limited too.
    const isGuess = hash === undefined || known.get(hash) === undefined && !lookupsOf(store).has(hash);
    if (isGuess && failures >= maxFailures) return { retryAfter: Math.ceil(((began + 1) * minute - now) / 1000) };
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
export function tokenOf(request: Request): string | undefined {
  try {
    return readBearer(headerOf(request));
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}
