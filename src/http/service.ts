// The service as one object: a fetch handler over a database, for a server of its own or to be mounted in another.
import { createCache } from "../common/cache.ts";
import { defaultBodyBudgetBytes, defaultMaxBodyBytes } from "../common/config.ts";
import type { DatabaseLocation } from "../common/config.ts";
import type { Clock } from "../common/domain.ts";
import { createApp, createProbes, serveApp } from "./app.ts";
import type { App } from "./app.ts";
import type { Context } from "./context.ts";
import type { Handler } from "./edge.ts";
import type { Face } from "./face.ts";
import { createInFlight } from "./in-flight.ts";
import type { InFlight } from "./in-flight.ts";
import { consoleLog } from "../common/log.ts";
import type { Log } from "../common/log.ts";
import type { Metrics } from "../common/metrics.ts";
import { checkSettings } from "./settings.ts";
import type { Client, DatabaseSource } from "../database/client.ts";
import { failureOf, onError } from "../database/database.ts";
import type { Database } from "../database/database.ts";
import type { GroupLimits } from "../ledger/waiting-room.ts";
import { createLedger } from "../ledger/ledger.ts";
import { readinessOf } from "../database/readiness.ts";
import { createPromptCache } from "../ledger/prompt-cache.ts";
import type { PromptCache } from "../ledger/prompt-cache.ts";
import { createTelemetry } from "../common/telemetry.ts";
import { withTimeout } from "../common/timeout.ts";

/** The settings with a default. */
export type ServiceSettings = {
  /** The path that the service is mounted under and sees in its requests, such as `/llm`. */
  basePath?: `/${string}` | "" | undefined;
  /** The largest request body that the service accepts, in bytes. Default: 1 MiB. */
  maxBodyBytes?: number | undefined;
  /** How many bytes of request bodies may be held at once. Beyond it requests get 503. Default: 64 MiB. */
  bodyBudgetBytes?: number | undefined;
  /** What the service has besides the data plane. Default: nothing. */
  faces?: readonly Face[] | undefined;
  /** How long a request body may take to arrive, in ms. Default: 30 s. */
  bodyTimeout?: number | undefined;
  /** How long a client may read nothing of a long response before it is aborted, in ms. Default: 60 s. */
  stallTimeout?: number | undefined;
  /** The origins whose pages may call the service from a browser, `*` for all. Default: none. */
  corsOrigins?: readonly string[] | undefined;
  /** The token that `/metrics` requires, at least 32 characters. Without it there is no `/metrics`. */
  metricsToken?: string | undefined;
  /** Returns the current time in Unix milliseconds. */
  clock?: Clock | undefined;
  /** Receives requests and failures. Default: failures go to the console. */
  log?: Log | undefined;
};

/**
 * The database: a URL, a URL with its token, or a libSQL client that the embedder owns and closes. A client of a file needs
 * `concurrency: 1`, because pragmas apply to one connection.
 */
export type ServiceOptions =
  & ServiceSettings
  & ({ database: string | DatabaseLocation; client?: undefined } | { client: Client; database?: undefined });

export type Service = {
  /** Answers a request; never rejects. */
  fetch(this: void, request: Request): Promise<Response>;
  /** How many requests are being answered. */
  countInFlight(this: void): number;
  /** Turns `/readyz` to 503. Resolves when every request that is in flight now has been answered. */
  drain(this: void): Promise<void>;
  /**
   * Refuses new requests with 503. Waits for those in flight, for 10 s unless `timeout` (ms) is set. Then closes the
   * database, unless it is a client that the embedder owns.
   */
  close(this: void, options?: { timeout?: number | undefined }): Promise<void>;
  [Symbol.asyncDispose](this: void): Promise<void>;
};

/** A service with a process of its own, and what that process needs. */
export type OwnService = Service & {
  /** Answers a request. The runtime may tell whether the client has closed the connection. */
  handle: Handler;
  /** Answers probes, on an address of their own. */
  probe: Handler;
  metrics: Metrics;
  /** Refuses new requests. Resolves when all earlier requests have been answered. */
  refuseNew(): Promise<void>;
};

