// Authenticates requests by their bearer token. An invalid key is refused before anything else.
import { invalidAdminToken, invalidApiKey, missingAuthorization, noApiKey, Refusal } from "../common/errors.ts";
import { hashApiKey, isApiKey, sha256 } from "../common/ids.ts";
import type { WorkspaceId } from "../common/ids.ts";
import type { Caller } from "../ledger/admission.ts";
import { whileUnread } from "./body.ts";
import type { CallContext, Context, RequestContext } from "./context.ts";
import { setCaller } from "./log-context.ts";

/** The Authorization header of a request. */
export const headerOf = ({ headers }: Request): string => headers.get("Authorization") ?? "";

/** The hash of the API key in an Authorization header. A text that cannot be a key is refused without a query. */
export async function readKeyHash(header: string, { keyHashes }: Context): Promise<string> {
  const known = keyHashes.get(header);
  if (known !== undefined) return known;
  const hash = await hashApiKey(readApiKey(header));
  keyHashes.set(header, hash, header.length);
  return hash;
}

export function readBearer(header: string): string {
  const found = /^bearer(?:\s+(.*))?$/is.exec(header);
  if (found === null) throw missingAuthorization();
  return found[1] ?? "";
}

function readApiKey(header: string): string {
  const key = readBearer(header);
  if (key === "") throw noApiKey();
  if (!isApiKey(key)) throw invalidApiKey();
  return key;
}

/** Reads the input of a request. If that is invalid, an invalid key is still refused first. */
export async function readAuthorized<T>(
  ctx: CallContext,
  context: Context,
  keyHash: string,
  read: () => T | Promise<T>,
): Promise<T> {
  try {
    return await read();
  } catch (refusal) {
    const isDecided = ctx.isKeyValid || refusal instanceof Refusal && refusal.kind === "unauthorized";
    if (!isDecided) await requireKey(ctx, context, keyHash);
    throw refusal;
  }
}

/** The hash of a valid key, and its workspace. */
export type ValidKey = { keyHash: string; workspaceId: WorkspaceId };

/**
 * The hash of the API key of a request with a body, and its workspace. The body is not read before the key is known to
 * be valid. A key that was valid when the ledger last saw it is not looked up again.
 */
export async function readValidKey(
  ctx: RequestContext,
  context: Context,
): Promise<ValidKey> {
  const header = headerOf(ctx.request);
  const known = context.keyHashes.get(header);
  const workspaceId = known === undefined ? undefined : context.validKeys.get(known);
  if (known !== undefined && workspaceId !== undefined) return { keyHash: known, workspaceId };
  // Nothing is awaited before this: a burst of requests is counted, and the excess refused, at once.
  return await whileUnread(ctx, context, () => findKey(ctx, context, header));
}

/** The hash of the API key in an Authorization header, and its workspace. Refuses an invalid key. */
export async function findKey(ctx: CallContext, context: Context, header: string): Promise<ValidKey> {
  const keyHash = await readKeyHash(header, context);
  const known = context.validKeys.get(keyHash);
  return { keyHash, workspaceId: known ?? (await requireKey(ctx, context, keyHash)).workspaceId };
}

async function requireKey(ctx: CallContext, { ledger, validKeys }: Context, keyHash: string): Promise<Caller> {
  const caller = (await ledger.check(keyHash))?.audit.caller;
  cacheValidity(validKeys, keyHash, caller);
  if (caller === undefined) throw invalidApiKey();
  ctx.isKeyValid = true;
  setCaller(ctx.logContext, caller);
  return caller;
}

/** Caches whether the ledger found a key valid. */
export function cacheValidity(validKeys: Context["validKeys"], keyHash: string, caller: Caller | undefined): void {
  if (caller === undefined) validKeys.delete(keyHash);
  else if (validKeys.get(keyHash) !== caller.workspaceId) validKeys.set(keyHash, caller.workspaceId, 1);
}

/** Refuses a request without this token. */
export async function requireBearer(request: Request, token: string): Promise<void> {
  if (!await isSame(readBearer(headerOf(request)), token)) throw invalidAdminToken();
}

/** Compares the hashes of two texts in constant time, so that timing reveals neither. */
export async function isSame(one: string, other: string): Promise<boolean> {
  const [a, b] = [await sha256(one), await sha256(other)];
  let difference = 0;
  for (let index = 0; index < a.length; index++) difference |= a.charCodeAt(index) ^ b.charCodeAt(index);
  return difference === 0;
}
