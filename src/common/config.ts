// Settings from the environment, read once at the start. Faults are collected, so that one message names them all.
import { invalid } from "./errors.ts";
import { isApiKey } from "./ids.ts";

const logLevels = ["debug", "info", "warn", "error"] as const;
const logFormats = ["text", "json"] as const;

/** How much is logged; each level includes those after it. */
export type LogLevel = (typeof logLevels)[number];
/** `text` is for people, `json` for programs; both are one line per event. */
export type LogFormat = (typeof logFormats)[number];

/** Where the store is: a `file:`, `http(s):` or `libsql:` URL, and the token that a remote one asks for. */
export type DatabaseLocation = Readonly<{ url: string; authToken?: string | undefined }>;

/** Everything that can be set. */
export type Config = Readonly<{
  database: DatabaseLocation;
  /** Where the admin API of a libSQL server is, which is asked for its durability at the start. */
  databaseAdminUrl: string | undefined;
  host: string;
  port: number;
  /** The largest request body that is read, in bytes. */
  maxBodyBytes: number;
  /** How many bytes of request bodies are held at once. */
  bodyBudgetBytes: number;
  /** What management asks for over HTTP; without one there is none. */
  adminToken: string | undefined;
  logLevel: LogLevel;
  logFormat: LogFormat;
  /** Whether a schema that is behind is brought up to date before anything else; if not, it is refused. */
  migrates: boolean;
  /** Where metrics are served to everyone, apart from the service; without a port, by the service to `adminToken`. */
  metricsPort: number | undefined;
  metricsHost: string;
  /** How long it goes on serving once it is told to stop, in ms, while it says that it is not ready. */
  shutdownDelay: number;
  /** How long stopping may take in all, in ms. */
  shutdownTimeout: number;
  /** The origins whose pages may call the service, `*` for all. */
  corsOrigins: readonly string[];
}>;

export const defaultMaxBodyBytes = 1024 * 1024;
export const defaultBodyBudgetBytes = 64 * defaultMaxBodyBytes;

// A libSQL server takes 5 MB per argument, and escaping can double a body on its way there. A file takes what fits in
// memory several times.
const mostBodyBytes = { remote: 2 * 1024 * 1024, file: 64 * 1024 * 1024 };

/** The largest body that a database takes, in bytes. */
export const mostBodyBytesOf = (url: string): number => mostBodyBytes[isFileUrl(url) ? "file" : "remote"];

