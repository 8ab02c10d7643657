// What is in a backup: the database, compressed with gzip, and encrypted if there is a key.
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { Refusal } from "../common/errors.ts";
import { describeError } from "../common/log.ts";
import { formatBytes, onFile } from "./atomic-file.ts";
import { decrypt, encrypt, isEncrypted as beginsEncrypted } from "./backup-encryption.ts";
import type { BackupKey, Content } from "./backup-encryption.ts";
import { guardReserve } from "./disk-reserve.ts";
import type { Terminal } from "./terminal.ts";

const gzipLevel = 4; // higher ones take twice as long for a few percent

/** Whether bytes are the beginning of a compressed backup. */
const isCompressed = (head: Uint8Array): boolean => head[0] === 0x1f && head[1] === 0x8b;

/** Whether bytes are the beginning of a backup that needs unpacking. */
export const isPacked = (head: Uint8Array): boolean => isCompressed(head) || beginsEncrypted(head);

/** Passes the content of a backup of a database file to `write`. */
export async function pack(
  file: string,
  key: BackupKey | undefined,
  write: (content: Content) => Promise<void>,
): Promise<void> {
  await flow(
    createReadStream(file),
    createGzip({ level: gzipLevel }),
    (bytes) => write(key === undefined ? bytes : encrypt(bytes, key)),
  );
}

/** Passes what a transformation makes of a content to `end`. Rejects with what that throws first. */
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

/** The content of a backup. `isEncrypted` says whether it takes a key. */
export type Packed = { content: Content; isEncrypted: boolean; key: BackupKey | undefined };

/** Writes the database in a backup to an empty file. Throws what `refuse` makes of a cause if the backup is damaged. */
export async function unpack(
  { content, isEncrypted, key }: Packed,
  file: string,
  { report }: Pick<Terminal, "report">,
  refuse: (cause: string) => Refusal,
): Promise<void> {
  const target = await onFile(file, "written", () => open(file, "a", 0o600));
  let written = 0;
  const guard = guardReserve(dirname(file));
  try {
    await flow(
      Readable.from(isEncrypted ? decrypt(content, key) : content),
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
}
