// The entry `promptledger/mcp`: the Model Context Protocol as a face, for `faces` of `createService`.
export type { Face } from "./http/face.ts";
export { mcp } from "./mcp/face.ts";
