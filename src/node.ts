// The entry `promptledger/node`: a service in a node:http server.
export { toNodeHandler } from "./runtime/node-handler.ts";
export type { NodeHandler } from "./runtime/node-handler.ts";
