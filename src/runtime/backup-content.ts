// The content of a backup: the database, compressed with gzip, and encrypted if there is a key. The header of gzip has the name of the
// backup, so that encryption authenticates it.
import { Buffer } from "node:buffer";
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
import { innerName, timeOf } from "./backup-names.ts";
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
  name: string,
  key: BackupKey | undefined,
  write: (content: Content) => Promise<void>,
): Promise<void> {
  await flow(
    createReadStream(file),
    createGzip({ level: gzipLevel }),
    (bytes) => {
      const named = withName(bytes, name);
      return write(key === undefined ? named : encrypt(named, key));
    },
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

/**
 * Writes the database in a backup to an empty file. Throws what `refuse` makes of a cause if the backup is damaged. Returns the name
 * of the database that the backup has inside, which older backups lack.
 */
export async function unpack(
  { content, isEncrypted, key }: Packed,
  file: string,
  { report }: Pick<Terminal, "report">,
  refuse: (cause: string) => Refusal,
): Promise<string | undefined> {
  const target = await onFile(file, "written", () => open(file, "a", 0o600));
  let written = 0;
  let name: string | undefined;
  const guard = guardReserve(dirname(file));
  try {
    await flow(
      Readable.from(withHead(isEncrypted ? decrypt(content, key) : content, maxHeader, (head) => {
        name = nameIn(head);
        return head;
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
  withHead(content, header.length, (head) => {
    head[header.flags]! |= hasName;
    head.writeUInt32LE(timeOf(name)! / 1000, header.time);
    const rest = head.subarray(header.length);
    return Buffer.concat([head.subarray(0, header.length), Buffer.from(`${innerName(name)}\0`), rest]);
  });

/** The name in the header of a gzip stream, if there is nothing but a name in it. */
function nameIn(head: Buffer): string | undefined {
  const end = head.indexOf(0, header.length);
  return head[header.flags] === hasName && end > 0 ? head.toString("latin1", header.length, end) : undefined;
}

/** A stream whose first bytes, at least `length` of them if it has as many, `change` may replace. */
async function* withHead(
  content: Content,
  length: number,
  change: (head: Buffer) => Uint8Array,
): AsyncGenerator<Uint8Array> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of content) {
    if (head === undefined) {
      yield chunk;
      continue;
    }
    head = Buffer.concat([head, chunk]);
    if (head.length < length) continue;
    yield change(head);
    head = undefined;
  }
  if (head !== undefined) yield change(head);
}
