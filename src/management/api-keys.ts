// API keys: what applications authenticate with. A secret is shown once, when it is made; the database has its hash.
import { conflict, invalid, notFound } from "../common/errors.ts";
import { hashApiKey, isApiKey, keyPrefixLength, newApiKey, newId } from "../common/ids.ts";
import type { DeploymentId, KeyId, WorkspaceId } from "../common/ids.ts";
import type { Row, Statement } from "../database/database.ts";
import { described, exactly, named, nullable, optional } from "../schema/struct.ts";
import type { Infer } from "../schema/struct.ts";
import * as v from "./values.ts";
import { requireDeployment } from "./deployments.ts";
import { operation, pageOf } from "./operation.ts";
import type { Store } from "./operation.ts";
import { insertInto, tableOf } from "./table.ts";
import { requireWorkspace } from "./workspaces.ts";

const apiKey = {
  id: v.textAs<KeyId>(),
  workspaceId: v.textAs<WorkspaceId>(),
  name: v.text,
  prefix: described(v.text, "The first characters of the secret, to tell keys apart"),
  readOnly: described(v.isTrue, "Whether it is for reads alone"),
  submitOnly: described(v.isTrue, "Whether it is for submits alone"),
  deployId: described(
    nullable(v.textAs<DeploymentId>()),
    "The deployment that it is for; null for every one of the workspace",
  ),
  createdAt: v.timestamp,
  expiresAt: described(v.moment, "The first moment it is refused, in Unix milliseconds; null where it never expires"),
  revokedAt: described(v.moment, "When it was revoked, in Unix milliseconds, or null"),
  rotatedAt: described(v.moment, "When its secret was last replaced, in Unix milliseconds, or null"),
  overlapEndsAt: described(v.moment, "Until when the secrets before it stay valid, in Unix milliseconds, or null"),
  lastUsedAt: described(v.moment, "When it last had a request accepted, to the hour, in Unix milliseconds, or null"),
};
export const ApiKey = named("ApiKey", exactly(apiKey));
export type ApiKey = Infer<typeof ApiKey>;
const NewApiKey = named(
  "NewApiKey",
  exactly({ ...apiKey, key: described(v.text, "The secret; no other answer shows it") }),
);
export type NewApiKey = Infer<typeof NewApiKey>;

const table = tableOf(
  ApiKey,
  `select *, deployment_id as deploy_id,
    (select max(last_used_at) from api_key_secrets where api_key_id = id) as last_used_at
  from api_keys`,
);

/** Makes a secret with this hash the one of a key, until the key expires. A workspace that is being deleted gets none. */
const addSecret = (id: KeyId, hash: string): Statement => ({
  sql: `insert into api_key_secrets (hash, api_key_id, workspace_id, expires_at, read_only, submit_only, deployment_id)
    select ?, id, workspace_id, expires_at, read_only, submit_only, deployment_id from api_keys
    where id = ? and revoked_at is null and workspace_id not in (select id from deleted_workspaces)`,
  args: [hash, id],
});

export const createApiKey = operation({
  id: "createApiKey",
  summary: "Create an API key, shown this once",
  method: "POST",
  path: "/workspaces/{workspaceId}/keys",
  role: "admin",
  command: "key create --workspace ID [--name NAME] [--expires EXPIRY] [--read-only] [--submit-only] [--deploy REF]",
  input: {
    workspaceId: v.id<WorkspaceId>(),
    name: optional(described(v.label, "To tell keys apart")),
    expiresAt: optional(apiKey.expiresAt),
    readOnly: optional(apiKey.readOnly),
    submitOnly: optional(apiKey.submitOnly),
    deployId: optional(described(v.deploymentReference, "The deployment that it is for; every one unless given")),
  },
  output: NewApiKey,
  locate: ({ id }) => `/keys/${id}`,
  refusals: ["not_found"],
  async run(management, { workspaceId, name = "", expiresAt = null, readOnly = false, submitOnly = false, deployId }) {
    await requireWorkspace(management, workspaceId);
    if (readOnly && submitOnly) throw invalid("A key cannot be for reads alone and for submits alone");
    const deployment = deployId === undefined ? undefined : await requireDeployment(management, deployId);
    if (deployment !== undefined && deployment.workspaceId !== workspaceId) throw notFound("Deployment", deployId!);
    const key = newApiKey();
    const createdAt = management.clock();
    const stored = {
      id: newId("key", createdAt),
      workspaceId,
      name,
      prefix: key.slice(0, keyPrefixLength),
      createdAt,
      expiresAt,
    };
    const deploymentId = deployment?.id ?? null;
    const columns = { ...stored, readOnly: Number(readOnly), submitOnly: Number(submitOnly), deploymentId };
    await management.database.write([insertInto("api_keys", columns), addSecret(stored.id, await hashApiKey(key))]);
    const { id, ...listed } = stored;
    const power = { readOnly, submitOnly, deployId: deploymentId };
    return { id, key, ...listed, ...power, revokedAt: null, rotatedAt: null, overlapEndsAt: null, lastUsedAt: null };
  },
});

