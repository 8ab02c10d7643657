// The service as one object: a fetch handler over a database, to be listened with or mounted elsewhere.
import { createCache } from "./cache.ts";
import { adminTokenFault, defaultMaxBodyBytes, isOrigin, originsWanted } from "./config.ts";
import type { Clock } from "./domain.ts";
import { invalid } from "./errors.ts";
import { createApp, createProbes } from "./http/app.ts";
import type { Context } from "./http/context.ts";
import { createInFlight } from "./http/in-flight.ts";
import { idSequence } from "./ids.ts";
import { consoleLog } from "./log.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import type { Client, DatabaseSource } from "./store/client.ts";
import { failureOf, withNoteOfErrors } from "./store/database.ts";
import type { Database } from "./store/database.ts";
import type { GroupLimits } from "./store/group-commit.ts";
import { createLedger } from "./store/ledger.ts";
import { reachabilityOf } from "./store/reachable.ts";
import { givingWay } from "./store/turns.ts";
import { createTelemetry } from "./telemetry.ts";

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
  /** The origins whose pages may call the service from a browser, `*` for all; none unless set. */
  corsOrigins?: readonly string[];
  /** Whether `/metrics` is served; not unless set. */
  servesMetrics?: boolean;
  /** Now, in Unix milliseconds. */
  clock?: Clock;
  /** Where requests and failures are told of; failures on the console unless set. */
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

/** A service, and what the process that it has to itself asks of it. */
export type OwnService = Service & {
  /** Answers probes, on an address of their own. */
  probe: Service["fetch"];
  metrics: Metrics;
  /** How many requests are being answered. */
  countInFlight(): number;
  /** From now on it tells that it is not ready. Resolves when every request that is in flight now has been answered. */
  drain(): Promise<void>;
  /** From now on it refuses new requests. Resolves when every request that came before has been answered. */
  refuseNew(): Promise<void>;
};

/** Gives `createService`, for where databases are opened in the given way. */
export const serviceOver = (open: (source: DatabaseSource) => Database) => (options: ServiceOptions): Service => {
  const source = "client" in options ? options.client : options.database;
  if (!source) throw invalid("createService needs a database or a client");
  const { fetch, close } = serveDatabase(open(source), options);
  return { fetch, close };
};

/** Makes a service on an open database, which it closes. */
export function serveDatabase(database: Database, settings: ServiceSettings): OwnService {
  const { basePath = "", servesMetrics } = settings;
  if (!/^(\/[\w.~-]+)*\/?$/.test(basePath)) throw invalid("basePath must be a path such as /llm");
  const context = createContext(database, settings);
  return {
    fetch: createApp(context, { basePath, servesMetrics }),
    probe: createProbes(context),
    metrics: context.telemetry.metrics,
    countInFlight: context.inFlight.count,
    drain: context.inFlight.drain,
    refuseNew: context.inFlight.close,
    close: database.close,
  };
}

const mostKeyCharacters = 1_000_000; // of Authorization headers whose keys' hashes are kept: those of some 16,000 keys

/** All that handlers work with. */
export function createContext(
  database: Database,
  settings: ServiceSettings,
  groupLimits: Partial<GroupLimits> = {},
): Context {
  const { maxBodyBytes = defaultMaxBodyBytes, bodyTimeout = 30_000, clock = Date.now, adminToken } = settings;
  if (!(Number.isSafeInteger(maxBodyBytes) && maxBodyBytes > 0)) {
    throw invalid("maxBodyBytes must be a positive integer");
  }
  if (!(bodyTimeout > 0)) throw invalid("bodyTimeout must be a positive number of milliseconds");
  const { log = consoleLog, corsOrigins = [] } = settings;
  if (!Array.isArray(corsOrigins) || !corsOrigins.every(isOrigin)) throw invalid(`corsOrigins ${originsWanted}`);
  const fault = adminToken === undefined ? undefined : adminTokenFault(adminToken);
  if (fault !== undefined) throw invalid(`adminToken ${fault}`);

  const telemetry = createTelemetry();
  const { gauge } = telemetry.metrics;
  const observed = withNoteOfErrors(database, (error) => telemetry.databaseErrors(failureOf(error) ?? "other"));
  const ledger = createLedger(observed, clock, groupLimits, telemetry);
  const inFlight = createInFlight();
  gauge("promptledger_http_requests_in_flight", "Requests that are being answered", inFlight.count);
  gauge("promptledger_waiting_requests", "Requests that wait to be decided", ledger.countWaiting);
  return {
    ledger,
    keyHashes: createCache<string>(mostKeyCharacters),
    admin: { database: givingWay(observed), clock, source: "api" as const },
    adminToken,
    clock,
    newRequestId: idSequence("req"),
    log,
    telemetry,
    bodyLimit: { bytes: maxBodyBytes, time: bodyTimeout },
    corsOrigins,
    inFlight,
    isReachable: reachabilityOf(observed, clock),
  };
}
