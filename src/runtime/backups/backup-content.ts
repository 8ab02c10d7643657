// The content of a backup: the database, compressed with gzip, and encrypted if there is a key. The gzip header
// contains the name of the backup, which encryption thereby authenticates.
import { Buffer } from "node:buffer";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { Refusal } from "../../common/errors.ts";
import { describeError } from "../../common/log.ts";
import { formatBytes, onFile } from "../atomic-file.ts";
import { isAes } from "./backup-aes.ts";
import type { BackupKey } from "./backup-key.ts";
import { innerName, timeOf } from "./backup-names.ts";
import { prepend, withHead } from "./content.ts";
import type { Content } from "./content.ts";
import { guardReserve } from "../disk-reserve.ts";
import type { Terminal } from "../terminal.ts";

const gzipLevel = 4; // higher ones take twice as long for a few percent

/** True if bytes are the beginning of a compressed backup. */
const isCompressed = (head: Uint8Array): boolean => head[0] === 0x1f && head[1] === 0x8b;

/** Recognizes an encrypted backup, of this version or an older one, by its first bytes. */
export const isEncrypted = (head: Uint8Array): boolean =>
  isAes(head) || Buffer.from(head).toString("latin1").startsWith("age-encryption.");

/** True if bytes are the beginning of a backup that needs unpacking. */
export const isPacked = (head: Uint8Array): boolean => isCompressed(head) || isEncrypted(head);

/** Encryption is loaded where it is needed: it takes longer than most commands. */
const loadEncryption = () => import("./backup-encryption.ts");

/** Passes the content of a backup of a database file to `write`. */
export async function pack(
  file: string,
  name: string,
  key: BackupKey | undefined,
  write: (content: Content) => Promise<void>,
): Promise<void> {
  const encryption = key === undefined ? undefined : await loadEncryption();
  await flow(
    createReadStream(file),
    createGzip({ level: gzipLevel }),
    (bytes) => {
      const named = withName(bytes, name);
      return write(encryption === undefined ? named : encryption.encrypt(named, key!));
    },
  );
}

/** Passes transformed content to `end`. Rejects with the first error. */
async function flow(content: Readable, through: Transform, end: (content: Content) => Promise<void>): Promise<void> {
  let ending: Promise<void> | undefined;
  try {
    await pipeline(content, through, (bytes: Content) => ending = end(bytes));
  } catch (error) {
    // Node 20 rejects with the AbortError of the streams before, and before the end has cleared up.
    await ending;
    throw error;
  }
}

/** The content of a backup. `isEncrypted` is true if it needs a key. */
export type Packed = { content: Content; isEncrypted: boolean; key: BackupKey | undefined };

/**
 * Writes the database in a backup to an empty file. If the backup is damaged, throws the refusal that `refuse` creates.
 * Returns the name of the database inside the backup, which older backups do not have.
 */
export async function unpack(
  packed: Packed,
  file: string,
  { report }: Pick<Terminal, "report">,
  refuse: (cause: string) => Refusal,
): Promise<string | undefined> {
  const target = await onFile(file, "written", () => open(file, "a", 0o600));
  let written = 0;
  let name: string | undefined;
  const guard = guardReserve(dirname(file));
  try {
    const content = packed.isEncrypted ? (await loadEncryption()).decrypt(packed.content, packed.key) : packed.content;
    await flow(
      Readable.from(withHead(content, maxHeader, (head, rest) => {
        name = nameIn(head);
        return prepend(head, rest);
      })),
      createGunzip(),
      async (bytes) => {
        for await (const chunk of bytes) {
          await guard(chunk.length);
          await onFile(file, "written", () => target.appendFile(chunk));
          report(`Unpacked ${formatBytes(written += chunk.length)}`);
        }
      },
    );
  } catch (error) {
    throw refuse(error instanceof Refusal ? error.message : `it is damaged or cut off: ${describeError(error)}`);
  } finally {
    await target.close();
  }
  return name;
}

// The header of gzip: https://www.rfc-editor.org/rfc/rfc1952
const header = { flags: 3, time: 4, length: 10 } as const;
const hasName = 0x08;
const maxHeader = 100; // bytes, with the name of a database

/** A gzip stream with the name of a backup and its time in its header. `gunzip -N` restores both. */
const withName = (content: Content, name: string): AsyncGenerator<Uint8Array> =>
  withHead(content, header.length, (head, rest) => {
    head[header.flags]! |= hasName;
    head.writeUInt32LE(timeOf(name)! / 1000, header.time);
    const named = [head.subarray(0, header.length), Buffer.from(`${innerName(name)}\0`), head.subarray(header.length)];
    return prepend(Buffer.concat(named), rest);
  });

/** The name in the header of a gzip stream, if the header has only a name. */
function nameIn(head: Buffer): string | undefined {
  const end = head.indexOf(0, header.length);
  return head[header.flags] === hasName && end > 0 ? head.toString("latin1", header.length, end) : undefined;
}
