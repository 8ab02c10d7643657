// The package's public face.
import { serviceOver } from "./service.ts";
import type { Service, ServiceOptions } from "./service.ts";
import { openDatabase } from "./store/open.ts";

export type { DatabaseLocation } from "./config.ts";
export type { Clock } from "./domain.ts";
export { Refusal } from "./errors.ts";
export { createLog } from "./log.ts";
export type { Log, LogFields } from "./log.ts";
export type { Service, ServiceOptions, ServiceSettings } from "./service.ts";
export type { DatabaseSource } from "./store/client.ts";

/** Makes a service on a database that has been migrated; options that cannot be used are thrown as an error. */
export const createService: (options: ServiceOptions) => Service = serviceOver((source) =>
  openDatabase(source, "serve")
);
