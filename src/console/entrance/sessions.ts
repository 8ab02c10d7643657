// Sign-in to the console with a management token or by a link, and its sessions. Sessions are cookies, which any
// process can open and which need no row. A cookie holds the token that signed in and the end of the session, sealed
// with a key: a browser can neither read nor alter it. Neither the cookie alone nor the database alone reveals the
// token, and a backup is not enough to make a cookie, because that takes a valid token. Only a session that was signed
// out has a row, until it would have ended. So signing out holds in every process, and even for a copied cookie. The
// cookie of a person whom an identity provider has signed in holds their identity instead, and its key takes the secret
// that the service shares with the provider.
import { bounds } from "../../support/bounds.ts";
import { createCache } from "../../common/cache.ts";
import { invalidAdminToken, Refusal, tooManyFailures } from "../../common/errors.ts";
import { newToken } from "../../common/ids.ts";
import type { Gate, ManagementAccess } from "../../faces/management-access.ts";
import type { People } from "../../faces/sign-in/people.ts";
import type { Caller, Store } from "../../management/kernel/operation.ts";
import { requireWorkspace } from "../../management/kernel/people.ts";
import { importSecret, importSecretWith } from "../../management/kernel/service-secret.ts";
import type { SecretKey } from "../../management/kernel/service-secret.ts";
import { isKnownSecure } from "../frame/addresses.ts";
import { isFromElsewhere } from "../frame/safety.ts";
import { seal, unseal } from "./seals.ts";

/** Session owner: the holder of a token, or a person. */
type Owner = { token: string } | { person: SignedIn };

/** A person whom an identity provider has signed in, and what it wants to see when they sign out. */
export type SignedIn = Pick<Caller, "actor" | "role" | "workspaceId"> & { idToken?: string | undefined };

/** A session. Its id is the random part of its seal. It ends at `endsAt`, in Unix ms, if nothing ends it sooner. */
export type Session = { id: string; endsAt: number } & Owner;

export type Sessions = {
  /** The value of a cookie. */
  begin(store: Store, owner: Owner): Promise<string>;
  /** The session in a cookie, which may have ended; undefined if the cookie was forged, detected without a query. */
  open(store: Store, cookie: string): Promise<Session | undefined>;
  /** Refuses a session in all processes from now on. */
  end(store: Store, session: Session): Promise<void>;
  hasEnded(store: Store, session: Session): Promise<boolean>;
  /** The key for people. It changes with the settings of their sign-in. Undefined if no provider is set. */
  personKey(store: Store): Promise<SecretKey | undefined>;
};

const maxKnown = 10_000; // sessions that were signed out, which are not looked up again
const margin = 24 * 3_600_000; // ms that a row stays after the end of its session, because clocks differ

