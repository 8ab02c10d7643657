// Encrypted backups of older versions. A file is 8 bytes `PLBACKUP`, 8 bytes that tell keys apart, 12 bytes nonce, the compressed
// database after AES-256-GCM, and its tag of 16 bytes.
import { Buffer } from "node:buffer";
import { createDecipheriv, createHmac } from "node:crypto";
import { conflict } from "../../common/errors.ts";
import type { BackupKey } from "./backup-key.ts";
import { prepend } from "./content.ts";
import type { Content } from "./content.ts";

const magic = "PLBACKUP";
const idLength = 8, nonceLength = 12, tagLength = 16; // bytes
const headerLength = magic.length + idLength + nonceLength;

export const isAes = (head: Uint8Array): boolean =>
  Buffer.from(head).subarray(0, magic.length).equals(Buffer.from(magic));

const idOf = (key: BackupKey): Buffer => createHmac("sha256", key).update(magic).digest().subarray(0, idLength);

/** The content is proven to be what was encrypted once the generator ends. */
export async function* decryptAes(head: Buffer, rest: Content, key: BackupKey): AsyncGenerator<Uint8Array> {
  if (head.length < headerLength) throw conflict("it is cut off");
  const header = head.subarray(0, headerLength);
  if (!header.subarray(magic.length, -nonceLength).equals(idOf(key))) {
    throw conflict("it was encrypted with another key than that of BACKUP_KEY_FILE");
  }
  const options = { authTagLength: tagLength };
  const decryption = createDecipheriv("aes-256-gcm", key, header.subarray(-nonceLength), options);
  // The last bytes may be the tag.
  let held = Buffer.alloc(0);
  for await (const chunk of prepend(head.subarray(headerLength), rest)) {
    held = Buffer.concat([held, chunk]);
    if (held.length <= tagLength) continue;
    yield decryption.update(held.subarray(0, -tagLength));
    held = held.subarray(-tagLength);
  }
  if (held.length < tagLength) throw conflict("it is cut off");
  decryption.setAuthTag(held);
  yield decryption.final();
}
