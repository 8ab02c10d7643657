// The package on Cloudflare Workers, where the database is on a server: `createService` and `migrate`.
import { extend } from "../http/face.ts";
import { createShared, openWith } from "../service/service.ts";
import type { CreateService, OpenService, Service } from "../service/service.ts";
import { checkSettings } from "../http/settings.ts";
import { openRemote } from "../database/client.ts";
import type { DatabaseSource } from "../database/client.ts";
import { migrate as applyMigrations } from "../database/migrate.ts";
import type { MigrateOptions } from "../database/migrate.ts";
import { migrations } from "../database/migrations.ts";
import { openOne, requireRemote } from "./worker-requests.ts";

export * from "./shared-exports.ts";
export type { MigrateOptions } from "../database/migrate.ts";

/**
 * Creates a service on a remote database, to be mounted in your own Worker, at module scope too. Its requests share no
 * transaction, because a Worker never answers a request that waits for another one. Nor are they counted, so `close`
 * and `drain` do not wait for them.
 *
 * @example
 * import { env } from "cloudflare:workers";
 * const service = createService({ database: env.DATABASE_URL, basePath: "/llm" });
 * export default { fetch: service.fetch };
 */
export const createService: CreateService = (options) => {
  const source = requireRemote(checkSettings(options));
  const shared = createShared(options);
  let isDraining = false, isClosed = false;
  const open = () => openOne(source, options, shared, { isDraining, isClosed });
  // deno-lint-ignore require-await -- nothing is open between requests
  const close = async () => void (isClosed = true);
  const service: Service = {
    fetch: (request) => open().service.fetch(request),
    readPrompt: (target) => open().service.readPrompt(target),
    recordDiagnosis: (target, record) => open().service.recordDiagnosis(target, record),
    ready: () => open().service.ready(),
    countInFlight: () => 0,
    // deno-lint-ignore require-await
    drain: async () => void (isDraining = true),
    close,
    [Symbol.asyncDispose]: close,
  };
  return extend(service, options.faces, () => open().context.host);
};

/**
 * Creates a service once its remote database is ready, according to `schema`. Do this outside of module scope, where a
 * Worker may send nothing.
 *
 * @example
 * const service = await openService({ database: env.DATABASE_URL, schema: "check" });
 */
export const openService: OpenService = (options) => openWith({ createService, migrate }, options);

/**
 * Migrates the schema of a remote database. Returns the names of the migrations that it applied.
 *
 * @example
 * await migrate({ url: "libsql://ledger.example.com", authToken });
 */
export async function migrate(source: DatabaseSource, options: MigrateOptions = {}): Promise<string[]> {
  const database = openRemote(requireRemote(source), "manage");
  try {
    return await applyMigrations(database, migrations, Date.now(), options);
  } finally {
    database.close();
  }
}
