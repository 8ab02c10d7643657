// Exports of the package on every platform, without its functions.
export { MissingVariablesError } from "../client/errors.ts";
export { fillMessages as render } from "../client/fill.ts";
export type { FillOptions, MessageLists, Values } from "../client/fill.ts";
export type { DatabaseLocation } from "../database/location.ts";
export type { Clock } from "../common/domain.ts";
export { Refusal } from "../common/errors.ts";
export type { ErrorKind, QuotaDetails } from "../common/errors.ts";
export { createLog, fromPino } from "../common/log.ts";
export type { Log, LogFields, PinoLike } from "../common/log.ts";
export type { Client, DatabaseSource } from "../database/client.ts";
export type { DiagnosisRecord, ReadResult, ReadTarget, RecordResult, Target } from "../service/direct.ts";
export type { Face } from "../http/face.ts";
export type { OpenOptions, Service, ServiceOptions, ServiceSettings } from "../service/service.ts";
