// The package on Cloudflare Workers, where the database is on a server: `createService` and `migrate`.
import { databaseUrlFault, isFileUrl } from "../common/config.ts";
import { invalid } from "../common/errors.ts";
import { createInFlight } from "../http/in-flight.ts";
import { createLog } from "../common/log.ts";
import { createShared, serveDatabase } from "../http/service.ts";
import type { Service, ServiceOptions, ServiceSettings, Shared } from "../http/service.ts";
import { checkSettings } from "../http/settings.ts";
import { openRemote } from "../database/client.ts";
import type { DatabaseSource } from "../database/client.ts";
import { migrate as applyMigrations } from "../database/migrate.ts";
import type { MigrateOptions } from "../database/migrate.ts";
import { migrations } from "../database/migrations.ts";

export { createLog };
export type { DatabaseLocation } from "../common/config.ts";
export type { Clock } from "../common/domain.ts";
export { Refusal } from "../common/errors.ts";
export type { Log, LogFields } from "../common/log.ts";
export type { Service, ServiceOptions, ServiceSettings } from "../http/service.ts";
export type { DatabaseSource } from "../database/client.ts";
export type { MigrateOptions } from "../database/migrate.ts";

/**
 * Makes a service on a remote database, to be mounted in a Worker of your own, at module scope too. Its requests share no
 * transaction, because a Worker never answers a request that waits for another one. Nor are they counted, so `close` and
 * `drain` do not wait for them.
 */
export function createService(options: ServiceOptions): Service {
  const source = requireRemote(checkSettings(options));
  const shared = createShared(options);
  let isDraining = false, isClosed = false;
  // deno-lint-ignore require-await -- nothing is open between requests
  const close = async () => void (isClosed = true);
  return {
    fetch: (request) => answer(request, source, options, shared, { isDraining, isClosed }),
    countInFlight: () => 0,
    // deno-lint-ignore require-await
    drain: async () => void (isDraining = true),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** A Worker stops a request whose client resets the connection, without running `finally`. So each has a count of its own. */
export function answer(
  request: Request,
  source: DatabaseSource,
  settings: ServiceSettings,
  shared: Shared,
  { isDraining = false, isClosed = false } = {},
): Promise<Response> {
  const inFlight = createInFlight();
  if (isDraining) void inFlight.drain();
  if (isClosed) void inFlight.close();
  return serveDatabase(openRemote(source, "serve"), settings, { ...shared, inFlight }).fetch(request);
}

/** Migrates the schema of a remote database. Returns the names of the migrations that it applied. */
export async function migrate(source: DatabaseSource, options: MigrateOptions = {}): Promise<string[]> {
  const database = openRemote(requireRemote(source), "manage");
  try {
    return await applyMigrations(database, migrations, Date.now(), options);
  } finally {
    database.close();
  }
}

export function requireRemote(source: DatabaseSource): DatabaseSource {
  if (typeof source === "object" && "execute" in source) return source;
  const url = typeof source === "string" ? source : source.url;
  const fault = databaseUrlFault(url) ?? (isFileUrl(url) ? "must be remote: there are no files here" : undefined);
  if (fault !== undefined) throw invalid(`database ${fault}`);
  return source;
}
