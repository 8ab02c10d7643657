// Backups as older versions encrypted them.
import { createCipheriv, createHmac, randomBytes } from "node:crypto";

export function encryptAes(content: Uint8Array, key: Uint8Array): Buffer {
  const nonce = randomBytes(12), encryption = createCipheriv("aes-256-gcm", key, nonce);
  const id = createHmac("sha256", key).update("PLBACKUP").digest().subarray(0, 8);
  const encrypted = [encryption.update(content), encryption.final(), encryption.getAuthTag()];
  return Buffer.concat([Buffer.from("PLBACKUP"), id, nonce, ...encrypted]);
}
