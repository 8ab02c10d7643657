// Checks the options of createService at once, so that a mistake throws there and is not a 500 later.
import { adminTokenFault, bodyLimitOf, databaseUrlFault, isOrigin, originsExpected } from "../common/config.ts";
import type { DatabaseLocation } from "../common/config.ts";
import { invalid } from "../common/errors.ts";
import type { Client, DatabaseSource } from "../database/client.ts";

type Check = (value: never) => string | undefined;

const isPositive = (value: unknown) => Number.isSafeInteger(value) && Number(value) > 0;
const maxTimeout = 2 ** 31 - 1; // ms: the limit of timers

/** Says what is wrong with an option's value. The text continues a sentence that begins with the option's name. */
const checks: Record<string, Check> = {
  database: (value: unknown) =>
    isLocation(value) || isClient(value) ? undefined : "must be a URL, or an object with url",
  client: (value: unknown) => isClient(value) ? undefined : "must be a client of @libsql/client",
  basePath: (value: unknown) =>
    typeof value === "string" && /^(\/[\w.~-]+)*\/?$/.test(value) ? undefined : "must be a path such as /llm",
  maxBodyBytes: (value: unknown) => isPositive(value) ? undefined : "must be a positive integer",
  bodyBudgetBytes: (value: unknown) => isPositive(value) ? undefined : "must be a positive integer",
  faces: (value: unknown) => Array.isArray(value) && value.every(isFace) ? undefined : "must be an array of faces",
  bodyTimeout: timeoutFault,
  stallTimeout: timeoutFault,
  corsOrigins: (value: unknown) => Array.isArray(value) && value.every(isOrigin) ? undefined : originsExpected,
  metricsToken: (value: unknown) => typeof value === "string" ? adminTokenFault(value) : "must be a string",
  clock: (value: unknown) =>
    typeof value === "function" ? undefined : "must be a function that returns Unix milliseconds",
  log: logFault,
};

function timeoutFault(value: unknown): string | undefined {
  const isTimeout = typeof value === "number" && value >= 1 && value <= maxTimeout;
  return isTimeout ? undefined : `must be from 1 to ${maxTimeout} milliseconds`;
}

function logFault(value: unknown): string | undefined {
  const log = value as Record<string, unknown>;
  const isLog = typeof value === "object" && value !== null &&
    ["debug", "info", "warn", "error"].every((level) => typeof log[level] === "function");
  if (!isLog) return "must have the functions debug, info, warn and error, or be made with createLog";
  // pino, bunyan and winston have the same functions, but take their arguments in the reverse order.
  return "child" in log ? "must take (message, fields): wrap a logger such as pino in fromPino" : undefined;
}

const isClient = (value: unknown): value is Client => typeof value === "object" && value !== null && "execute" in value;

const isFace = (value: unknown) => typeof value === "object" && value !== null && "mount" in value;

const isLocation = (value: unknown): value is string | DatabaseLocation =>
  typeof value === "string" ||
  typeof value === "object" && value !== null && "url" in value && typeof value.url === "string";

/** Returns the database that the options name. Throws if any option is invalid. */
export function checkSettings(options: object): DatabaseSource {
  if (typeof options !== "object" || options === null) throw invalid("createService needs an options object");
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) {
    const check = Object.hasOwn(checks, name) ? checks[name]! : undefined;
    if (check === undefined) throw invalid(`Unknown option ${name}. Allowed: ${Object.keys(checks).join(", ")}`);
    const fault = check(value as never);
    if (fault !== undefined) throw invalid(`${name} ${fault}`);
  }
  const { database, client, maxBodyBytes, bodyBudgetBytes } = Object.fromEntries(given);
  if (database !== undefined && client !== undefined) {
    throw invalid("createService takes a database or a client, not both");
  }
  const source: DatabaseSource | undefined = database ?? client;
  if (source === undefined) throw invalid("createService needs a database or a client");
  const max = checkDatabase(source);
  if (maxBodyBytes > max) throw invalid(`maxBodyBytes must be at most ${max} on this database`);
  if (bodyBudgetBytes < maxBodyBytes) throw invalid("bodyBudgetBytes must be at least maxBodyBytes");
  return source;
}

/** What `openService` does about the schema of the database, before the service is used. */
export type SchemaMode = "migrate" | "check" | "trust";

const schemaModes: SchemaMode[] = ["migrate", "check", "trust"];

export function checkSchemaMode(mode: SchemaMode): void {
  if (!schemaModes.includes(mode)) throw invalid(`schema must be one of ${schemaModes.join(", ")}`);
}

/** Returns the largest body that the database can store, in bytes. */
function checkDatabase(source: DatabaseSource): number {
  if (typeof source === "object" && "execute" in source) {
    return bodyLimitOf(source.protocol === "file" ? "file:" : "");
  }
  const url = typeof source === "string" ? source : source.url;
  const fault = databaseUrlFault(url);
  if (fault !== undefined) throw invalid(`database ${fault}`);
  return bodyLimitOf(url);
}
