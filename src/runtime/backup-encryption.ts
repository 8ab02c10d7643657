// Encrypted backups. A file is 8 bytes `PLBACKUP`, 8 bytes that tell keys apart, 12 bytes nonce, what AES-256-GCM makes of the
// compressed database, and its tag of 16 bytes.
import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { conflict, invalid } from "../common/errors.ts";
import { onFile } from "./atomic-file.ts";

export type Content = AsyncIterable<Uint8Array>;

export type BackupKey = Readonly<{ bytes: Uint8Array; id: Uint8Array }>;

const cipher = "aes-256-gcm";
const magic = "PLBACKUP";
const keyLength = 32, idLength = 8, nonceLength = 12, tagLength = 16; // bytes
const headerLength = magic.length + idLength + nonceLength;
const maxBytes = 2 ** 36 - 32; // that GCM can encrypt with one nonce

/** Reads the key in a file. Throws if it is none. */
async function readBackupKey(path: string): Promise<BackupKey> {
  const text = (await onFile(`${path} (BACKUP_KEY_FILE)`, "read", () => readFile(path, "utf8"))).trim();
  const bytes = Buffer.from(text, /^[\da-f]{64}$/i.test(text) ? "hex" : "base64");
  // Buffer.from ignores what is not base64.
  const isKey = bytes.length === keyLength && /^([\da-f]{64}|[\w+/-]{43}=?)$/i.test(text);
  if (isKey) return { bytes, id: createHmac("sha256", bytes).update(magic).digest().subarray(0, idLength) };
  throw invalid(
    `${path} (BACKUP_KEY_FILE) must hold ${keyLength} bytes in hexadecimal or base64, as openssl rand -hex ${keyLength} prints them`,
  );
}

/** The key of `BACKUP_KEY_FILE`, if that is set. */
export const findBackupKey = async (path: string | undefined): Promise<BackupKey | undefined> =>
  path === undefined ? undefined : await readBackupKey(path);

/** Whether bytes are the beginning of an encrypted backup. */
export const isEncrypted = (head: Uint8Array): boolean =>
  Buffer.from(head).subarray(0, magic.length).equals(Buffer.from(magic));

export async function* encrypt(content: Content, key: BackupKey): AsyncGenerator<Uint8Array> {
  const nonce = randomBytes(nonceLength);
  const encryption = createCipheriv(cipher, key.bytes, nonce);
  yield Buffer.concat([Buffer.from(magic), key.id, nonce]);
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw conflict("The compressed database is larger than 68 GB, and cannot be encrypted");
    yield encryption.update(chunk);
  }
  yield encryption.final();
  yield encryption.getAuthTag();
}

/** The content is proven to be what was encrypted once the generator ends. */
export async function* decrypt(content: Content, key: BackupKey | undefined): AsyncGenerator<Uint8Array> {
  if (key === undefined) throw conflict("it is encrypted. Set BACKUP_KEY_FILE to the file with its key");
  let decryption: ReturnType<typeof open> | undefined;
  // The last bytes may be the tag.
  let held = Buffer.alloc(0);
  for await (const chunk of content) {
    held = Buffer.concat([held, chunk]);
    if (decryption === undefined) {
      if (held.length < headerLength) continue;
      decryption = open(held.subarray(0, headerLength), key);
      held = held.subarray(headerLength);
    }
    const end = held.length - tagLength;
    if (end <= 0) continue;
    yield decryption.update(held.subarray(0, end));
    held = held.subarray(end);
  }
  if (decryption === undefined || held.length < tagLength) throw conflict("it is cut off");
  decryption.setAuthTag(held);
  yield decryption.final();
}

function open(header: Uint8Array, key: BackupKey) {
  if (!isEncrypted(header)) throw conflict("it is not an encrypted backup");
  const id = header.subarray(magic.length, magic.length + idLength);
  if (!Buffer.from(key.id).equals(id)) throw conflict("it was encrypted with another key than that of BACKUP_KEY_FILE");
  return createDecipheriv(cipher, key.bytes, header.subarray(-nonceLength), { authTagLength: tagLength });
}