export const listApiKeys = operation({
  id: "listApiKeys",
  summary: "List a workspace's keys by their first characters, newest first",
  method: "GET",
  path: "/workspaces/{workspaceId}/keys",
  role: "viewer",
  command: "key list --workspace ID",
  input: { workspaceId: v.id<WorkspaceId>(), ...v.page },
  output: pageOf(ApiKey),
  refusals: ["not_found"],
  async run(management, { workspaceId, ...page }) {
    await requireWorkspace(management, workspaceId);
    return await table.list(management.database, { workspaceId }, page);
  },
});

export const getApiKey = operation({
  id: "getApiKey",
  summary: "Show a key by its first characters",
  method: "GET",
  path: "/keys/{id}",
  role: "viewer",
  command: "key show ID",
  input: { id: v.id<KeyId>() },
  output: ApiKey,
  refusals: ["not_found"],
  run: (management, { id }) => requireApiKey(management, id),
});

export const revokeApiKey = operation({
  id: "revokeApiKey",
  summary: "Refuse a key, whichever of its secrets is sent, from the next request on",
  method: "POST",
  path: "/keys/{id}/revoke",
  role: "admin",
  command: "key revoke ID",
  input: { id: v.id<KeyId>() },
  output: ApiKey,
  refusals: ["not_found"],
  async run({ database, clock }, { id }) {
    checkId(id);
    const [, , found] = await database.write([
      { sql: "update api_keys set revoked_at = coalesce(revoked_at, ?) where id = ?", args: [clock(), id] },
      { sql: "update api_key_secrets set expires_at = 0 where api_key_id = ?", args: [id] },
      table.byId(id),
    ]);
    return firstOf(found!, id);
  },
});

export const rotateApiKey = operation({
  id: "rotateApiKey",
  summary: "Give a key a new secret, shown this once; the old one stays valid for the overlap, none unless set",
  method: "POST",
  path: "/keys/{id}/rotate",
  role: "admin",
  command: "key rotate ID [--overlap DURATION] [--expires EXPIRY]",
  input: {
    id: v.id<KeyId>(),
    overlapMs: optional(
      described(v.period, "How long the secrets before it stay valid, in milliseconds", { default: 0 }),
    ),
    expiresAt: optional(
      described(v.moment, "The key's new expiry in Unix milliseconds, or null for none; as before unless given"),
    ),
  },
  output: NewApiKey,
  refusals: ["not_found", "conflict"],
  async run(management, { id, overlapMs = 0, expiresAt }) {
    const before = await requireApiKey(management, id);
    const now = management.clock();
    const expiry = expiresAt === undefined ? before.expiresAt : expiresAt;
    checkNotRevoked(before);
    if (expiry !== null && expiry <= now) throw conflict(`API key ${id} has expired: give it a new expiry`);
    const key = newApiKey();
    const end = Math.min(now + overlapMs, expiry ?? Infinity, before.expiresAt ?? Infinity);
    const overlapEndsAt = end > now ? end : null;
    const results = await management.database.write([
      {
        sql: `update api_keys
          set prefix = :prefix, expires_at = :expiry, rotated_at = :now, overlap_ends_at = :overlapEndsAt
          where id = :id and revoked_at is null`,
        args: { id, prefix: key.slice(0, keyPrefixLength), expiry, now, overlapEndsAt },
      },
      {
        // A secret that was replaced earlier may end sooner. Clocks differ: only a moment long past is past for all.
        sql: "update api_key_secrets set expires_at = min(coalesce(expires_at, :end), :end) where api_key_id = :id",
        args: { id, end: overlapEndsAt ?? 0 },
      },
      addSecret(id, await hashApiKey(key)),
      table.byId(id),
    ]);
    const rotated = firstOf(results.at(-1)!, id);
    checkNotRevoked(rotated);
    return { ...rotated, key };
  },
});

const requireApiKey = async ({ database }: Store, id: KeyId): Promise<ApiKey> =>
  firstOf(await database.read(table.byId(checkId(id))), id);

/** A caller who names a key by its secret learns so, and the secret is not repeated. */
function checkId(id: KeyId): KeyId {
  if (isApiKey(id)) throw invalid("A key is named by its id, key_…, not by its secret");
  return id;
}

function firstOf(rows: Row[], id: KeyId): ApiKey {
  const key = rows.map(table.toItem)[0];
  if (key === undefined) throw notFound("API key", id);
  return key;
}

function checkNotRevoked({ id, revokedAt }: ApiKey): void {
  if (revokedAt !== null) throw conflict(`API key ${id} is revoked`);
}

export const apiKeyOperations = [createApiKey, listApiKeys, getApiKey, revokeApiKey, rotateApiKey];
