// The lines of standard input as they arrive: the same on Node, Bun and Deno.
import { Buffer } from "node:buffer";
import process from "node:process";

/** Replaces a line that is too long. */
export const tooLong = Symbol("too long");

const newline = 10;

/** The lines of standard input until it ends. A line has at most `maxBytes`; bytes that are not UTF-8 are replaced. */
export const readLines = (maxBytes: number): AsyncGenerator<string | typeof tooLong> =>
  linesOf(process.stdin, maxBytes);

/** Cuts chunks into lines. The last line may end without a newline. */
export async function* linesOf(
  chunks: AsyncIterable<string | Uint8Array>,
  maxBytes: number,
): AsyncGenerator<string | typeof tooLong> {
  let parts: Uint8Array[] = [], length = 0;
  const take = () => {
    const line = length > maxBytes ? tooLong : Buffer.concat(parts).toString("utf8").replace(/\r$/, "");
    [parts, length] = [[], 0];
    return line;
  };
  for await (const chunk of chunks) {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    for (let start = 0; start < bytes.length;) {
      const end = bytes.indexOf(newline, start), part = bytes.subarray(start, end < 0 ? undefined : end);
      length += part.length;
      if (length <= maxBytes) parts.push(part);
      else parts = [];
      if (end < 0) break;
      yield take();
      start = end + 1;
    }
  }
  if (length > 0) yield take();
}