/** Makes `createService` for a platform that opens databases with `open`. */
export const serviceOver = (open: (source: DatabaseSource) => Database) => (options: ServiceOptions): Service => {
  const source = checkSettings(options);
  const { fetch, countInFlight, drain, close, [Symbol.asyncDispose]: dispose } = serveDatabase(open(source), options);
  return { fetch, countInFlight, drain, close, [Symbol.asyncDispose]: dispose };
};

/** What all requests of a service share, even on Workers, where none may wait for another. */
export type Shared = {
  app: App;
  inFlight: InFlight;
  keyHashes: Context["keyHashes"];
  validKeys: Context["validKeys"];
  prompts: PromptCache;
};

const maxUnreadBytes = 16 * 1024 * 1024; // of bodies whose key is being looked up
const maxKeyCharacters = 1_000_000; // of Authorization headers whose keys' hashes are kept: those of some 16,000 keys
const maxValidKeys = 16_000;

export const createShared = ({ basePath, metricsToken, faces }: ServiceSettings): Shared => ({
  app: createApp({ basePath, metricsToken, faces }),
  inFlight: createInFlight(),
  keyHashes: createCache(maxKeyCharacters),
  validKeys: createCache(maxValidKeys),
  prompts: createPromptCache(),
});

const closeTimeout = 10_000; // ms

/** Makes a service on an open database, which it closes. The settings have been checked. */
export function serveDatabase(
  database: Database,
  settings: ServiceSettings,
  shared: Shared = createShared(settings),
): OwnService {
  const context = createContext(database, settings, {}, shared);
  const { inFlight, log } = context;
  database.watch?.((cause) => log.error("Database is unavailable until the service is restarted", { cause }));

  async function close({ timeout = closeTimeout }: { timeout?: number | undefined } = {}): Promise<void> {
    await withTimeout(timeout, inFlight.close(), () => {});
    await database.close();
  }

  const handle = serveApp(shared.app, context);
  return {
    handle,
    fetch: (request) => handle(request),
    probe: createProbes(context),
    metrics: context.telemetry.metrics,
    countInFlight: inFlight.count,
    drain: inFlight.drain,
    refuseNew: inFlight.close,
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

/** Creates what handlers work with. */
export function createContext(
  database: Database,
  settings: ServiceSettings,
  groupLimits: Partial<GroupLimits> = {},
  { app, inFlight, keyHashes, validKeys, prompts }: Shared = createShared(settings),
): Context {
  const { maxBodyBytes = defaultMaxBodyBytes, bodyTimeout = 30_000, clock = Date.now, metricsToken } = settings;
  const {
    bodyBudgetBytes = defaultBodyBudgetBytes,
    stallTimeout = 60_000,
    log = consoleLog,
    corsOrigins = [],
    faces = [],
  } = settings;
  const telemetry = createTelemetry();
  const { metrics } = telemetry;
  const { gauge } = metrics;
  const observed = onError(database, (error) => telemetry.databaseErrors(failureOf(error)));
  const ledger = createLedger(observed, clock, groupLimits, telemetry, prompts);
  const bodyBudget = { limit: bodyBudgetBytes, used: 0 };
  gauge("promptledger_http_requests_in_flight", "Requests in flight", inFlight.count);
  gauge("promptledger_waiting_requests", "Requests that wait for a transaction", ledger.countWaiting);
  gauge("promptledger_body_bytes", "Bytes of request bodies held", () => bodyBudget.used);
  gauge("promptledger_body_budget_bytes", "Bytes of request bodies that may be held at once", () => bodyBudget.limit);
  const host = { database: observed, clock, metrics, faces, hasMetrics: metricsToken !== undefined };
  return {
    ledger,
    keyHashes,
    validKeys,
    secrets: [...faces.flatMap(({ secrets }) => secrets), ...(metricsToken === undefined ? [] : [metricsToken])],
    faces: new Map(Array.from(app.faces, ([path, open]) => [path, open(host)])),
    clock,
    log,
    telemetry,
    bodyLimit: { bytes: maxBodyBytes, time: bodyTimeout },
    bodyBudget,
    // A runtime buffers no more of a body than it declares, so the largest body is admitted when it is alone.
    unreadBodies: { limit: Math.max(maxUnreadBytes, maxBodyBytes), used: 0 },
    stallTimeout,
    discards: { count: 0 },
    corsOrigins,
    inFlight,
    findObstacle: readinessOf(observed, clock),
  };
}
