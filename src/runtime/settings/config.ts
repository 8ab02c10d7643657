// Settings from the environment, read once at startup. One message lists every invalid setting.
import { readBackupSettings } from "./backup-settings.ts";
import type { BackupSettings } from "./backup-settings.ts";
import { invalid } from "../../common/errors.ts";
import { logFormats, logLevels } from "../../common/log.ts";
import type { LogFormat, LogLevel } from "../../common/log.ts";
import { isSignedToken, readPeopleSettings } from "../../faces/sign-in/people-settings.ts";
import type { PeopleSettings } from "../../faces/sign-in/people-settings.ts";
import { proxyFault } from "../../support/proxy-url.ts";
import { databaseUrlFault, isFileUrl } from "../../database/location.ts";
import type { DatabaseLocation } from "../../database/location.ts";
import {
  adminTokenFault,
  bodyLimitOf,
  defaultBodyBudgetBytes,
  defaultMaxBodyBytes,
  isOrigin,
  originsExpected,
} from "../../http/settings.ts";

/** All settings. */
export type Config = Readonly<{
  database: DatabaseLocation;
  /** The URL of a libSQL server's admin API. At startup the service checks the server's durability there. */
  databaseAdminUrl: string | undefined;
  host: string;
  port: number;
  /** The largest request body that the service accepts, in bytes. */
  maxBodyBytes: number;
  /** Maximum total size of request bodies in memory, in bytes. */
  bodyBudgetBytes: number;
  /** The operator's own token of the management API. */
  adminToken: string | undefined;
  /** True if the management API is on without `adminToken` too, for management tokens alone. */
  management: boolean;
  /** True if the Model Context Protocol is on, for agents with management tokens. */
  mcp: boolean;
  /** Sign-in with the company's identity provider. Undefined if it is off. */
  people: PeopleSettings | undefined;
  logLevel: LogLevel;
  logFormat: LogFormat;
  /** True to migrate an outdated schema at startup. If false, an outdated schema aborts startup. */
  migrates: boolean;
  /** The address that serves metrics without a token. Without a port, the service serves them to `adminToken`. */
  metricsPort: number | undefined;
  metricsHost: string;
  /** Time after SIGTERM during which the service still serves, with `/readyz` at 503, in ms. */
  shutdownDelay: number;
  /** Time after SIGTERM until the process has stopped, in ms. */
  shutdownTimeout: number;
  /** The origins whose pages may call the service, `*` for all. */
  corsOrigins: readonly string[];
  /** Hosts, as in `hooks.internal` or `10.0.0.7:8080`, that webhooks may reach inside, and by http. */
  webhookAllow: readonly string[];
  /** The URL of the proxy through which webhooks are sent; undefined without one. */
  webhookProxy: string | undefined;
  /** Scheduled backups; undefined without them. */
  backups: BackupSettings | undefined;
  /** The path of the file with the key of encrypted backups. */
  backupKeyFile: string | undefined;
}>;

