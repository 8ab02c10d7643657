// The entry `promptledger`: the service, to be embedded.
import { openWith, serviceOver } from "./http/service.ts";
import type { CreateService, OpenService } from "./http/service.ts";
import { openDatabase } from "./database/open.ts";
import { migrate } from "./migrate.ts";

export { MissingVariablesError } from "./client/errors.ts";
export { fillMessages as render } from "./client/fill.ts";
export type { FillOptions, MessageLists, Values } from "./client/fill.ts";
export type { DatabaseLocation } from "./common/config.ts";
export type { Clock } from "./common/domain.ts";
export { Refusal } from "./common/errors.ts";
export type { ErrorKind, QuotaDetails } from "./common/errors.ts";
export { createLog, fromPino } from "./common/log.ts";
export type { Log, LogFields, PinoLike } from "./common/log.ts";
export type { Client, DatabaseSource } from "./database/client.ts";
export type { DiagnosisRecord, ReadResult, RecordResult, Target } from "./http/direct.ts";
export type { Face } from "./http/face.ts";
export type { OpenOptions, Service, ServiceOptions, ServiceSettings } from "./http/service.ts";

/**
 * Makes a service on a database that has been migrated. It opens the database with the first request. Throws if an option
 * is invalid.
 *
 * @example
 * const service = createService({ database: "file:ledger.db", basePath: "/llm" });
 * export default { fetch: service.fetch };
 */
export const createService: CreateService = serviceOver((source) => openDatabase(source, "serve"));

/**
 * Makes a service when its database is ready: migrates it, or checks it, as `schema` says. Rejects with a `Refusal` that
 * says why it is not.
 *
 * @example
 * await using service = await openService({ database: "file:ledger.db" });
 * const { messages } = await service.readPrompt({ key: "pl_…", deployId: "support/assistant@production" });
 */
export const openService: OpenService = (options) => openWith(createService, migrate, options);
