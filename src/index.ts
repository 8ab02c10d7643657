// The entry `promptledger`: the service, to be embedded.
import { warningOfBasePath } from "./faces/base-path.ts";
import { openWith, serviceOver } from "./service/service.ts";
import type { CreateService, OpenService } from "./service/service.ts";
import type { SchemaMode } from "./http/settings.ts";
import type { Log } from "./common/log.ts";
import type { DatabaseSource } from "./database/client.ts";
import { requireUnserved, whileServed } from "./database/file/file-claim.ts";
import { openDatabase } from "./database/file/open.ts";
import { makeFile } from "./database/file/open-migrated.ts";
import { fileOf } from "./database/file/source.ts";
import { migrate } from "./migrate.ts";

export * from "./runtime/shared-exports.ts";

const create = serviceOver((source) => openDatabase(source, "serve"));

/**
 * Creates a service on a database that has been migrated. Opens the database with the first request. Throws if an
 * option is invalid.
 *
 * @example
 * const service = createService({ database: "file:ledger.db", basePath: "/llm" });
 * export default { fetch: service.fetch };
 */
export const createService: CreateService = (options) => {
  const service = create(options);
  return Object.assign(service, { fetch: warningOfBasePath(service.fetch, options) });
};

const stopTimeout = 15_000; // ms that a process which is stopping has to release the file: `close` waits up to 10 s

async function awaitFile(source: DatabaseSource, schema: SchemaMode, log: Log): Promise<void> {
  const path = fileOf(source);
  if (path === undefined) return;
  // Two processes that start at once then see each other.
  if (schema === "migrate") makeFile(path);
  await whileServed(() => requireUnserved(path), stopTimeout, (notice) => {
    log.warn(notice, { database: path, timeoutMs: stopTimeout });
  });
}

/**
 * Creates a service once its database is ready: migrates or checks it, according to `schema`. Rejects with a `Refusal`
 * that gives the reason otherwise. Waits up to 15 s while another process serves its file.
 *
 * @example
 * await using service = await openService({ database: "file:ledger.db" });
 * const { messages } = await service.readPrompt({ key: "pl_…", deployId: "support/assistant@production" });
 */
export const openService: OpenService = (options) => openWith({ createService, migrate, awaitFile }, options);
