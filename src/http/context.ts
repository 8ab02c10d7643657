// What every handler gets: the request with its log context, and the parts of the service. There are no globals.
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
  /** What the router matches. The URL has no query: handlers read that, because the router's parser drops parts of it. */
  method: string;
  url: string;
  requestId: string;
  params: Record<string, string>;
  logContext: LogContext;
  /** Whether its client has closed the connection, if the runtime can tell. */
  isGone: (() => boolean) | undefined;
  /** Whether the ledger has found this request's key valid. */
  isKeyValid: boolean;
  /** The body's share of the budget, in bytes, and whose it is. */
  bodyBytes: number;
  bodyOwner: string;
  /** Whether the body was read to its end, and the reader of its stream. */
  isBodyRead: boolean;
  bodyReader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  route?: string;
};

/** What the ledger's decision on a call needs, and leaves for the log. A call may come without a request. */
export type CallContext = Pick<RequestContext, "logContext" | "isGone" | "isKeyValid">;

/** The limits of one body: its bytes, and the ms that it may take to arrive. */
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
  /** The largest body that the service accepts, and how long it may take to arrive. */
  bodyLimit: BodyLimit;
  /** The bytes of bodies that the service holds, by the workspaces that they are for. */
  bodies: Shares;
  /** How many bytes of unread bodies the runtime may hold, while their senders are authenticated. */
  unread: { bytes: number };
  /** The origins whose pages may call the service, `*` for all. */
  corsOrigins: readonly string[];
  inFlight: InFlight;
  /** How long a client may read nothing of its response, in ms. */
  stallTimeout: number;
  /** How many refused bodies are being dropped, and how long each may take, in ms. */
  discards: { count: number; time: number };
  /** Why the service is not ready, as of now or a moment ago; undefined if it is ready. */
  findObstacle(): Promise<Refusal | undefined>;
};

/** Finds and runs a handler. Returns undefined if no route matches. Sets `route` on the request context. */
export type Route = (ctx: RequestContext, context: Context) => Promise<Answer | undefined>;
