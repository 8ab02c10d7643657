// Managing API keys. A key's secret leaves here once, when it is made.
import type { ApiKey, Page, PageRequest } from "../common/domain.ts";
import { conflict, invalid, notFound } from "../common/errors.ts";
import { hashApiKey, isApiKey, keyPrefixLength, newApiKey, newId } from "../common/ids.ts";
import * as store from "../store/api-keys.ts";
import type { Admin } from "./admin.ts";
import { getWorkspace } from "./workspaces.ts";

/** A key with its secret. */
export type NewApiKey = ApiKey & { key: string };

type KeyInput = { name?: string | undefined; expiresAt?: number | null | undefined };

/** Makes a key for a workspace; `key` is the secret, which is not kept. `expiresAt` is the first moment it is refused. */
export async function createApiKey(admin: Admin, workspaceId: string, input: KeyInput): Promise<NewApiKey> {
  const { name = "", expiresAt = null } = input;
  await getWorkspace(admin, workspaceId);
  const key = newApiKey();
  const createdAt = admin.clock();
  const id = newId("key", createdAt);
  const never = { revokedAt: null, rotatedAt: null, overlapEndsAt: null, lastUsedAt: null };
  const listed = { workspaceId, name, prefix: key.slice(0, keyPrefixLength), createdAt, expiresAt, ...never };
  await store.createApiKey(admin.database, { id, ...listed }, await hashApiKey(key));
  return { id, key, ...listed };
}

/** The keys of a workspace, newest first, revoked and expired ones too. */
export async function listApiKeys(admin: Admin, workspaceId: string, page: PageRequest = {}): Promise<Page<ApiKey>> {
  await getWorkspace(admin, workspaceId);
  return store.listApiKeys(admin.database, workspaceId, page);
}

/** The key, or a refusal where there is none. */
export async function getApiKey({ database }: Admin, id: string): Promise<ApiKey> {
  return orNotFound(await store.findApiKey(database, checkId(id)), id);
}

/** Refuses the key, whichever secret is sent, from the next request on. */
export async function revokeApiKey({ database, clock }: Admin, id: string): Promise<ApiKey> {
  return orNotFound(await store.revokeApiKey(database, checkId(id), clock()), id);
}

type RotationInput = { overlapMs?: number | undefined; expiresAt?: number | null | undefined };

/**
 * Gives a key a new secret, under the same id. The secrets before it stay valid for `overlapMs`, so that applications can be
 * changed over without a refusal; 0 refuses them from the next request on. A new expiry is that of the key.
 */
export async function rotateApiKey(admin: Admin, id: string, input: RotationInput): Promise<NewApiKey> {
  const { expiresAt, revokedAt } = await getApiKey(admin, id);
  const now = admin.clock();
  const expiry = input.expiresAt === undefined ? expiresAt : input.expiresAt;
  if (revokedAt !== null) throw conflict(`API key ${id} is revoked`);
  if (expiry !== null && expiry <= now) throw conflict(`API key ${id} has expired: give it a new expiry`);
  const key = newApiKey();
  const overlapEndsAt = Math.min(now + (input.overlapMs ?? 0), expiry ?? Infinity, expiresAt ?? Infinity);
  const rotation = {
    hash: await hashApiKey(key),
    prefix: key.slice(0, keyPrefixLength),
    expiresAt: expiry,
    overlapEndsAt: overlapEndsAt > now ? overlapEndsAt : null,
    now,
  };
  const rotated = orNotFound(await store.rotateApiKey(admin.database, id, rotation), id);
  if (rotated.revokedAt !== null) throw conflict(`API key ${id} is revoked`);
  return { ...rotated, key };
}

/** Who names a key by its secret is told so, without repeating it. */
function checkId(id: string): string {
  if (isApiKey(id)) throw invalid("A key is named by its id, key_…, not by its secret");
  return id;
}

function orNotFound(key: ApiKey | undefined, id: string): ApiKey {
  if (key === undefined) throw notFound("API key", id);
  return key;
}
