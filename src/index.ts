// The package's public face.
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

/** Makes a service on a database that has been migrated; options that cannot be used are thrown as an error. */
export const createService: (options: ServiceOptions) => Service = serviceOver((source) =>
  openDatabase(source, "serve")
);
