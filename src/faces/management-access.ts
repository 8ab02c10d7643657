// Authenticates requests to the management API by the admin token or a management token, and slows down guessing.
import { createCache } from "../common/cache.ts";
import { crossSite, invalidAdminToken, missingAuthorization, Refusal } from "../common/errors.ts";
import { isToken, sha256 } from "../common/ids.ts";
import type { Slots } from "../support/slots.ts";
import type { Caller, Store } from "../management/kernel/operation.ts";
import { findHashes, findTokenCaller } from "../management/access/tokens.ts";
import { headerOf, isSame, readBearer } from "../http/authorization.ts";
import type { SendExport } from "./exports.ts";
import type { Face, FaceHost } from "../http/face.ts";
import { isOwnSite } from "./own-site.ts";
import type { People } from "./sign-in/people.ts";

/** Management access: authentication, stores, and limits on long work. */
export type ManagementAccess = {
  adminToken: string | undefined;
  /** Counts the failures of all faces together. */
  gate: Gate;
  /** Finds people who sign in with their company's account, if set up. */
  people: People | undefined;
  store: Store;
  /** Long work has its own queue: short requests do not wait for its slices. */
  longStore: Store;
  longWork: Slots;
  sendExport: SendExport;
};

/** A management face. Other faces share its access to a service, unless it is off. */
export type ManagementFace<Members extends object = object> = Face<Members> & {
  readonly name: "management()";
  /** True if sign-in is possible: it has an admin token, or takes management tokens. */
  readonly isOn: boolean;
  access(host: FaceHost): ManagementAccess | undefined;
};

/** Caller of a request. If too many requests have failed in this minute, the seconds until it ends. */
type Authenticated = { caller: Caller } | { retryAfter: number };

/** Authenticates a token, which is undefined for a request without one. */
export type Gate = (token: string | undefined, store: Store) => Promise<Authenticated>;

const maxFailures = 30; // in a minute, of all clients together
const minute = 60_000; // ms
const maxKnown = 1_000; // tokens
const listTtl = 1_000; // ms

/**
 * After `maxFailures` in a minute, the gate looks up only tokens that it has found valid before, or that are in a list
 * of all valid ones. It reads that list at most once a second, however many guesses there are. The gate keeps hashes
 * only to distinguish tokens from guesses: each request looks its token up, to refuse a revoked one at once.
 */
export function createGate(adminToken: string | undefined): Gate {
  const known = createCache<true>(maxKnown);
  const lookups = new WeakMap<Store, Map<string, Promise<Caller | undefined>>>();
  const lists = new WeakMap<Store, Promise<Set<string>>>();
  let list = { at: NaN, hashes: new Set<string>() };
  let current = NaN;
  let failures = 0;

  /** Lookups under way of a store, by hash. On Workers each request has its own store, and waits for no other. */
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

  /** True if a token is in the list, which is read again when it is older than `listTtl`. */
  async function isListed(store: Store, hash: string): Promise<boolean> {
    const now = store.clock();
    if (!(now >= list.at && now < list.at + listTtl)) {
      const reading = lists.get(store) ?? findHashes(store).finally(() => lists.delete(store));
      lists.set(store, reading);
      list = { at: now, hashes: await reading };
    }
    return list.hashes.has(hash);
  }

  return async (token, store) => {
    if (token !== undefined && adminToken !== undefined && await isSame(token, adminToken)) {
      return { caller: { source: "api", actor: "", role: "owner" } };
    }
    const hash = token !== undefined && isToken(token) ? await sha256(token) : undefined;
    const now = store.clock();
    const began = Math.floor(now / minute);
    if (began !== current) [current, failures] = [began, 0];
    // A token counts as a failure until its lookup finds it, which also limits concurrent guesses.
    const isGuess = hash === undefined || known.get(hash) === undefined && !lookupsOf(store).has(hash);
    if (isGuess && failures >= maxFailures && !(hash !== undefined && await isListed(store, hash))) {
      return { retryAfter: Math.ceil(((began + 1) * minute - now) / 1000) };
    }
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

/**
 * Returns the caller of a request to the management API. A token is sent on purpose, while a proxy adds a person's
 * header to all requests: so a token takes precedence, even a wrong one. Without a token, requests from another site's
 * page are refused, because the proxy signs those too.
 */
export async function authenticate(
  { gate, people, store }: Pick<ManagementAccess, "gate" | "people" | "store">,
  request: Request,
): Promise<Authenticated> {
  const token = tokenOf(request);
  const isOpen = people?.isForApi === true && (token === undefined || people.header === "authorization");
  const person = isOpen ? await people.find(request, store) : undefined;
  if (person === undefined) return await gate(token, store);
  if (isOwnSite(request) === false) throw crossSite();
  return { caller: person };
}