/** Makes the sessions of a service, whose people may sign in at an identity provider. */
export function createSessions(findPeople: () => People | undefined): Sessions {
  const ended = createCache<true>(maxKnown);
  let tokenKey: SecretKey | undefined, personKey: SecretKey | undefined;

  // Keeps the keys, not promises of them: a request to a Worker must not wait for another one.
  const tokenKeyOf = async (store: Store): Promise<SecretKey> => tokenKey ??= await importSecret(store.database);
  async function personKeyOf({ database }: Store): Promise<SecretKey | undefined> {
    const provider = findPeople()?.provider;
    return provider && (personKey ??= await importSecretWith(database, provider.fingerprint));
  }

  return {
    personKey: personKeyOf,
    async begin(store, owner) {
      const endsAt = store.clock() + sessionTime;
      if ("token" in owner) return await sealSession(await tokenKeyOf(store), owner.token, store.clock());
      return await seal((await personKeyOf(store))!, purposes.person, JSON.stringify({ ...owner, endsAt }));
    },
    async open(store, cookie) {
      const session = await openSession(await tokenKeyOf(store), cookie);
      const key = session === undefined ? await personKeyOf(store) : undefined;
      const sealed = key && await unseal(key, purposes.person, cookie);
      return sealed === undefined ? session : { id: sealed.id, ...JSON.parse(sealed.text) };
    },
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

/** Duration of a session in ms. */
const sessionTime = bounds.sessionHours * 3_600_000;

const purposes = { token: "session", person: "person" };

/** The value of a cookie for a token. */
export const sealSession = (key: SecretKey, token: string, now: number): Promise<string> =>
  seal(key, purposes.token, `${now + sessionTime} ${token}`);

/** The session in a cookie, which may have ended; undefined if the cookie was not sealed with the key. */
async function openSession(key: SecretKey, cookie: string): Promise<Session | undefined> {
  const { id, text } = await unseal(key, purposes.token, cookie) ?? {};
  const [, endsAt, token] = /^(\d+) (.+)$/s.exec(text ?? "") ?? [];
  return id === undefined || token === undefined ? undefined : { id, token, endsAt: Number(endsAt) };
}

/** The names of the cookie on https and on http. A browser takes the first one over https alone. */
const names = { secure: "__Secure-pl_session", plain: "pl_session" };

/** The value of the session's cookie in a request. */
export const readCookie = (request: Request): string | undefined =>
  readNamedCookie(request, names.secure) ?? readNamedCookie(request, names.plain);

/** The value of the first cookie of a name. */
export const readNamedCookie = ({ headers }: Request, name: string): string | undefined =>
  (headers.get("Cookie") ?? "").split(/; */).map((pair) => pair.split("=")).find(([found]) => found === name)?.[1];

/**
 * The header that sets the cookie, or removes it without a value. It has no path: the browser takes that of the page,
 * which is the console's wherever a host has mounted it. So only pages directly below the console may send it.
 */
export function cookieHeader(request: Request, value: string | undefined, isHttps = false): string {
  // One that the provider's way has set under that name is to go, too.
  const isNamedSecure = isHttps || isKnownSecure(request) || readNamedCookie(request, names.secure) !== undefined;
  // A form sends its scheme even if the proxy does not. A link sends none, so the name cannot depend on it.
  const isSecure = isNamedSecure || request.headers.get("Origin")?.startsWith("https:") === true;
  const attributes = ["HttpOnly", "SameSite=Strict", `Max-Age=${value === undefined ? 0 : sessionTime / 1000}`];
  return [`${isNamedSecure ? names.secure : names.plain}=${value ?? ""}`, ...attributes, ...isSecure ? ["Secure"] : []]
    .join("; ");
}

/** A link signs in once, unless it is reusable. */
export type LinkOptions = { isReusable?: boolean };

/** Sign-in links. They work only in the process that made them. */
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

/** Authentication of the people of one service. */
type Access = Pick<ManagementAccess, "store" | "gate" | "people"> & { sessions: Sessions };

const noToken = ""; // the gate counts it as a wrong one, without a query

/**
 * The person whom a proxy has signed in, with a header. Undefined without one, or if another site led here: the proxy
 * signs that request too, and only a page of the console may make it.
 */
export async function findPerson({ people, store }: Access, request: Request): Promise<Caller | undefined> {
  const person = isFromElsewhere(request) ? undefined : await people?.find(request, store);
  return person && { ...person, source: "console" };
}

/** Caller of a request: a person signed in by a proxy, or else the session's owner. */
export async function findCaller(access: Access, request: Request): Promise<Caller | undefined> {
  // The sign-in page shows why a header was refused. A token signs in nevertheless, for emergencies.
  const person = await findPerson(access, request).catch(ifRefused);
  return person ?? await findHolder(access, request);
}

/** Turns a refusal into undefined. */
export function ifRefused(error: unknown): undefined {
  if (!(error instanceof Refusal)) throw error;
}

/**
 * The caller whose session a request belongs to. Undefined without a session, if it has expired, or if its token is no
 * longer valid. A cookie that is forged, or copied from a signed-out session, counts as a wrong token.
 */
async function findHolder({ store, gate, sessions }: Access, request: Request): Promise<Caller | undefined> {
  const cookie = readCookie(request);
  if (cookie === undefined) return undefined;
  const session = await sessions.open(store, cookie);
  if (session === undefined) return await callerOf(gate, store, noToken);
  if (session.endsAt <= store.clock()) return undefined;
  const [hasEnded, caller] = await Promise.all([
    sessions.hasEnded(store, session),
    "token" in session ? callerOf(gate, store, session.token) : personOf(store, session.person),
  ]);
  return hasEnded ? await callerOf(gate, store, noToken) : caller;
}

/** The person of a session. Undefined if the workspace of their role is gone. */
async function personOf(store: Store, { actor, role, workspaceId }: SignedIn): Promise<Caller | undefined> {
  const person: Caller = { source: "console", actor, owner: actor, role, workspaceId };
  return await requireWorkspace(store, person).then(() => person, ifRefused);
}

/** The value of the cookie for a token. Throws if the token is not valid. */
export async function signIn({ store, gate, sessions }: Access, token: string): Promise<string> {
  if (await callerOf(gate, store, token) === undefined) throw invalidAdminToken();
  return await sessions.begin(store, { token });
}

/** Ends the session that a request belongs to, if there is one. Returns the person whose it was. */
export async function signOut({ store, sessions }: Access, request: Request): Promise<SignedIn | undefined> {
  const cookie = readCookie(request);
  const session = cookie === undefined ? undefined : await sessions.open(store, cookie);
  if (session === undefined || await sessions.hasEnded(store, session)) return undefined;
  await sessions.end(store, session);
  return "person" in session ? session.person : undefined;
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
