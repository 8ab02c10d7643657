// The entry `promptledger/openapi`: the service's OpenAPI description as a face, for `faces` of `createService`.
export type { Face } from "./http/face.ts";
export { openapi } from "./faces/openapi.ts";
