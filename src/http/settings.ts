// Checks the options of createService and of faces at once: a mistake throws there, instead of a 500 later.
import { invalid } from "../common/errors.ts";
import { isApiKey, isToken } from "../common/ids.ts";
import { logLevels } from "../common/log.ts";
import type { Client, DatabaseSource } from "../database/client.ts";
import { databaseUrlFault, isFileUrl } from "../database/location.ts";
import { isObject } from "../schema/struct.ts";
import type { Face } from "./face.ts";

export const defaultMaxBodyBytes = 1024 * 1024;
export const defaultBodyBudgetBytes = 64 * defaultMaxBodyBytes;

// A libSQL server accepts 5 MB per argument, and escaping can double the size of a body. On a file, memory is the
// limit: it holds a body several times.
/** The largest body that a database can store, in bytes. */
export const bodyLimitOf = (isFile: boolean): number => (isFile ? 64 : 2) * 1024 * 1024;

/** Validators by option name. Each returns an error text that continues a sentence beginning with the name. */
export type Checks = Record<string, (value: never) => string | undefined>;

/** Options of a function that has none. */
export type NoOptions = Record<string, never>;

const bytesFault = (value: unknown) =>
  Number.isSafeInteger(value) && Number(value) > 0 ? undefined : "must be a positive integer";
const maxTimeout = 2 ** 31 - 1; // ms: the limit of timers

/** The options of `createService`. */
export const serviceChecks: Checks = {
  database: (value: unknown) =>
    isLocation(value) || isClient(value) ? undefined : "must be a URL, or an object with url",
  client: (value: unknown) => isClient(value) ? undefined : "must be a client of @libsql/client",
  basePath: (value: unknown) =>
    typeof value === "string" && /^(\/(?!\.\.?(\/|$))[\w.~-]+)*\/?$/.test(value)
      ? undefined
      : "must be a path such as /llm",
  maxBodyBytes: bytesFault,
  bodyBudgetBytes: bytesFault,
  faces: (value: unknown) => Array.isArray(value) && value.every(isFace) ? undefined : "must be an array of faces",
  bodyTimeout: timeoutFault,
  stallTimeout: timeoutFault,
  corsOrigins: (value: unknown) => Array.isArray(value) && value.every(isOrigin) ? undefined : originsExpected,
  metricsToken: tokenFault,
  clock: (value: unknown) =>
    typeof value === "function" ? undefined : "must be a function that returns Unix milliseconds",
  log: logFault,
};

const textFault = (value: unknown) => typeof value === "string" ? undefined : "must be a string";

const locationChecks: Checks = { url: textFault, authToken: textFault };

export function tokenFault(value: unknown): string | undefined {
  return textFault(value) ?? adminTokenFault(String(value));
}

function timeoutFault(value: unknown): string | undefined {
  const isTimeout = typeof value === "number" && value >= 1 && value <= maxTimeout;
  return isTimeout ? undefined : `must be from 1 to ${maxTimeout} milliseconds`;
}

function logFault(value: unknown): string | undefined {
  if (!isObject(value) || !logLevels.every((level) => typeof value[level] === "function")) {
    return "must have the functions debug, info, warn and error, or be made with createLog";
  }
  // pino, bunyan and winston have the same functions, but take their arguments in the reverse order.
  return "child" in value ? "must take (message, fields): wrap a logger such as pino in fromPino" : undefined;
}

const isClient = (value: unknown) => isObject(value) && "execute" in value;

const isFace = (value: unknown) => isObject(value) && "mount" in value;

const isLocation = (value: unknown) => typeof value === "string" || isObject(value) && "url" in value;

/** Throws for an option without a check, or a value that its check refuses. */
export function checkOptions(of: string, options: object, checks: Checks): void {
  if (!isObject(options)) throw invalid(`${of} needs an options object`);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (!Object.hasOwn(checks, name)) {
      throw invalid(`Unknown option ${name} of ${of}. Allowed: ${Object.keys(checks).join(", ") || "none"}`);
    }
    const fault = checks[name]!(value as never);
    if (fault !== undefined) throw invalid(`${name} ${fault}`);
  }
}

/** Throws if a face is there twice, or one that it needs is missing. Called by a face where it is mounted. */
export function checkBeside({ name, needs }: Pick<Face, "name" | "needs">, faces: readonly Face[]): void {
  const names = faces.map((face) => face.name);
  if (names.indexOf(name) < names.lastIndexOf(name)) throw invalid(`faces has ${name} twice`);
  if (needs !== undefined && !names.includes(needs)) throw invalid(`${name} needs ${needs} beside it, in faces`);
}

type Limits = { maxBodyBytes?: number; bodyBudgetBytes?: number };

/** Returns the database that the options of createService name. Throws if any option is invalid. */
export function checkSettings(options: object): DatabaseSource {
  checkOptions("createService", options, serviceChecks);
  const { database, client }: { database?: DatabaseSource; client?: Client } = options;
  const { maxBodyBytes = defaultMaxBodyBytes, bodyBudgetBytes = defaultBodyBudgetBytes }: Limits = options;
  const source = database ?? client;
  if (source === undefined || database && client) throw invalid("Give either a database or a client");
  const max = checkDatabase(source);
  if (maxBodyBytes > max) throw invalid(`maxBodyBytes must be at most ${max} on this database`);
  if (bodyBudgetBytes < maxBodyBytes) {
    throw invalid(`bodyBudgetBytes must be at least maxBodyBytes, which is ${maxBodyBytes}`);
  }
  return source;
}

/** Treatment of the database's schema by `openService`, before the service is used. */
export type SchemaMode = "migrate" | "check" | "trust";

const schemaModes: SchemaMode[] = ["migrate", "check", "trust"];

export const schemaFault = (value: SchemaMode): string | undefined =>
  schemaModes.includes(value) ? undefined : `must be one of ${schemaModes.join(", ")}`;

/** Returns the largest body that the database can store, in bytes. */
function checkDatabase(source: DatabaseSource): number {
  if (typeof source === "object") {
    if ("execute" in source) return bodyLimitOf(source.protocol === "file");
    checkOptions("database", source, locationChecks);
  }
  const url = typeof source === "string" ? source : source.url;
  const fault = databaseUrlFault(url);
  if (fault !== undefined) throw invalid(`database ${fault}`);
  return bodyLimitOf(isFileUrl(url));
}

/** Error text for an admin token. It must be hard to guess, and must not look like another secret. */
export function adminTokenFault(token: string): string | undefined {
  if (!/^[!-~]{32,}$/.test(token)) return "must be at least 32 printable ASCII characters without spaces";
  if (isApiKey(token)) return "must not be an API key";
  return isToken(token) ? "must not be a management token" : undefined;
}

export const originsExpected = "must be * or origins such as https://app.example.com";

/** True if a text is `*` or an origin as browsers send it: scheme, host and port, with nothing after them. */
export const isOrigin = (text: string): boolean =>
  text === "*" || /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
