// Sessions of people who are signed in. They are cookies, which any process can open and which need no row. Only a session that
// was signed out has one, until it would have ended. So signing out holds in every process, and even for a copied cookie.
import { createCache } from "../common/cache.ts";
import type { Store } from "../management/operation.ts";
import { importSecret } from "../management/service-secret.ts";
import type { SecretKey } from "../management/service-secret.ts";
import { openSession, sealSession } from "./session-cookie.ts";
import type { Session } from "./session-cookie.ts";

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