/** Reads the settings; a bad value is refused in a message that names every fault. An empty value counts as not set. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const faults: string[] = [];
  const read = (name: string) => env[name] || undefined;

  const integer = (name: string, byDefault: number, least: number, most: number): number => {
    const text = read(name);
    if (text === undefined) return byDefault;
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (value >= least && value <= most) return value;
    faults.push(`${name} must be an integer from ${least} to ${most}`);
    return byDefault;
  };
  const oneOf = <T extends string>(name: string, choices: readonly T[], byDefault: T): T => {
    const text = read(name);
    if (text === undefined) return byDefault;
    const choice = choices.find((candidate) => candidate === text);
    if (choice === undefined) faults.push(`${name} must be one of ${choices.join(", ")}`);
    return choice ?? byDefault;
  };

  const urlName = read("DATABASE_URL") || !read("TURSO_DATABASE_URL") ? "DATABASE_URL" : "TURSO_DATABASE_URL";
  const url = read(urlName) ?? "file:promptledger.db";
  const fault = databaseUrlFault(url);
  if (fault) faults.push(`${urlName} ${fault}`);

  const tokenName = read("DATABASE_AUTH_TOKEN") ? "DATABASE_AUTH_TOKEN" : "TURSO_AUTH_TOKEN";
  const authToken = read(tokenName);
  if (authToken !== undefined && !/^[!-~]+$/.test(authToken)) {
    faults.push(`${tokenName} must be printable ASCII without spaces`);
  }

  const databaseAdminUrl = isFileUrl(url) ? undefined : read("DATABASE_ADMIN_URL");
  if (databaseAdminUrl !== undefined && !isHttpUrl(databaseAdminUrl)) {
    faults.push("DATABASE_ADMIN_URL must be a URL with the scheme http: or https:, without a user");
  }

  const adminToken = read("ADMIN_TOKEN");
  const tokenFault = adminToken === undefined ? undefined : adminTokenFault(adminToken);
  if (tokenFault !== undefined) faults.push(`ADMIN_TOKEN ${tokenFault}`);

  function hostOf(name: string): string {
    const host = read(name) ?? "127.0.0.1";
    if (/[\s/]/.test(host)) faults.push(`${name} must be a host name or an address`);
    return host;
  }

  const corsOrigins = read("CORS_ORIGIN")?.split(",").map((origin) => origin.trim()) ?? [];
  if (!corsOrigins.every(isOrigin)) {
    faults.push(`CORS_ORIGIN ${originsWanted}, with commas between them`);
  }

  const config: Config = Object.freeze({
    database: Object.freeze({ url, authToken }),
    databaseAdminUrl,
    host: hostOf("HOST"),
    port: integer("PORT", 8787, 0, 65535),
    maxBodyBytes: integer("MAX_BODY_BYTES", defaultMaxBodyBytes, 1, mostBodyBytesOf(url)),
    bodyBudgetBytes: integer("BODY_BUDGET_BYTES", defaultBodyBudgetBytes, 1, Number.MAX_SAFE_INTEGER),
    adminToken,
    logLevel: oneOf("LOG_LEVEL", logLevels, "info"),
    logFormat: oneOf("LOG_FORMAT", logFormats, "text"),
    migrates: oneOf("MIGRATE", ["true", "false"], "true") === "true",
    metricsPort: read("METRICS_PORT") === undefined ? undefined : integer("METRICS_PORT", 0, 0, 65535),
    metricsHost: hostOf("METRICS_HOST"),
    shutdownDelay: 1000 * integer("SHUTDOWN_DELAY", 0, 0, 3600),
    shutdownTimeout: 1000 * integer("SHUTDOWN_TIMEOUT", 10, 1, 3600),
    corsOrigins: Object.freeze(corsOrigins),
  });
  if (config.shutdownDelay >= config.shutdownTimeout) faults.push("SHUTDOWN_DELAY must be less than SHUTDOWN_TIMEOUT");
  if (config.bodyBudgetBytes < config.maxBodyBytes) faults.push("BODY_BUDGET_BYTES must be at least MAX_BODY_BYTES");
  if (config.metricsPort === config.port && config.port !== 0) {
    faults.push("METRICS_PORT must be another port than PORT");
  }
  if (faults.length > 0) throw invalid(`Settings cannot be used:\n${faults.map((line) => `  ${line}`).join("\n")}`);
  return config;
}

/** What makes an admin token unusable: it must not be guessed, and never pass for an API key. */
export function adminTokenFault(token: string): string | undefined {
  if (!/^[!-~]{32,}$/.test(token)) return "must be at least 32 printable ASCII characters without spaces";
  return isApiKey(token) ? "must not be an API key" : undefined;
}

export const originsWanted = "must be * or origins such as https://app.example.com";

/** As a browser names it: scheme, host and port, and nothing after them. */
export const isOrigin = (text: string): boolean =>
  text === "*" || /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;

const isHttpUrl = (text: string): boolean =>
  /^https?:\/\/[^/]/i.test(text) && URL.canParse(text) && new URL(text).username === "";

/** Whether a database is a file on this machine. */
export const isFileUrl = (url: string): boolean => /^file:/i.test(url);

/** The path in a `file:` URL, which may be relative; of a host other than this one a part of it. */
export function filePathOf(url: string): string {
  const [, path = url] = /^file:(?:\/\/(?:localhost)?(?=\/))?([^?#]*)/i.exec(url) ?? [];
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** A database URL without what may be secret in it: user, password and query. */
export const describeDatabase = (url: string): string => url.replace(/\?.*$/s, "").replace(/\/\/[^/]*@/, "//");

/** What makes a database's URL unusable. */
export function databaseUrlFault(url: string): string | undefined {
  if (isFileUrl(url)) {
    // An empty path opens a database that is thrown away on close; memory is no better.
    const path = filePathOf(url);
    const isFile = /[^/]/.test(path) && !path.startsWith("//") && !/:memory:|\0/i.test(path);
    return isFile ? undefined : "must name a file after file:";
  }
  if (!/^(https?|libsql):\/\/[^/]/i.test(url) || !URL.canParse(url)) {
    return "must be a URL with the scheme file:, http:, https: or libsql:";
  }
  return new URL(url).username === "" ? undefined : "must not hold a user: DATABASE_AUTH_TOKEN authenticates";
}
