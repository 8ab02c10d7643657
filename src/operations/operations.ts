// Every operation of the management API, in the order in which they are described.
import { accessOperations } from "./access-operations.ts";
import { deploymentOperations } from "./deployment-operations.ts";
import type { AnyOperation } from "./operation.ts";
import { promptOperations } from "./prompt-operations.ts";
import { recordOperations } from "./record-operations.ts";

export const operations: AnyOperation[] = [
  ...accessOperations,
  ...promptOperations,
  ...deploymentOperations,
  ...recordOperations,
];
