// Every operation of management, in the order in which OpenAPI and help show them. A noun is registered here and nowhere else:
// HTTP routes, OpenAPI and the command line, here and remote, follow from this list.
import { apiKeyOperations } from "./api-keys.ts";
import { callOperations } from "./calls.ts";
import { deletionOperations } from "./deletion.ts";
import { deploymentChangeOperations } from "./deployment-changes.ts";
import { deploymentOperations } from "./deployments.ts";
import type { AnyOperation } from "./operation.ts";
import { promptOperations } from "./prompts.ts";
import { publishPrompt } from "./publications.ts";
import { recordOperations } from "./records.ts";
import { renderingOperations } from "./renderings.ts";
import { statsOperations } from "./stats.ts";
import { upkeepOperations } from "./upkeep.ts";
import { usageOperations } from "./usage.ts";
import { versionOperations } from "./versions.ts";
import { workspaceOperations } from "./workspaces.ts";

export const operations: readonly AnyOperation[] = [
  ...workspaceOperations,
  ...deletionOperations,
  ...apiKeyOperations,
  ...promptOperations,
  ...versionOperations,
  ...renderingOperations,
  publishPrompt,
  ...deploymentOperations,
  ...deploymentChangeOperations,
  ...recordOperations,
  ...statsOperations,
  ...callOperations,
  ...usageOperations,
  ...upkeepOperations,
];
