// The package's public face.
export type { DatabaseLocation } from "./config.ts";
export type { Clock } from "./domain.ts";
export { createLog } from "./log.ts";
export type { Log } from "./log.ts";
export { createService } from "./service.ts";
export type { Service, ServiceOptions, ServiceSettings } from "./service.ts";
export type { DatabaseSource } from "./store/database.ts";
