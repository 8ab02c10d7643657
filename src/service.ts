// The service as one object: a fetch handler over a database, to be listened with or mounted elsewhere.
import { createCache } from "./cache.ts";
import { adminTokenFault, defaultMaxBodyBytes } from "./config.ts";
import type { Clock } from "./domain.ts";
import { invalid } from "./errors.ts";
import { createApp } from "./http/app.ts";
import { consoleLog } from "./log.ts";
import type { Log } from "./log.ts";
import type { Client, DatabaseSource } from "./store/client.ts";
import type { Database } from "./store/database.ts";
import { createLedger } from "./store/ledger.ts";
import { givingWay } from "./store/turns.ts";

/** What has a default. */
export type ServiceSettings = {
  /** The path that the service is mounted under and sees in its requests, such as `/llm`. */
  basePath?: string;
  /** The largest request body that is read, in bytes; 1 MiB unless set. */
  maxBodyBytes?: number;
  /** What management asks for as its bearer token, at least 32 characters; without one there is no `/admin/v1`. */
  adminToken?: string | undefined;
  /** How long a request body may take to arrive, in ms; 30 s unless set. */
  bodyTimeout?: number;
  /** Now, in Unix milliseconds. */
  clock?: Clock;
  /** Where failures are told of; the console unless set. */
  log?: Log;
};

/**
 * Where the store is: a URL, a URL with its token, or a libSQL client of the embedder's, which stays theirs to close. A
 * client of a file needs `concurrency: 1`, since its pragmas hold for one connection.
 */
export type ServiceOptions = ServiceSettings & ({ database: DatabaseSource } | { client: Client });

export type Service = {
  /** Answers a request; never rejects. */
  fetch(this: void, request: Request): Promise<Response>;
  /** Closes the database, unless it is the embedder's. */
  close(this: void): void;
};

/** Gives `createService`, for where databases are opened in the given way. */
export const serviceOver = (open: (source: DatabaseSource) => Database) => (options: ServiceOptions): Service => {
  const source = "client" in options ? options.client : options.database;
  if (!source) throw invalid("createService needs a database or a client");
  return serveDatabase(open(source), options);
};

const mostKeyCharacters = 1_000_000; // of Authorization headers whose keys' hashes are kept: those of some 16,000 keys

/** Makes a service on an open database, which it closes. */
export function serveDatabase(database: Database, settings: ServiceSettings): Service {
  const { basePath = "", maxBodyBytes = defaultMaxBodyBytes, bodyTimeout = 30_000, clock = Date.now } = settings;
  if (!/^(\/[\w.~-]+)*\/?$/.test(basePath)) throw invalid("basePath must be a path such as /llm");
  if (!(Number.isSafeInteger(maxBodyBytes) && maxBodyBytes > 0)) {
    throw invalid("maxBodyBytes must be a positive integer");
  }
  if (!(bodyTimeout > 0)) throw invalid("bodyTimeout must be a positive number of milliseconds");
  const { adminToken } = settings;
  const fault = adminToken === undefined ? undefined : adminTokenFault(adminToken);
  if (fault !== undefined) throw invalid(`adminToken ${fault}`);
  const bodyLimit = { bytes: maxBodyBytes, time: bodyTimeout };
  const context = {
    ledger: createLedger(database, clock),
    keyHashes: createCache<string>(mostKeyCharacters),
    admin: { database: givingWay(database), clock, source: "api" as const },
    adminToken,
    clock,
    log: settings.log ?? consoleLog,
    bodyLimit,
  };
  return { fetch: createApp(context, basePath), close: database.close };
}
