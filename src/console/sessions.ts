// Who is signed in, and how one signs in: with a token of management, or by a link. Sessions are cookies, which any process can
// open and which need no row. A cookie holds the token that signed in and the end of the session, sealed with a key: a browser
// can neither read nor alter it. Neither the cookie alone nor the database alone gives the token away, and a backup is not
// enough to make a cookie, because that takes a valid token. Only a session that was signed out has a row, until it would have
// ended. So signing out holds in every process, and even for a copied cookie.
import { createCache } from "../common/cache.ts";
import { invalidAdminToken, Refusal, tooManyFailures } from "../common/errors.ts";
import { newToken } from "../common/ids.ts";
import type { Gate, ManagementAccess } from "../http/management-access.ts";
import type { Caller, Store } from "../management/operation.ts";
import { cipherOf, importSecret, ivBytes } from "../management/service-secret.ts";
import type { SecretKey } from "../management/service-secret.ts";
import { isKnownSecure } from "./addresses.ts";
import { isFromElsewhere } from "./safety.ts";

export type Sessions = {
  /** The value of a cookie for a token. */
  begin(store: Store, token: string): Promise<string>;
  /** The session in a cookie, which may have ended; undefined if the cookie was forged, which takes no query to tell. */
  open(store: Store, cookie: string): Promise<Session | undefined>;
  /** Refuses a session in all processes from now on. */
  end(store: Store, session: Session): Promise<void>;
  hasEnded(store: Store, session: Session): Promise<boolean>;
};

const maxKnown = 10_000; // sessions that were signed out, which are not looked up again
const margin = 24 * 3_600_000; // ms that a row stays after the end of its session, because clocks differ

/** Makes the sessions of a service. */
export function createSessions(): Sessions {
  const ended = createCache<true>(maxKnown);
  let key: SecretKey | undefined;

  // It keeps the key and no promise of it, because a request to a Worker must not wait for another one.
  const keyOf = async (store: Store): Promise<SecretKey> => key ??= await importSecret(store.database);

  return {
    begin: async (store, token) => await sealSession(await keyOf(store), token, store.clock()),
    open: async (store, cookie) => await openSession(await keyOf(store), cookie),
    async end({ database, clock }, { id, endsAt }) {
      await database.write([
        { sql: "delete from ended_sessions where ends_at <= ?", args: [clock() - margin] },
        { sql: "insert into ended_sessions (id, ends_at) values (?, ?) on conflict do nothing", args: [id, endsAt] },
      ]);
    },
    async hasEnded({ database }, { id }) {
      if (ended.get(id) !== undefined) return true;
      const rows = await database.read({ sql: "select 1 from ended_sessions where id = ?", args: [id] });
      if (rows.length > 0) ended.set(id, true, 1);
      return rows.length > 0;
    },
  };
}

/** How long a session lasts, in ms. */
const sessionTime = 12 * 3_600_000;

/** A session. Its id is the random part of its seal. It ends at `endsAt`, in Unix ms, if nothing ends it sooner. */
export type Session = { id: string; token: string; endsAt: number };

const purpose = "session";
const ivCharacters = 4 / 3 * ivBytes; // in base 64

/** The value of a cookie for a token. */
export async function sealSession(key: SecretKey, token: string, now: number): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(ivBytes));
  const text = new TextEncoder().encode(`${now + sessionTime} ${token}`);
  const sealed = await crypto.subtle.encrypt(cipherOf(iv, purpose), key, text);
  return toBase64(new Uint8Array([...iv, ...new Uint8Array(sealed)]));
}

/** The session in a cookie, which may have ended; undefined if the cookie was not sealed with the key. */
export async function openSession(key: SecretKey, cookie: string): Promise<Session | undefined> {
  const bytes = cookiePattern.test(cookie) ? fromBase64(cookie) : undefined;
  // Base 64 has several spellings of some bytes, which differ in bits that say nothing.
  if (bytes === undefined || toBase64(bytes) !== cookie) return undefined;
  const iv = bytes.slice(0, ivBytes), sealed = bytes.slice(ivBytes);
  const opened = await crypto.subtle.decrypt(cipherOf(iv, purpose), key, sealed).catch(() => undefined);
  const [, endsAt, token] = /^(\d+) (.+)$/s.exec(new TextDecoder().decode(opened)) ?? [];
  return token === undefined ? undefined : { id: cookie.slice(0, ivCharacters), token, endsAt: Number(endsAt) };
}

const cookiePattern = /^[\w-]{60,4000}$/;

const toBase64 = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (byte) => byte.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** The names of the cookie on https and on http. A browser takes the first one over https alone. */
const names = { secure: "__Secure-pl_session", plain: "pl_session" };

/** The value of the session's cookie in a request. */
export function readCookie({ headers }: Request): string | undefined {
  const pairs = (headers.get("Cookie") ?? "").split(/; */).map((pair) => pair.split("="));
  return [names.secure, names.plain].map((name) => pairs.find(([found]) => found === name)?.[1])
    .find((value) => value !== undefined);
}

/**
 * The header that sets the cookie, or removes it without a value. It has no path: the browser takes that of the page, which is
 * the console's wherever a host has mounted it. So only pages directly below the console may send it.
 */
export function cookieHeader(request: Request, value: string | undefined): string {
  const isNamedSecure = isKnownSecure(request);
  // A form tells its scheme even where the proxy does not. A link tells none, so the name cannot depend on that.
  const isSecure = isNamedSecure || request.headers.get("Origin")?.startsWith("https:") === true;
  const attributes = ["HttpOnly", "SameSite=Strict", `Max-Age=${value === undefined ? 0 : sessionTime / 1000}`];
  return [`${isNamedSecure ? names.secure : names.plain}=${value ?? ""}`, ...attributes, ...isSecure ? ["Secure"] : []]
    .join("; ");
}

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
type Access = Pick<ManagementAccess, "store" | "gate" | "people"> & { sessions: Sessions };

const noToken = ""; // the gate counts it as a wrong one, without a query

/**
 * The person whom a proxy has signed in, with a header. Undefined if there is none, or a page of another site led here: the proxy
 * signs that request too, and only a page of ours may make it.
 */
export async function findPerson({ people, store }: Access, request: Request): Promise<Caller | undefined> {
  const person = isFromElsewhere(request) ? undefined : await people?.find(request, store);
  return person && { ...person, source: "console" };
}

/** Who sends a request: whom a proxy has signed in, or else whose session it belongs to. */
export async function findCaller(access: Access, request: Request): Promise<Caller | undefined> {
  // The page that signs in says why a header was refused. A token signs in nevertheless, for emergencies.
  const person = await findPerson(access, request).catch(ifRefused);
  return person ?? await findHolder(access, request);
}

/** Nobody, where one was refused. */
export function ifRefused(error: unknown): undefined {
  if (!(error instanceof Refusal)) throw error;
}

/**
 * The caller whose session a request belongs to. Undefined if there is none, it has expired, or its token is no longer valid. A
 * cookie that is forged, or copied from a session that was signed out, counts as a wrong token.
 */
async function findHolder({ store, gate, sessions }: Access, request: Request): Promise<Caller | undefined> {
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
