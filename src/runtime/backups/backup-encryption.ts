// Encrypted backups: files of age (https://age-encryption.org/v1), for the public half of the key. age does not say who encrypted
// a file, and anyone who knows the public half could. So the header of a backup also has a proof that takes the key itself.
import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import { ReadableStream as WebStream } from "node:stream/web";
import { Decrypter, Encrypter, identityToRecipient, Stanza } from "age-encryption";
import { conflict } from "../../common/errors.ts";
import { decryptAes, isAes } from "./backup-aes.ts";
import { identityOf } from "./backup-key.ts";
import type { BackupKey } from "./backup-key.ts";
import { prepend, withHead } from "./content.ts";
import type { Content } from "./content.ts";

const proofType = "github.com/promptledger/proof"; // of a stanza, which other programs skip
const maxHeader = 4096; // bytes. Other programs may add stanzas, and age-encryption sets no bound

/** The file key decrypts one file, and nobody but its recipient and its sender knows it. */
const proofOf = (key: BackupKey, fileKey: Uint8Array): Buffer =>
  createHmac("sha256", key).update(proofType).update(fileKey).digest();

const toStream = (content: Content) => WebStream.from(content) as ReadableStream<Uint8Array>;

export async function* encrypt(content: Content, key: BackupKey): AsyncGenerator<Uint8Array> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(await identityToRecipient(identityOf(key)));
  encrypter.addRecipient({ wrapFileKey: (fileKey) => [new Stanza([proofType], proofOf(key, fileKey))] });
  yield* await encrypter.encrypt(toStream(content));
}

/** Each chunk is proven to be what a holder of the key encrypted, and the end once the generator ends. */
export async function* decrypt(content: Content, key: BackupKey | undefined): AsyncGenerator<Uint8Array> {
  if (key === undefined) throw conflict("it is encrypted. Set BACKUP_KEY_FILE to the file with its key");
  yield* withHead(
    content,
    maxHeader,
    (head, rest) => isAes(head) ? decryptAes(head, rest, key) : decryptAge(head, rest, key),
  );
}

async function* decryptAge(head: Buffer, rest: Content, key: BackupKey): AsyncGenerator<Uint8Array> {
  const end = head.indexOf("\n", head.indexOf("\n--- ") + 1) + 1;
  const fileKey = await openHeader(head.subarray(0, end), key);
  const decrypter = new Decrypter();
  decrypter.addIdentity({ unwrapFileKey: () => fileKey });
  yield* await decrypter.decrypt(toStream(prepend(head, rest)));
}

/** Returns the file key. Throws if the key does not open the header, or nothing proves its sender. */
async function openHeader(header: Uint8Array, key: BackupKey): Promise<Uint8Array> {
  let stanzas: Stanza[] = [];
  const decrypter = new Decrypter();
  decrypter.addIdentity({
    unwrapFileKey(all: Stanza[]) {
      stanzas = all;
      return null;
    },
  });
  decrypter.addIdentity(identityOf(key));
  decrypter.addIdentity({
    unwrapFileKey() {
      throw conflict("it was encrypted with another key than that of BACKUP_KEY_FILE");
    },
  });
  const fileKey = await decrypter.decryptHeader(header), proof = proofOf(key, fileKey);
  const isProof = ({ args: [type], body }: Stanza) =>
    type === proofType && body.length === proof.length && timingSafeEqual(body, proof);
  if (stanzas.some(isProof)) return fileKey;
  throw conflict(
    "nothing proves who encrypted it: anyone who knows the public half of the key could. If you trust it, decrypt it with age, " +
      "and restore the result with --allow-unauthenticated",
  );
}
