// Context of handlers: the request with its log context, and the parts of the service. There are no globals.
import type { Cache } from "../common/cache.ts";
import type { Clock } from "../common/domain.ts";
import type { WorkspaceId } from "../common/ids.ts";
import type { Log } from "../common/log.ts";
import type { Refusal } from "../common/errors.ts";
import type { Shares } from "../common/shares.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Telemetry } from "../common/telemetry.ts";
import type { InFlight } from "./in-flight.ts";
import type { LogContext } from "./log-context.ts";
import type { Answer } from "./respond.ts";

/** A request as the router passes it to a handler. `route` is the pattern of its path. */
export type RequestContext = {
  request: Request;
  /**
   * Method and URL that the router matches. The URL has no query: the router's parser drops parts, so handlers read it.
   */
  method: string;
  url: string;
  requestId: string;
  params: Record<string, string>;
  logContext: LogContext;
  /** True once its client has closed the connection, if the runtime reports it. */
  isGone: (() => boolean) | undefined;
  /** True once the ledger has found this request's key valid. */
  isKeyValid: boolean;
  /** The body's share of the budget, in bytes, and its owner. */
  bodyBytes: number;
  bodyOwner: string;
  /** True once the body was read to its end; and the reader of its stream. */
  isBodyRead: boolean;
  bodyReader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  route?: string;
};

/** Input of a ledger decision, and its output for the log. A call may come without a request. */
export type CallContext = Pick<RequestContext, "logContext" | "isGone" | "isKeyValid">;

/** Limits of one body: its bytes, and the time it may take to arrive, in ms. */
export type BodyLimit = { bytes: number; time: number };

export type Context = {
  ledger: Ledger;
  /** The hashes of keys, by Authorization header. Hashing costs more than the rest of authorization. */
  keyHashes: Cache<string>;
  /** The workspaces of the keys that were valid when the ledger last saw them, by the hash of the key. */
  validKeys: Cache<WorkspaceId>;
  /** Secrets that must not show up in logs and responses. */
  secrets: readonly string[];
  /** The routes of faces, by path. */
  faces: ReadonlyMap<string, Route>;
  clock: Clock;
  log: Log;
  telemetry: Telemetry;
  /** Largest body that the service accepts, and the time it may take to arrive. */
  bodyLimit: BodyLimit;
  /** Bytes of bodies that the service holds, by workspace. */
  bodies: Shares;
  /** Bytes of unread bodies that the runtime may hold while their senders are authenticated. */
  unread: { bytes: number };
  /** The origins whose pages may call the service, `*` for all. */
  corsOrigins: readonly string[];
  inFlight: InFlight;
  /** Time that a client may read nothing of its response, in ms. */
  stallTimeout: number;
  /** Number of refused bodies being dropped, and the time that each may take, in ms. */
  discards: { count: number; time: number };
  /** Refusal if the service is not ready, as of now or a moment ago; undefined if it is ready. */
  findObstacle(): Promise<Refusal | undefined>;
};

/** Finds and runs a handler. Returns undefined if no route matches. Sets `route` on the request context. */
export type Route = (ctx: RequestContext, context: Context) => Promise<Answer | undefined>;
