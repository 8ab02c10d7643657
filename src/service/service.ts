// The service as one object: a fetch handler over a database, for a server of its own or to be mounted in another.
import { createCache } from "../common/cache.ts";
import { defaultBodyBudgetBytes, defaultMaxBodyBytes } from "../http/settings.ts";
import type { DatabaseLocation } from "../database/location.ts";
import type { Clock } from "../common/domain.ts";
import { createApp, createProbes, serveApp } from "./app.ts";
import type { App } from "./app.ts";
import type { Context } from "../http/context.ts";
import { readPromptOf, recordDiagnosisOf, runIn } from "./direct.ts";
import type { DiagnosisRecord, ReadResult, ReadTarget, RecordResult, Target } from "./direct.ts";
import type { Handler } from "../http/edge.ts";
import { extend } from "../http/face.ts";
import type { Checked, Extensions, Face, FaceHost } from "../http/face.ts";
import { requireReady } from "../http/calls/health.ts";
import { createInFlight } from "../http/in-flight.ts";
import type { InFlight } from "../http/in-flight.ts";
import { Refusal } from "../common/errors.ts";
import { consoleLog } from "../common/log.ts";
import type { Log } from "../common/log.ts";
import type { Metrics } from "../common/metrics.ts";
import { asRefusal } from "../http/respond.ts";
import { checkOptions, checkSettings, schemaFault, serviceChecks } from "../http/settings.ts";
import type { SchemaMode } from "../http/settings.ts";
import type { Client, DatabaseSource } from "../database/client.ts";
import { failureOf, onError } from "../database/database.ts";
import type { Database } from "../database/database.ts";
import type { MigrateOptions } from "../database/migrate.ts";
import type { GroupLimits } from "../ledger/waiting-room.ts";
import { createLedger } from "../ledger/ledger.ts";
import { readinessOf } from "../database/readiness.ts";
import { endOfTick } from "../database/yielding.ts";
import { createPromptCache } from "../ledger/prompt-cache.ts";
import type { PromptCache } from "../ledger/prompt-cache.ts";
import { createShares } from "../common/shares.ts";
import { createTelemetry } from "../common/telemetry.ts";
import { withTimeout } from "../common/timeout.ts";

