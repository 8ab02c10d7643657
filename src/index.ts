// The entry `promptledger`: the service, to be embedded.
import { serviceOver } from "./http/service.ts";
import type { Service, ServiceOptions } from "./http/service.ts";
import { openDatabase } from "./database/open.ts";

export type { DatabaseLocation } from "./common/config.ts";
export type { Clock } from "./common/domain.ts";
export { Refusal } from "./common/errors.ts";
export { createLog } from "./common/log.ts";
export type { Log, LogFields } from "./common/log.ts";
export type { Service, ServiceOptions, ServiceSettings } from "./http/service.ts";
export type { DatabaseSource } from "./database/client.ts";

/** Makes a service on a database that has been migrated. Throws if an option is invalid. */
export const createService: (options: ServiceOptions) => Service = serviceOver((source) =>
  openDatabase(source, "serve")
);
