// Holds the answers that tests get from management to the shapes that operations declare: members, and bounds of numbers and
// texts. OpenAPI, the types of embedders and the tools of MCP promise them.
import { ExportText } from "../src/management/kernel/export.ts";
import { operations } from "../src/management/index.ts";
import type { AnyOperation } from "../src/management/kernel/operation.ts";
import { check } from "../src/schema/struct.ts";
import type { Struct } from "../src/schema/struct.ts";
import type { Answer } from "./helpers.ts";

/** The operations by how many parts of their paths are fixed, since `/events` is no `/{id}`. */
const routes = operations.map((operation) => ({
  operation,
  pattern: new RegExp(`^${operation.path.replace(/{\w+}/g, "[^/]+")}$`),
  fixed: operation.path.split("/").filter((part) => !part.startsWith("{")).length,
})).sort((a, b) => b.fixed - a.fixed);

const operationAt = (method: string, path: string): AnyOperation | undefined =>
  routes.find(({ operation, pattern }) => operation.method === method && pattern.test(path))?.operation;

/** Throws if an answer to a request below the path of management has not the shape that the operation declares. */
export function holdAnswer(method: string, path: string, { status, json }: Answer): void {
  const operation = status >= 200 && status < 300 ? operationAt(method, path.split("?")[0]!) : undefined;
  if (operation === undefined || operation.output === ExportText) return;
  check(operation.output as Struct, json, `What ${operation.id} returns`);
}
