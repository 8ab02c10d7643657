// The entry `promptledger/openapi`: the description of a service as a face, for `faces` of `createService`.
export type { Face } from "./http/face.ts";
export { openapi } from "./http/openapi.ts";
