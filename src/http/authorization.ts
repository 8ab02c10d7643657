// Who asks: the bearer token of a request, and the rule that an invalid key is refused before anything else is.
import { invalidApiKey, missingAuthorization, noApiKey } from "../errors.ts";
import { hashApiKey, isApiKey } from "../ids.ts";
import type { Context } from "./context.ts";

/** The hash of the request's API key; what cannot be a key is refused without a query. */
export async function readKeyHash(request: Request, { keyHashes }: Context): Promise<string> {
  const header = request.headers.get("Authorization") ?? "";
  const known = keyHashes.get(header);
  if (known !== undefined) return known;
  const hash = await hashApiKey(readApiKey(header));
  keyHashes.set(header, hash, header.length);
  return hash;
}

function readApiKey(header: string): string {
  const [scheme, key = ""] = /^(\S+)(?:\s+(.*))?$/s.exec(header)?.slice(1) ?? [];
  if (scheme?.toLowerCase() !== "bearer") throw missingAuthorization();
  if (key === "") throw noApiKey();
  if (!isApiKey(key)) throw invalidApiKey();
  return key;
}

/** Reads what a request carries; where that is refused, an invalid key is refused first. */
export async function readAuthorized<T>(
  { ledger }: Context,
  keyHash: string,
  read: () => T | Promise<T>,
): Promise<T> {
  try {
    return await read();
  } catch (refusal) {
    if (!await ledger.isKeyValid(keyHash)) throw invalidApiKey();
    throw refusal;
  }
}
