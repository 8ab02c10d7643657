// API keys authenticate applications. A secret is shown once, when it is created. The database stores only its hash.
import { invalidField, notFound } from "../../common/errors.ts";
import { isApiKey, newApiKey, newId } from "../../common/ids.ts";
import type { DeploymentId, KeyId, WorkspaceId } from "../../common/ids.ts";
import { described, option, optional, orNull, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { requireDeployment } from "../deployments/deployments.ts";
import { createOperation, listOperation } from "../kernel/declare.ts";
import { pageOf } from "../kernel/operation.ts";
import { requireRoom } from "../kernel/room.ts";
import { expiresAt, prefix, requireFuture, secretDates, secretsOf, unused } from "./secrets.ts";
import { insertInto, tableOf } from "../kernel/table.ts";

const apiKey = {
  id: v.textAs<KeyId>(),
  workspaceId: v.textAs<WorkspaceId>(),
  name: v.text,
  prefix,
  readOnly: described(v.boolean, "Whether the key may only read"),
  submitOnly: described(v.boolean, "Whether the key may only submit, and give feedback"),
  feedbackOnly: described(v.boolean, "Whether the key may only give feedback"),
  deployId: orNull(
    v.textAs<DeploymentId>(),
    "The only deployment that the key may access, or null for all deployments of the workspace",
  ),
  createdAt: v.timestamp,
  expiresAt,
  ...secretDates,
  lastUsedAt: described(
    v.moment,
    "When a request with the key was last accepted, to the hour, in Unix milliseconds, or null",
  ),
};
export const ApiKey = shape("ApiKey", apiKey);
export type ApiKey = Infer<typeof ApiKey>;
const NewApiKey = shape("NewApiKey", {
  ...apiKey,
  key: described(v.text, "The secret. No other response contains it"),
});
type NewApiKey = Infer<typeof NewApiKey>;

export const apiKeyTable = tableOf(
  ApiKey,
  // A key that may neither read nor submit may give feedback.
  `select id, workspace_id, name, prefix, created_at, expires_at, revoked_at, rotated_at, overlap_ends_at,
    read_only and not submit_only as read_only, submit_only and not read_only as submit_only,
    read_only and submit_only as feedback_only, deployment_id as deploy_id,
    (select max(last_used_at) from api_key_secrets where api_key_id = id) as last_used_at
  from api_keys`,
);

const secrets = secretsOf("key", {
  example: "A key is named by its id, key_…",
  create: newApiKey,
  isSecret: isApiKey,
  ...apiKeyTable,
});

export const createApiKey = createOperation({
  id: "createApiKey",
  summary: "Create an API key. Its secret is shown only once",
  path: "/workspaces/{workspaceId}/keys",
  role: "admin",
  command: "key create [--name NAME] [--expires EXPIRY] [--read-only] [--submit-only] [--feedback-only]",
  input: {
    workspaceId: v.workspaceId,
    name: option(v.label, "A name to tell keys apart"),
    expiresAt: optional(expiresAt),
    readOnly: optional(apiKey.readOnly),
    submitOnly: optional(apiKey.submitOnly),
    feedbackOnly: optional(apiKey.feedbackOnly),
    deployId: option(
      v.deploymentReference,
      "The only deployment that the key may access. Default: all deployments of the workspace",
    ),
  },
  output: NewApiKey,
  locate: ({ id }) => `/keys/${id}`,
  conflicts: true,
  async run(management, { workspaceId, name = "", expiresAt = null, deployId, ...given }) {
    const { readOnly = false, submitOnly = false, feedbackOnly = false } = given;
    if ([readOnly, submitOnly, feedbackOnly].filter((only) => only).length > 1) {
      throw invalidField(
        feedbackOnly ? "feedbackOnly" : "submitOnly",
        "A key can be only one of read-only, submit-only and feedback-only",
      );
    }
    const deployment = deployId === undefined ? undefined : await requireDeployment(management, deployId);
    if (deployment !== undefined && deployment.workspaceId !== workspaceId) throw notFound("Deployment", deployId!);
    const createdAt = management.clock();
    requireFuture(expiresAt, createdAt);
    await requireRoom(management, "keys", workspaceId);
    const id: KeyId = newId("key", createdAt);
    const { secret: key, prefix, secretHash, added } = await secrets.issue(id);
    const scope = { deployId: deployment?.id ?? null, createdAt, expiresAt };
    const created = { name, prefix, readOnly, submitOnly, feedbackOnly, ...scope };
    // As in the database, with which the audit log is compared.
    const stored = { ...created, readOnly: readOnly || feedbackOnly, submitOnly: submitOnly || feedbackOnly };
    const { deployId: deploymentId, feedbackOnly: _, ...columns } = stored;
    await management.commit(
      [{ action: "key.created", id, workspaceId, after: { ...stored, secretHash } }],
      [insertInto("api_keys", { id, workspaceId, ...columns, deploymentId }), added],
    );
    return { id, workspaceId, key, ...created, ...unused };
  },
});

export const listApiKeys = listOperation({
  id: "listApiKeys",
  summary: "List a workspace's API keys without their secrets, newest first",
  path: "/workspaces/{workspaceId}/keys",
  command: "key list",
  input: { workspaceId: v.workspaceId, ...v.page },
  output: pageOf(ApiKey),
  run: ({ database }, { workspaceId, ...page }) => apiKeyTable.list(database, { workspaceId }, page),
});

export const { get: getApiKey, revoke: revokeApiKey, rotate: rotateApiKey } = secrets.operations("ApiKey", {
  ...{ words: "an API key", path: "/keys", output: ApiKey, issued: NewApiKey, member: "key" },
});

export const apiKeyOperations = [createApiKey, listApiKeys, getApiKey, revokeApiKey, rotateApiKey];
