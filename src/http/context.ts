// What every handler is handed: the request with what is noted of it, and what the service consists of. No globals.
import type { Cache } from "../common/cache.ts";
import type { Clock } from "../common/domain.ts";
import type { WorkspaceId } from "../common/ids.ts";
import type { Log } from "../common/log.ts";
import type { Refusal } from "../common/errors.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Telemetry } from "../common/telemetry.ts";
import type { InFlight } from "./in-flight.ts";
import type { LogContext } from "./log-context.ts";
import type { Answer } from "./respond.ts";

/** A request as the router hands it to a handler; `route` is the pattern of its path. */
export type RequestContext = {
  request: Request;
  /** The request's own, and what the router goes by, which leaves the query to handlers: its reading drops some of it. */
  method: string;
  url: string;
  requestId: string;
  params: Record<string, string>;
  logContext: LogContext;
  /** Whether its client has closed the connection, if the runtime can tell. */
  isGone: (() => boolean) | undefined;
  /** Whether the ledger has said of this request's key that it is valid. */
  isKeyValid: boolean;
  /** What its body takes of the budget, whether the body has been read to its end, and what reads it piece by piece. */
  bodyBytes: number;
  isBodyRead: boolean;
  bodyReader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  route?: string;
};

/** How much is read of one body: so many bytes, within so many ms. */
export type BodyLimit = { bytes: number; time: number };

/** How many bytes of bodies the service may hold at once, and how many it holds. */
export type BodyBudget = { readonly most: number; used: number };

export type Context = {
  ledger: Ledger;
  /** The hashes of keys that were asked for, by Authorization header: hashing costs more than all else that is done there. */
  keyHashes: Cache<string>;
  /** The workspaces of keys, by their hash, that were valid when the ledger last saw them. */
  validKeys: Cache<WorkspaceId>;
  /** Secrets that must not show up in logs and answers. */
  secrets: readonly string[];
  /** The routes of faces, by the paths under which they are. */
  faces: ReadonlyMap<string, Route>;
  clock: Clock;
  log: Log;
  telemetry: Telemetry;
  /** The largest body that is read, and how long it may take to arrive. */
  bodyLimit: BodyLimit;
  bodyBudget: BodyBudget;
  /** The same for bodies that wait for their key to be looked up. */
  unreadBodies: BodyBudget;
  /** The origins whose pages may call the service, `*` for all; none where it is empty. */
  corsOrigins: readonly string[];
  inFlight: InFlight;
  /** How long a client may take nothing of its response, in ms. */
  stallTimeout: number;
  /** How many refused bodies are being dropped. */
  discards: { count: number };
  /** Why requests would not be served, as of now or a moment ago; undefined if they would be. */
  findObstacle(): Promise<Refusal | undefined>;
};

/** Finds and runs a handler; gives undefined where no route matches. It writes the route on what it is handed. */
export type Route = (ctx: RequestContext, context: Context) => Promise<Answer | undefined>;
