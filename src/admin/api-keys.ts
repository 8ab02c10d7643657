// Managing API keys. A key's secret leaves here once, when it is made.
import type { ApiKey } from "../domain.ts";
import { invalid, notFound } from "../errors.ts";
import { hashApiKey, isApiKey, keyPrefixLength, newApiKey, newId } from "../ids.ts";
import { ApiKeyInput, check } from "../schema.ts";
import * as store from "../store/api-keys.ts";
import { getWorkspace } from "./workspaces.ts";
import type { Admin } from "./workspaces.ts";

/** Makes a key for a workspace; `key` is the secret, which is not kept. `expiresAt` is the first moment it is refused. */
export async function createApiKey(
  admin: Admin,
  workspaceId: string,
  input: ApiKeyInput,
): Promise<ApiKey & { key: string }> {
  const { name, expiresAt } = check(ApiKeyInput, input);
  await getWorkspace(admin, workspaceId);
  const key = newApiKey();
  const createdAt = admin.clock();
  const id = newId("key", createdAt);
  const listed = { workspaceId, name, prefix: key.slice(0, keyPrefixLength), createdAt, expiresAt, revokedAt: null };
  await store.createApiKey(admin.database, { id, ...listed }, await hashApiKey(key));
  return { id, key, ...listed };
}

export async function listApiKeys(admin: Admin, workspaceId: string): Promise<ApiKey[]> {
  await getWorkspace(admin, workspaceId);
  return store.listApiKeys(admin.database, workspaceId);
}

/** Refuses the key from the next request on. */
export async function revokeApiKey({ database, clock }: Admin, id: string): Promise<ApiKey> {
  // The answer to an unknown id repeats it, and a secret must not be repeated.
  if (isApiKey(id)) throw invalid("A key is named by its id, key_…, not by its secret");
  const key = await store.revokeApiKey(database, id, clock());
  if (key === undefined) throw notFound("API key", id);
  return key;
}
