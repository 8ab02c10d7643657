// The secret of the database, common to all services on it. It encrypts opaque values for callers.
import type { Database } from "../../database/database.ts";
import { text } from "../../database/row.ts";

export type SecretKey = Awaited<ReturnType<typeof importSecret>>;

/** The secret, 32 bytes in hexadecimal. */
export async function readSecret(database: Database): Promise<string> {
  const [row] = await database.read({ sql: "select secret from service_secret where id = 1" });
  return text(row!, "secret");
}

/** The secret as an encryption key. */
export async function importSecret(database: Database) {
  const bytes = fromHexadecimal(await readSecret(database));
  return await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
}

/** Key from the secret and a text that the database does not have: a copy of the database is not enough to use it. */
export async function importSecretWith(database: Database, text: string): Promise<SecretKey> {
  const bytes = fromHexadecimal(await readSecret(database)), encoder = new TextEncoder();
  const secret = await crypto.subtle.importKey("raw", bytes, "HKDF", false, ["deriveKey"]);
  const how = { name: "HKDF", hash: "SHA-256", salt: encoder.encode(text), info: encoder.encode("people") };
  return await crypto.subtle.deriveKey(how, secret, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
}

/**
 * Cipher for a purpose. A text that is encrypted for one purpose does not decrypt for another. `iv` is 12 random bytes.
 */
export const cipherOf = (iv: Uint8Array<ArrayBuffer>, purpose: string) => ({
  name: "AES-GCM",
  iv,
  additionalData: new TextEncoder().encode(purpose),
});

export const ivBytes = 12;

export const fromHexadecimal = (digits: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
