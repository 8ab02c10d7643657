// The key of encrypted backups. Its 32 bytes are an X25519 identity of age (https://age-encryption.org/v1).
import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { bech32 } from "@scure/base";
import { invalid } from "../../common/errors.ts";
import { onFile } from "../atomic-file.ts";

export type BackupKey = Uint8Array;

const keyLength = 32; // bytes
const prefix = "AGE-SECRET-KEY-";

/** The key as `age` reads it: `AGE-SECRET-KEY-1…`. */
export const identityOf = (key: BackupKey): string => bech32.encodeFromBytes(prefix, key).toUpperCase();

/** The key of `BACKUP_KEY_FILE`, if that is set. Throws if the file has none. */
export async function findBackupKey(path: string | undefined): Promise<BackupKey | undefined> {
  if (path === undefined) return undefined;
  const key = readKey(await onFile(`${path} (BACKUP_KEY_FILE)`, "read", () => readFile(path, "utf8")));
  if (key !== undefined) return key;
  throw invalid(
    `${path} (BACKUP_KEY_FILE) must hold ${keyLength} bytes in hexadecimal or base64, as openssl rand -hex ${keyLength} prints them, ` +
      `or a key of age-keygen, ${prefix}1…`,
  );
}

/** The only key in a text, in which lines that begin with # are comments. */
function readKey(text: string): BackupKey | undefined {
  const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("#"));
  const [line = "", ...others] = lines;
  if (others.length > 0) return undefined;
  if (line.startsWith(prefix)) return readIdentity(line);
  if (/^[\da-f]{64}$/i.test(line)) return Buffer.from(line, "hex");
  return /^[\w+/-]{43}=?$/.test(line) ? Buffer.from(line, "base64") : undefined;
}

/** The key in an identity of age. Undefined if it is mistyped or of another kind. */
function readIdentity(identity: string): BackupKey | undefined {
  try {
    const { prefix: kind, bytes } = bech32.decodeToBytes(identity);
    return kind.toUpperCase() === prefix && bytes.length === keyLength ? bytes : undefined;
  } catch {
    return undefined;
  }
}
