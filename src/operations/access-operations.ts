// Workspaces and keys: who may ask, and how often.
import * as keys from "../admin/api-keys.ts";
import * as workspaces from "../admin/workspaces.ts";
import { described, optional } from "../schema/struct.ts";
import * as v from "../schema/values.ts";
import { ApiKey, NewApiKey, Workspace } from "./answers.ts";
import { operation, pageOf } from "./operation.ts";

const { monthlyLimit, upgradeUrl } = Workspace.schema;

export const createWorkspace = operation({
  id: "createWorkspace",
  tag: "Workspaces",
  summary: "Make a workspace",
  method: "POST",
  path: "/workspaces",
  input: {
    name: v.name,
    monthlyLimit: optional(
      described(v.count, "Accepted requests that it has a month; 0 accepts none", {
        default: workspaces.defaultMonthlyLimit,
      }),
    ),
    upgradeUrl: optional(upgradeUrl),
  },
  output: Workspace,
  locate: ({ id }) => `/workspaces/${id}`,
  refusals: [],
  run: workspaces.createWorkspace,
});

export const listWorkspaces = operation({
  id: "listWorkspaces",
  tag: "Workspaces",
  summary: "List all workspaces, newest first",
  method: "GET",
  path: "/workspaces",
  input: v.page,
  output: pageOf(Workspace),
  refusals: [],
  run: workspaces.listWorkspaces,
});

export const getWorkspace = operation({
  id: "getWorkspace",
  tag: "Workspaces",
  summary: "Show a workspace",
  method: "GET",
  path: "/workspaces/{id}",
  input: { id: v.id },
  output: Workspace,
  refusals: ["not_found"],
  run: (admin, { id }) => workspaces.getWorkspace(admin, id),
});

export const updateWorkspace = operation({
  id: "updateWorkspace",
  tag: "Workspaces",
  summary: "Change a workspace; a new limit holds from the next request on",
  method: "PATCH",
  path: "/workspaces/{id}",
  input: {
    id: v.id,
    name: optional(v.name),
    monthlyLimit: optional(monthlyLimit),
    upgradeUrl: optional(upgradeUrl),
  },
  output: Workspace,
  refusals: ["not_found"],
  run: (admin, { id, ...change }) => workspaces.updateWorkspace(admin, id, change),
});

export const createApiKey = operation({
  id: "createApiKey",
  tag: "Keys",
  summary: "Make an API key; the answer alone shows it",
  method: "POST",
  path: "/workspaces/{workspaceId}/keys",
  input: {
    workspaceId: v.id,
    name: optional(described(v.label, "To tell keys apart")),
    expiresAt: optional(ApiKey.schema.expiresAt),
  },
  output: NewApiKey,
  locate: ({ id }) => `/keys/${id}`,
  refusals: ["not_found"],
  run: (admin, { workspaceId, ...input }) => keys.createApiKey(admin, workspaceId, input),
});

export const listApiKeys = operation({
  id: "listApiKeys",
  tag: "Keys",
  summary: "List a workspace's keys by their first characters, newest first",
  method: "GET",
  path: "/workspaces/{workspaceId}/keys",
  input: { workspaceId: v.id, ...v.page },
  output: pageOf(ApiKey),
  refusals: ["not_found"],
  run: (admin, { workspaceId, ...page }) => keys.listApiKeys(admin, workspaceId, page),
});

export const getApiKey = operation({
  id: "getApiKey",
  tag: "Keys",
  summary: "Show a key by its first characters",
  method: "GET",
  path: "/keys/{id}",
  input: { id: v.id },
  output: ApiKey,
  refusals: ["not_found"],
  run: (admin, { id }) => keys.getApiKey(admin, id),
});

export const revokeApiKey = operation({
  id: "revokeApiKey",
  tag: "Keys",
  summary: "Refuse a key from the next request on",
  method: "POST",
  path: "/keys/{id}/revoke",
  input: { id: v.id },
  output: ApiKey,
  refusals: ["not_found"],
  run: (admin, { id }) => keys.revokeApiKey(admin, id),
});

export const rotateApiKey = operation({
  id: "rotateApiKey",
  tag: "Keys",
  summary: "Give a key a new secret, which the answer alone shows; the old one stays valid for an overlap",
  method: "POST",
  path: "/keys/{id}/rotate",
  input: {
    id: v.id,
    overlapMs: optional(
      described(v.period, "How long the secrets before it stay valid, in milliseconds", { default: 0 }),
    ),
    expiresAt: optional(
      described(v.moment, "The key's new expiry in Unix milliseconds, or null for none; as before unless given"),
    ),
  },
  output: NewApiKey,
  refusals: ["not_found", "conflict"],
  run: (admin, { id, ...input }) => keys.rotateApiKey(admin, id, input),
});

export const accessOperations = [
  createWorkspace,
  listWorkspaces,
  getWorkspace,
  updateWorkspace,
  createApiKey,
  listApiKeys,
  getApiKey,
  revokeApiKey,
  rotateApiKey,
];