/** The settings with a default. */
export type ServiceSettings<Faces extends readonly Face[] = readonly Face[]> = {
  /** The path that the service is mounted under and sees in its requests, such as `/llm`. */
  basePath?: `/${string}` | "" | undefined;
  /** The largest request body that the service accepts, in bytes. Default: 1 MiB. */
  maxBodyBytes?: number | undefined;
  /** Bytes of request bodies held at once, half of them of one workspace. Beyond it: 503. Default: 64 MiB. */
  bodyBudgetBytes?: number | undefined;
  /** Faces of the service beyond the data plane. Default: none. */
  faces?: Faces | undefined;
  /** Time that a request body may take to arrive, in ms. Default: 30 s. */
  bodyTimeout?: number | undefined;
  /** Time that a client may read nothing of a long response before it is aborted, in ms. Default: 60 s. */
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
 * The database: a URL, a URL with its token, or a libSQL client that the embedder owns and closes. A client of a file
 * needs `concurrency: 1`, because pragmas apply to one connection.
 */
export type ServiceOptions<Faces extends readonly Face[] = readonly Face[]> =
  & ServiceSettings<Faces>
  & ({ database: string | DatabaseLocation; client?: undefined } | { client: Client; database?: undefined });

/** The service, to be mounted in a server or called from code. */
export type Service = {
  /** Answers a request; never rejects. */
  fetch(this: void, request: Request): Promise<Response>;
  /**
   * Reads the active prompt of a deployment without HTTP. Rejects with a `Refusal`; its `kind` is `quota_exhausted`,
   * `not_found`, `unauthorized` and so on.
   */
  readPrompt(this: void, target: ReadTarget): Promise<ReadResult>;
  /** Stores a record without HTTP, once for each `idempotencyKey`. Rejects as `readPrompt` does. */
  recordDiagnosis(
    this: void,
    target: Target & { idempotencyKey?: string | undefined },
    record: DiagnosisRecord,
  ): Promise<RecordResult>;
  /** Resolves if the service is ready, like `/readyz`. Otherwise rejects with a `Refusal` that has the reason. */
  ready(this: void): Promise<void>;
  /** Number of requests being answered. */
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

/** A service with a process of its own, and what that process needs of it. */
export type OwnService = Service & {
  /** Answers a request. The runtime may report that the client has closed the connection. */
  handle: Handler;
  /** Answers probes, on a separate address. */
  probe: Handler;
  metrics: Metrics;
  /** Refuses new requests. Resolves when all earlier requests have been answered. */
  refuseNew(): Promise<void>;
};

/** Makes a service with what its faces add. Throws if an option is invalid. */
export type CreateService = <const Faces extends readonly Face[] = []>(
  options: ServiceOptions<Faces> & Checked<Faces>,
) => Service & Extensions<Faces>;

/** Makes `createService` for a platform that opens databases with `open`. */
export const serviceOver = (open: (source: DatabaseSource) => Database): CreateService => (options) => {
  const { service, context } = assemble(open(checkSettings(options)), options);
  return extend(service, options.faces, () => context.host);
};

/** Options of `createService`, and the treatment of the database's schema. */
export type OpenOptions<Faces extends readonly Face[] = readonly Face[]> = ServiceOptions<Faces> & {
  /**
   * `migrate` brings the schema up to date, and creates a file that does not exist. Each migration is a line of `log`.
   * `check` rejects if the database is away or has another schema. `trust` does neither, and opens nothing yet.
   * Default: `migrate`.
   */
  schema?: SchemaMode | undefined;
};

/** Makes a service once its database is as `schema` requires. Rejects with a `Refusal`. */
export type OpenService = <const Faces extends readonly Face[] = []>(
  options: OpenOptions<Faces> & Checked<Faces>,
) => Promise<Service & Extensions<Faces>>;

/** A platform's functions for opening services. */
export type Platform = {
  createService: CreateService;
  migrate(source: DatabaseSource, options: MigrateOptions): Promise<unknown>;
  /** Waits while a process that is stopping serves the file of a database. */
  awaitFile?(source: DatabaseSource, schema: SchemaMode, log: Log): Promise<void>;
};

/** Opens a service on a platform. */
export async function openWith<Faces extends readonly Face[]>(
  { createService, migrate, awaitFile }: Platform,
  given: OpenOptions<Faces>,
): Promise<Service & Extensions<Faces>> {
  checkOptions("openService", given, { ...serviceChecks, schema: schemaFault });
  const { schema = "migrate", ...rest } = given;
  const options = rest as ServiceOptions<Faces> & Checked<Faces>;
  const service = createService(options);
  const source = options.database ?? options.client!;
  try {
    if (schema !== "trust") await awaitFile?.(source, schema, options.log ?? consoleLog);
    const notify = (notice: string) => options.log?.info(notice);
    if (schema === "migrate") await migrate(source, { notify });
    if (schema !== "trust") await service.ready();
    return service;
  } catch (error) {
    // The service describes a fault of its database better than a driver's error.
    const reason = error instanceof Refusal ? error : await service.ready().then(() => asRefusal(error), asRefusal);
    await service.close();
    throw reason === error ? error : Object.assign(reason, { cause: error });
  }
}

/** State shared by all requests of a service, even on Workers, where none may wait for another. */
export type Shared = {
  app: App;
  inFlight: InFlight;
  keyHashes: Context["keyHashes"];
  validKeys: Context["validKeys"];
  prompts: PromptCache;
};

const maxKeyCharacters = 1_000_000; // of Authorization headers whose keys' hashes are kept: some 16,000 keys
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
export function serveDatabase(database: Database, settings: ServiceSettings, shared?: Shared): OwnService {
  const { service, context, handle } = assemble(database, settings, shared);
  const { inFlight, telemetry: { metrics } } = context;
  return { ...service, handle, probe: createProbes(context), metrics, refuseNew: inFlight.close };
}

/** Makes a service, and the context of its handlers. */
export function assemble(database: Database, settings: ServiceSettings, shared: Shared = createShared(settings)) {
  const context = createContext(database, settings, {}, shared);
  const { inFlight, log, host: { run } } = context;
  database.watch?.(log);

  async function close({ timeout = closeTimeout }: { timeout?: number | undefined } = {}): Promise<void> {
    await withTimeout(timeout, inFlight.close(), () => {});
    await database.close();
    // Runtimes release the driver's resources between tasks. Without a task in between, a loop that opens and closes
    // services runs out of file descriptors.
    await endOfTick();
  }

  const handle = serveApp(shared.app, context);
  const service: Service = {
    fetch: (request) => handle(request),
    readPrompt: (target) => run(() => readPromptOf(context, target)),
    recordDiagnosis: (target, record) => run(() => recordDiagnosisOf(context, target, record)),
    ready: () => requireReady(context),
    countInFlight: inFlight.count,
    drain: inFlight.drain,
    close,
    [Symbol.asyncDispose]: () => close(),
  };
  return { service, context, handle };
}

/** Creates the context of handlers, with the faces' host. */
export function createContext(
  database: Database,
  settings: ServiceSettings,
  groupLimits: Partial<GroupLimits> = {},
  { app, inFlight, keyHashes, validKeys, prompts }: Shared = createShared(settings),
): Context & { host: FaceHost } {
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
  const bodies = createShares(bodyBudgetBytes);
  gauge("promptledger_http_requests_in_flight", "Requests in flight", inFlight.count);
  gauge("promptledger_waiting_requests", "Requests that wait for a transaction", ledger.countWaiting);
  gauge("promptledger_body_bytes", "Bytes of request bodies held", bodies.used);
  gauge("promptledger_body_budget_bytes", "Bytes of request bodies that may be held at once", () => bodyBudgetBytes);
  const hasMetrics = metricsToken !== undefined;
  const host: FaceHost = { database: observed, clock, metrics, faces, hasMetrics, run: runIn(inFlight) };
  return {
    ledger,
    keyHashes,
    validKeys,
    secrets: [...faces.flatMap(({ secrets }) => secrets), ...(metricsToken === undefined ? [] : [metricsToken])],
    host,
    faces: new Map(Array.from(app.faces, ([path, open]) => [path, open(host)])),
    clock,
    log,
    telemetry,
    bodyLimit: { bytes: maxBodyBytes, time: bodyTimeout },
    bodies,
    unread: { bytes: 0 },
    stallTimeout,
    discards: { count: 0, time: 1_000 },
    corsOrigins,
    inFlight,
    findObstacle: readinessOf(observed, clock),
  };
}
