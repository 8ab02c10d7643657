// Checks the options of createService and of faces at once, so that a mistake throws there and is not a 500 later.
import {
  adminTokenFault,
  bodyLimitOf,
  databaseUrlFault,
  defaultBodyBudgetBytes,
  defaultMaxBodyBytes,
  isOrigin,
  originsExpected,
} from "../common/config.ts";
import { invalid } from "../common/errors.ts";
import type { Client, DatabaseSource } from "../database/client.ts";
import { isObject } from "../schema/struct.ts";
import type { Face } from "./face.ts";

/** By the name of an option, what says what is wrong with its value. The text continues a sentence that begins with the name. */
export type Checks = Record<string, (value: never) => string | undefined>;

/** The options of a function that has none. */
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
  if (!isObject(value) || !["debug", "info", "warn", "error"].every((level) => typeof value[level] === "function")) {
    return "must have the functions debug, info, warn and error, or be made with createLog";
  }
  // pino, bunyan and winston have the same functions, but take their arguments in the reverse order.
  return "child" in value ? "must take (message, fields): wrap a logger such as pino in fromPino" : undefined;
}

const isClient = (value: unknown) => isObject(value) && "execute" in value;

const isFace = (value: unknown) => isObject(value) && "mount" in value;

const isLocation = (value: unknown) => typeof value === "string" || isObject(value) && "url" in value;

/** Throws if a function was given an option without a check, or a value that its check refuses. */
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

/** Throws if a face is there twice, or lacks one that it needs. A face calls it where it is mounted. */
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

/** What `openService` does about the schema of the database, before the service is used. */
export type SchemaMode = "migrate" | "check" | "trust";

const schemaModes: SchemaMode[] = ["migrate", "check", "trust"];

export const schemaFault = (value: SchemaMode): string | undefined =>
  schemaModes.includes(value) ? undefined : `must be one of ${schemaModes.join(", ")}`;

/** Returns the largest body that the database can store, in bytes. */
function checkDatabase(source: DatabaseSource): number {
  if (typeof source === "object") {
    if ("execute" in source) return bodyLimitOf(source.protocol === "file" ? "file:" : "");
    checkOptions("database", source, locationChecks);
  }
  const url = typeof source === "string" ? source : source.url;
  const fault = databaseUrlFault(url);
  if (fault !== undefined) throw invalid(`database ${fault}`);
  return bodyLimitOf(url);
}
