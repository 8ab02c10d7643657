// The entry `promptledger/node`: a service in a server that speaks node:http.
export { toNodeHandler } from "./runtime/node-handler.ts";
export type { NodeHandler } from "./runtime/node-handler.ts";