/** Reads the settings. Throws one error that lists every invalid value. An empty value counts as unset. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const faults: string[] = [];
  const read = (name: string) => env[name] || undefined;

  const integer = (name: string, defaultValue: number, min: number, max: number): number => {
    const text = read(name);
    if (text === undefined) return defaultValue;
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (value >= min && value <= max) return value;
    faults.push(`${name} must be an integer from ${min} to ${max}`);
    return defaultValue;
  };
  const oneOf = <T extends string>(name: string, choices: readonly T[], defaultValue: T): T => {
    const text = read(name);
    if (text === undefined) return defaultValue;
    const choice = choices.find((candidate) => candidate === text);
    if (choice === undefined) faults.push(`${name} must be one of ${choices.join(", ")}`);
    return choice ?? defaultValue;
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

  const databaseAdminUrl = read("DATABASE_ADMIN_URL");
  if (databaseAdminUrl !== undefined && !isHttpUrl(databaseAdminUrl)) {
    faults.push("DATABASE_ADMIN_URL must be an http: or https: URL without a user name");
  }

  const adminToken = read("ADMIN_TOKEN");
  const tokenFault = adminToken === undefined ? undefined : adminTokenFault(adminToken);
  if (tokenFault !== undefined) faults.push(`ADMIN_TOKEN ${tokenFault}`);

  function hostOf(name: string): string {
    const host = read(name) ?? "127.0.0.1";
    if (/[\s/]/.test(host)) faults.push(`${name} must be a host name or an IP address`);
    return host;
  }

  const corsOrigins = read("CORS_ORIGIN")?.split(",").map((origin) => origin.trim()) ?? [];
  if (!corsOrigins.every(isOrigin)) {
    faults.push(`CORS_ORIGIN ${originsExpected}, separated by commas`);
  }

  const webhookAllow = read("WEBHOOK_ALLOW")?.split(",").map((host) => host.trim().toLowerCase()) ?? [];
  if (!webhookAllow.every(isHost)) {
    faults.push("WEBHOOK_ALLOW must be hosts such as hooks.internal or 10.0.0.7:8080, separated by commas");
  }

  const webhookProxy = read("WEBHOOK_PROXY");
  const webhookProxyFault = webhookProxy === undefined ? undefined : proxyFault(webhookProxy);
  if (webhookProxyFault !== undefined) faults.push(`WEBHOOK_PROXY ${webhookProxyFault}`);

  const config: Config = Object.freeze({
    database: Object.freeze({ url, authToken }),
    databaseAdminUrl: isFileUrl(url) ? undefined : databaseAdminUrl,
    host: hostOf("HOST"),
    port: integer("PORT", 8787, 0, 65535),
    maxBodyBytes: integer("MAX_BODY_BYTES", defaultMaxBodyBytes, 1, bodyLimitOf(isFileUrl(url))),
    bodyBudgetBytes: integer("BODY_BUDGET_BYTES", defaultBodyBudgetBytes, 1, Number.MAX_SAFE_INTEGER),
    adminToken,
    management: oneOf("MANAGEMENT", ["true", "false"], "false") === "true",
    mcp: oneOf("MCP", ["true", "false"], "false") === "true",
    people: readPeopleSettings(read, faults),
    logLevel: oneOf("LOG_LEVEL", logLevels, "info"),
    logFormat: oneOf("LOG_FORMAT", logFormats, "text"),
    migrates: oneOf("MIGRATE", ["true", "false"], "true") === "true",
    metricsPort: read("METRICS_PORT") === undefined ? undefined : integer("METRICS_PORT", 0, 0, 65535),
    metricsHost: hostOf("METRICS_HOST"),
    shutdownDelay: 1000 * integer("SHUTDOWN_DELAY", 0, 0, 3600),
    shutdownTimeout: 1000 * integer("SHUTDOWN_TIMEOUT", 10, 1, 3600),
    corsOrigins: Object.freeze(corsOrigins),
    webhookAllow: Object.freeze(webhookAllow),
    webhookProxy,
    backups: readBackupSettings(read, isFileUrl(url), faults),
    backupKeyFile: read("BACKUP_KEY_FILE"),
  });
  // Settings are compared only if both have valid values: comparing with a default in place of an invalid one is
  // meaningless.
  const areRead = (...names: string[]) => !faults.some((fault) => names.some((name) => fault.startsWith(`${name} `)));
  if (areRead("SHUTDOWN_DELAY", "SHUTDOWN_TIMEOUT") && config.shutdownDelay >= config.shutdownTimeout) {
    faults.push("SHUTDOWN_DELAY must be less than SHUTDOWN_TIMEOUT");
  }
  if (areRead("MANAGEMENT") && config.mcp && adminToken === undefined && !config.management) {
    faults.push("MCP needs ADMIN_TOKEN or MANAGEMENT=true, without which nobody can call it");
  }
  if (areRead("MANAGEMENT") && config.people !== undefined && adminToken === undefined && !config.management) {
    faults.push("People who sign in need ADMIN_TOKEN or MANAGEMENT=true, which turn the console on");
  }
  if (config.people?.header?.name === "authorization" && adminToken !== undefined && isSignedToken(adminToken)) {
    faults.push("ADMIN_TOKEN must not look like a JSON Web Token, because AUTH_JWT_HEADER is Authorization");
  }
  if (areRead("BODY_BUDGET_BYTES", "MAX_BODY_BYTES") && config.bodyBudgetBytes < config.maxBodyBytes) {
    faults.push("BODY_BUDGET_BYTES must be at least MAX_BODY_BYTES");
  }
  if (areRead("METRICS_PORT", "PORT") && config.metricsPort === config.port && config.port !== 0) {
    faults.push("METRICS_PORT must differ from PORT");
  }
  if (faults.length > 0) throw invalid(`Invalid settings:\n${faults.map((line) => `  ${line}`).join("\n")}`);
  return config;
}

/** True if a text is a host as in URLs, with or without a port. */
function isHost(text: string): boolean {
  if (/[/?#@\\\s]/.test(text) || !URL.canParse(`http://${text}`)) return false;
  const { host, hostname } = new URL(`http://${text}`);
  return host === text || `${hostname}:80` === text;
}

const isHttpUrl = (text: string): boolean =>
  /^https?:\/\/[^/]/i.test(text) && URL.canParse(text) && new URL(text).username === "";
