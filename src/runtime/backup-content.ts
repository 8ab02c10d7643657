// What is in a backup: the database, compressed with gzip.
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { Readable } from "node:stream";
import { createGunzip, createGzip } from "node:zlib";
import { pipeline } from "node:stream/promises";
import { Refusal } from "../common/errors.ts";
import { describeError } from "../common/log.ts";
import { formatBytes, onFile } from "./atomic-file.ts";
import type { Terminal } from "./terminal.ts";

export type Content = AsyncIterable<Uint8Array>;

const gzipLevel = 4; // higher ones take twice as long for a few percent

/** Whether bytes are the beginning of a backup. */
export const isPacked = (head: Uint8Array): boolean => head[0] === 0x1f && head[1] === 0x8b;

/** Passes the content of a backup of a database file to `write`. */
export async function pack(file: string, write: (content: Content) => Promise<void>): Promise<void> {
  await pipeline(
    createReadStream(file),
    createGzip({ level: gzipLevel }),
    (content: Content) => write(content),
  );
}

/** Writes the database in a backup to an empty file. Throws what `refuse` makes of a cause if the backup is damaged. */
export async function unpack(
  content: Content,
  file: string,
  { report }: Pick<Terminal, "report">,
  refuse: (cause: string) => Refusal,
): Promise<void> {
  const target = await onFile(file, "written", () => open(file, "a", 0o600));
  let written = 0;
  try {
    await pipeline(Readable.from(content), createGunzip(), async (bytes: Content) => {
      for await (const chunk of bytes) {
        await onFile(file, "written", () => target.appendFile(chunk));
        report(`Unpacked ${formatBytes(written += chunk.length)}`);
      }
    });
  } catch (error) {
    throw error instanceof Refusal ? error : refuse(`it is damaged or cut off: ${describeError(error)}`);
  } finally {
    await target.close();
  }
}
