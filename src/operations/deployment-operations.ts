// Deployments: which version is live, and whether it is. Whatever changes one takes `If-Match`, and adds to its history.
import * as deployments from "../admin/deployments.ts";
import { described, optional } from "../schema/struct.ts";
import * as v from "../schema/values.ts";
import { Deployment, DeploymentChange, DeploymentResult } from "./answers.ts";
import { change, operation, pageOf, why } from "./operation.ts";

export const createDeployment = operation({
  id: "createDeployment",
  tag: "Deployments",
  summary: "Make an active deployment of a prompt's version, the newest unless named",
  method: "POST",
  path: "/workspaces/{workspaceId}/deployments",
  input: {
    workspaceId: v.id,
    name: v.name,
    promptId: v.id,
    version: optional(described(v.positive, "The newest version unless given")),
    ...why,
  },
  output: Deployment,
  locate: ({ id }) => `/deployments/${id}`,
  refusals: ["not_found"],
  run: (admin, { workspaceId, ...input }) => deployments.createDeployment(admin, workspaceId, input),
});

export const listDeployments = operation({
  id: "listDeployments",
  tag: "Deployments",
  summary: "List a workspace's deployments, newest first",
  method: "GET",
  path: "/workspaces/{workspaceId}/deployments",
  input: { workspaceId: v.id, ...v.page },
  output: pageOf(Deployment),
  refusals: ["not_found"],
  run: (admin, { workspaceId, ...page }) => deployments.listDeployments(admin, workspaceId, page),
});

export const getDeployment = operation({
  id: "getDeployment",
  tag: "Deployments",
  summary: "Show a deployment; its ETag is what If-Match takes",
  method: "GET",
  path: "/deployments/{id}",
  input: { id: v.id },
  output: Deployment,
  refusals: ["not_found"],
  run: (admin, { id }) => deployments.getDeployment(admin, id),
});

export const promoteDeployment = operation({
  id: "promoteDeployment",
  tag: "Deployments",
  summary: "Make another version live",
  method: "POST",
  path: "/deployments/{id}/promote",
  input: { ...change, version: described(v.positive, "The version to make live") },
  output: DeploymentResult,
  refusals: ["not_found", "outdated"],
  run: (admin, { id, ...input }) => deployments.promoteDeployment(admin, id, input),
});

export const rollBackDeployment = operation({
  id: "rollBackDeployment",
  tag: "Deployments",
  summary: "Make the version live that was before, or another that was live at some time",
  method: "POST",
  path: "/deployments/{id}/rollback",
  input: {
    ...change,
    version: optional(
      described(v.positive, "A version that was live before; the one before the live one unless given"),
    ),
  },
  output: DeploymentResult,
  refusals: ["not_found", "conflict", "outdated"],
  run: (admin, { id, ...input }) => deployments.rollBackDeployment(admin, id, input),
});

export const activateDeployment = operation({
  id: "activateDeployment",
  tag: "Deployments",
  summary: "Open a deployment to requests",
  method: "POST",
  path: "/deployments/{id}/activate",
  input: change,
  output: DeploymentResult,
  refusals: ["not_found", "outdated"],
  run: (admin, { id, ...input }) => deployments.setDeploymentActive(admin, id, true, input),
});

export const deactivateDeployment = operation({
  id: "deactivateDeployment",
  tag: "Deployments",
  summary: "Close a deployment to requests, from the next one on",
  method: "POST",
  path: "/deployments/{id}/deactivate",
  input: change,
  output: DeploymentResult,
  refusals: ["not_found", "outdated"],
  run: (admin, { id, ...input }) => deployments.setDeploymentActive(admin, id, false, input),
});

export const renameDeployment = operation({
  id: "renameDeployment",
  tag: "Deployments",
  summary: "Give a deployment another name; its id stays",
  method: "POST",
  path: "/deployments/{id}/rename",
  input: { ...change, name: described(v.name, "The new name") },
  output: DeploymentResult,
  refusals: ["not_found", "outdated"],
  run: (admin, { id, ...input }) => deployments.renameDeployment(admin, id, input),
});

export const listDeploymentChanges = operation({
  id: "listDeploymentChanges",
  tag: "Deployments",
  summary: "List what changed in a deployment, newest first",
  method: "GET",
  path: "/deployments/{id}/history",
  input: { id: v.id, ...v.numberedPage },
  output: pageOf(DeploymentChange),
  refusals: ["not_found"],
  run: (admin, { id, ...page }) => deployments.listDeploymentChanges(admin, id, page),
});

export const deploymentOperations = [
  createDeployment,
  listDeployments,
  getDeployment,
  promoteDeployment,
  rollBackDeployment,
  activateDeployment,
  deactivateDeployment,
  renameDeployment,
  listDeploymentChanges,
];
