// The content of a file as a stream of chunks.
import { Buffer } from "node:buffer";

export type Content = AsyncIterable<Uint8Array>;

/**
 * Passes the first bytes of a content, at least `length` of them if it has as many, and the rest to `work`, and returns the content
 * that it makes of both. Closes the rest even if nobody reads it.
 */
export async function* withHead(
  content: Content,
  length: number,
  work: (head: Buffer, rest: Content) => Content,
): AsyncGenerator<Uint8Array> {
  const chunks = content[Symbol.asyncIterator]();
  try {
    let head = Buffer.alloc(0);
    while (head.length < length) {
      const { done, value } = await chunks.next();
      if (done) break;
      head = Buffer.concat([head, value]);
    }
    yield* work(head, { [Symbol.asyncIterator]: () => chunks });
  } finally {
    await chunks.return?.();
  }
}

export async function* prepend(head: Uint8Array, rest: Content): AsyncGenerator<Uint8Array> {
  yield head;
  yield* rest;
}
