// Databases through @libsql/client, which only this file imports: a libSQL server over HTTP, or a client of the caller.
import { HttpClient, LibsqlError } from "@libsql/client/http";
import { isFileUrl } from "./location.ts";
import type { DatabaseLocation } from "./location.ts";
import { invalid } from "../common/errors.ts";
import { around, bind, classifyErrors, closedError, hasCode, isClosedError } from "./database.ts";
import type { Database, Failure, Purpose, Row } from "./database.ts";
import { withTimeout } from "../common/timeout.ts";

type Value = string | number | bigint | null;
type BoundStatement = { sql: string; args: Value[] | Record<string, Value> };

/**
 * A client of @libsql/client, as far as a service uses one. Its own types refer to types that TypeScript does not find,
 * so a project without `skipLibCheck` could not compile them.
 */
export type Client = {
  readonly protocol: string;
  execute(statement: BoundStatement): Promise<{ columns: string[]; columnTypes: string[]; rows: Row[] }>;
  batch(statements: BoundStatement[], mode: "write"): Promise<{ rows: Row[] }[]>;
  reconnect(): void | Promise<void>;
};

/** Location of a store: a URL, a URL with its token, or a libSQL client, which the caller closes. */
export type DatabaseSource = string | DatabaseLocation | Client;

const timeoutsMs: Record<Purpose, number> = { serve: 5_000, manage: 600_000 }; // for one round trip

/** Opens the file of a client of the caller. `database` runs operations on that client. */
type OpenFileClient = (client: Client, database: Database, purpose: Purpose) => Database;

/** Sends a request to a server. Rejects with the reason if the signal aborts. */
export type Send = (request: Request, signal: AbortSignal) => Promise<Response>;

export const noFiles = () => invalid("The database must be remote: there are no files here");

/** Opens a database on a libSQL server, without connecting to it yet, or uses the given client. */
export function openRemote(
  source: DatabaseSource,
  purpose: Purpose,
  openFileClient?: OpenFileClient,
  send: Send = (request, signal) => fetch(request, { signal }),
): Database {
  if (typeof source === "object" && "execute" in source) return useClient(source, purpose, openFileClient);
  const { url, authToken } = serverOf(typeof source === "string" ? { url: source } : source);
  const timeoutMs = timeoutsMs[purpose];
  const sendWithin = async (request: Request) => withFirstErrors(await send(request, AbortSignal.timeout(timeoutMs)));
  const client = new HttpClient(url, authToken, "number", sendWithin, maxRequests, undefined);
  return classifyErrors(untilClosed(fromClient(client), () => client.close()), classifyError);
}

const maxRequests = 20; // at once, to a server

/**
 * The HTTP address of a server, and its token. `libsql:` is `https:`, or `http:` with `?tls=0`. The driver's own parser
 * of addresses would take a thirtieth of the core.
 */
function serverOf({ url, authToken }: DatabaseLocation): { url: URL; authToken: string | undefined } {
  if (isFileUrl(url)) throw noFiles();
  const server = new URL(url.replace(/^libsql:/i, /[?&]tls=0(&|$)/.test(url) ? "http:" : "https:"));
  const token = server.searchParams.get("authToken") ?? authToken;
  const allowed = /^libsql:/i.test(url) ? ["authToken", "tls"] : ["authToken"];
  if (server.hash || [...server.searchParams.keys()].some((name) => !allowed.includes(name))) {
    throw invalid(`The database's URL may have only the parameters ${allowed.join(" and ")}`);
  }
  server.search = "";
  return { url: server, authToken: token };
}

/**
 * Removes all errors but the first from the batches of a response. The driver handles only that one, and the rejection
 * of any other one ends a program. A server that takes the lock from a transaction returns an error for each of its
 * later steps.
 */
function withFirstErrors(response: Response): Response {
  const json = async () => {
    const body = JSON.parse(await response.text()) as Partial<PipelineBody> | null;
    for (const { response } of body?.results ?? []) {
      const errors = response?.result?.step_errors;
      errors?.fill(null, errors.findIndex(Boolean) + 1);
    }
    return body;
  };
  // A host may have replaced the class of responses by one whose methods cannot be assigned to.
  return Object.defineProperty(response, "json", { value: json });
}

/** Body of a server's response, as far as it is read here. */
type PipelineBody = { results: { response?: { result?: { step_errors?: (object | null)[] } } }[] };

function useClient(client: Client, purpose: Purpose, openFileClient?: OpenFileClient): Database {
  const database = fromClient(client);
  if (client.protocol !== "file") {
    return classifyErrors(untilClosed(withTimeouts(database, timeoutsMs[purpose]), () => {}), classifyError);
  }
  if (openFileClient === undefined) throw noFiles();
  return openFileClient(client, database, purpose);
}

/** Wraps a database to reject every operation once it is closed. */
function untilClosed(database: Database, close: () => void): Database {
  let isClosed = false;
  return {
    ...around(database, (operation) => isClosed ? Promise.reject(closedError()) : operation()),
    close() {
      isClosed = true;
      close();
    },
  };
}

/** Adds a timeout to each operation, as a client of the caller may have none. */
const withTimeouts = (database: Database, timeoutMs: number): Database =>
  around(database, (operation) =>
    withTimeout(timeoutMs, operation(), () => {
      throw new DOMException(`No answer within ${timeoutMs} ms`, "TimeoutError");
    }));

const fromClient = (client: Client): Database => ({
  read: async (statement) => (await client.execute(bind(statement))).rows,
  write: async (statements) => (await client.batch(statements.map(bind), "write")).map(({ rows }) => rows),
  close() {},
});

/** Classifies by class and code, never by the message of the driver. */
function classifyError(error: unknown): Failure | undefined {
  if (isClosedError(error)) return "unavailable";
  // Only an error from the server for a statement proves that nothing took effect. Any other error is a missing reply.
  if (!(error instanceof LibsqlError) || error.code.startsWith("HRANA_")) return "indeterminate";
  if (error.code === "SERVER_ERROR") return classifyStatus(error.cause);
  // Another client holds the lock. Or it was given the lock of a transaction that had run for 5 s, which was rolled
  // back.
  return hasCode(error, /^(SQLITE|TRANSACTION)_(BUSY|TIMEOUT)/) ? "retryable" : "rejected";
}

function classifyStatus(cause: unknown): Failure | undefined {
  const status = cause instanceof Error && "status" in cause ? Number(cause.status) : 0;
  if (status === 429) return "retryable";
  if (status >= 500) return "indeterminate";
  // Without a valid token nothing runs, so no statement is at fault.
  return status === 401 || status === 403 ? undefined : "rejected";
}
