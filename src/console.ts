// The entry `promptledger/console`: the pages for people as a face, for `faces` of `createService` with `management`.
export { consolePages } from "./console/face.ts";
export type { ConsoleFace } from "./console/face.ts";
export type { Face } from "./http/face.ts";
