// Tokens with which a browser may give feedback on one record. The application creates them without a request: they are
// signed with a key derived from the hash of its API key, which the service has too.

/**
 * Permissions of a token: feedback on a record, named by its id or its idempotency key, under some names and for one
 * author, until a time in Unix seconds.
 */
export type FeedbackGrant = { record: string; names: string[]; author: string; expires: number };

const prefix = "plf_";
const hashCharacters = 16; // of the API key's hash, which identifies the key

/** True if a text has the prefix of such a token. */
export const isFeedbackToken = (text: string): boolean => text.startsWith(prefix);

/** Creates a token. `keyHash` is the SHA-256 of the API key in hexadecimal. */
export async function makeFeedbackToken(
  keyHash: string,
  { record, names, author, expires }: FeedbackGrant,
): Promise<string> {
  const payload = toBase64(new TextEncoder().encode(
    JSON.stringify([keyHash.slice(0, hashCharacters), record, names, author, expires]),
  ));
  return `${prefix}${payload}.${await sign(keyHash, payload)}`;
}

/** Decodes a token without verifying it (see `isSignedWith`). Undefined if malformed. */
export function readFeedbackToken(token: string): FeedbackGrant & { keyHashStart: string } | undefined {
  const [, payload] = tokenPattern.exec(token) ?? [];
  if (payload === undefined) return undefined;
  try {
    const [keyHashStart, record, names, author, expires] = JSON.parse(new TextDecoder().decode(fromBase64(payload)));
    const isGrant = [keyHashStart, record, author].every((text) => typeof text === "string") &&
      /^[0-9a-f]{16}$/.test(keyHashStart) && Array.isArray(names) && Number.isSafeInteger(expires);
    return isGrant ? { keyHashStart, record, names, author, expires } : undefined;
  } catch {
    return undefined;
  }
}

const tokenPattern = /^plf_([\w-]{20,3000})\.([\w-]{43})$/;

/** Verifies the signature of a token. It has only one spelling, so texts are compared. */
export async function isSignedWith(keyHash: string, token: string): Promise<boolean> {
  const [, payload, signature] = tokenPattern.exec(token) ?? [];
  if (payload === undefined) return false;
  const expected = await sign(keyHash, payload);
  let difference = 0;
  for (let index = 0; index < expected.length; index++) {
    difference |= expected.charCodeAt(index) ^ signature!.charCodeAt(index);
  }
  return difference === 0;
}

/** HMAC-SHA-256 with a key derived for this purpose (HKDF, RFC 5869), in base 64 for URLs. */
async function sign(keyHash: string, payload: string): Promise<string> {
  const utf8 = new TextEncoder();
  const { subtle } = crypto;
  const source = await subtle.importKey("raw", utf8.encode(keyHash), "HKDF", false, ["deriveKey"]);
  const derivation = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: utf8.encode("feedback token") };
  const algorithm = { name: "HMAC", hash: "SHA-256", length: 256 };
  const key = await subtle.deriveKey(derivation, source, algorithm, false, ["sign"]);
  return toBase64(new Uint8Array(await subtle.sign("HMAC", key, utf8.encode(payload))));
}

const toBase64 = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

const fromBase64 = (text: string): Uint8Array =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (byte) => byte.charCodeAt(0));
