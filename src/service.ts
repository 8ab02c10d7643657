// The service as one object: a fetch handler over a database, to be listened with or mounted elsewhere.
import { defaultMaxBodyBytes } from "./config.ts";
import type { Clock } from "./domain.ts";
import { createApp } from "./http/app.ts";
import { silentLog } from "./log.ts";
import type { Log } from "./log.ts";
import { openDatabase } from "./store/database.ts";
import type { Client, Database, DatabaseSource } from "./store/database.ts";
import { createLedger } from "./store/ledger.ts";

/** Where the store is (a client stays the embedder's to close), and what has a default. */
export type ServiceOptions = ({ database: DatabaseSource | Database } | { client: Client }) & {
  /** The path under which the service is mounted, such as `/llm`; the routes stand below it. */
  basePath?: string;
  /** The largest request body that is read, in bytes; 1 MiB unless set. */
  maxBodyBytes?: number;
  /** Now, in Unix milliseconds. */
  clock?: Clock;
  /** Where errors go; nowhere unless set. */
  log?: Log;
};

export type Service = {
  /** Answers a request; never rejects. */
  fetch(this: void, request: Request): Promise<Response>;
  /** Closes the database, unless it is the embedder's. */
  close(this: void): void;
};

/** Makes a service over a database that has been migrated. */
export function createService(options: ServiceOptions): Service {
  const { basePath = "", maxBodyBytes = defaultMaxBodyBytes, clock = Date.now, log = silentLog } = options;
  const source = "client" in options ? options.client : options.database;
  const database = typeof source === "object" && "write" in source ? source : openDatabase(source);
  const fetch = createApp({ ledger: createLedger(database), clock, log, maxBodyBytes }, basePath);
  return { fetch, close: database.close };
}
