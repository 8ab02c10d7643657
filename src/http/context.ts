// What every handler is handed besides the request; there are no globals.
import type { Admin } from "../admin/admin.ts";
import type { Cache } from "../cache.ts";
import type { Clock } from "../domain.ts";
import type { Log } from "../log.ts";
import type { Ledger } from "../store/ledger.ts";

/** A request as the router hands it to a handler. */
export type Asked = { request: Request; params: Record<string, string> };

export type Context = {
  ledger: Ledger;
  /** The hashes of keys that were asked for, by Authorization header: hashing costs more than all else that is done there. */
  keyHashes: Cache<string>;
  admin: Admin;
  /** What management asks for; without one there is none. */
  adminToken: string | undefined;
  clock: Clock;
  log: Log;
  /** The largest body that is read, and how long it may take to arrive, in ms. */
  bodyLimit: { bytes: number; time: number };
};
