// Downloads an object from S3. A broken download continues where it ended.
import { isTimeout, oddAnswer } from "./s3.ts";
import type { Bucket } from "./s3.ts";

const maxBreaks = 5; // one after the other, without a byte between them
const maxTimeouts = 1; // of these breaks

export async function* download(bucket: Bucket, path: string): AsyncGenerator<Uint8Array> {
  let offset = 0, total = Infinity, etag = "";

  /** Opens the part that has not been read yet. */
  async function open() {
    const stall = new AbortController();
    const within = <T>(work: Promise<T>): Promise<T> => {
      const timer = setTimeout(
        () => stall.abort(new DOMException("The download stands still", "TimeoutError")),
        bucket.patience.stall,
      );
      return work.finally(() => clearTimeout(timer));
    };
    const headers: Record<string, string> = offset === 0 ? {} : { Range: `bytes=${offset}-`, "If-Match": etag };
    const response = await within(bucket.send({ method: "GET", path, headers }, stall.signal));
    if (offset > 0 && response.status !== 206) throw oddAnswer();
    const length = Number(response.headers.get("Content-Length") ?? NaN);
    if (Number.isNaN(length) || response.body === null) throw oddAnswer();
    if (offset === 0) [total, etag] = [length, response.headers.get("ETag") ?? ""];
    const reader = response.body.getReader();
    return { read: () => within(reader.read()), close: () => reader.cancel().catch(() => {}) };
  }

  for (let breaks = 0, timeouts = 0; offset < total;) {
    const { read, close } = await bucket.attempt("read", open);
    try {
      for (;;) {
        const { done, value } = await read();
        if (done) break;
        offset += value.length;
        breaks = timeouts = 0;
        yield value;
      }
      if (offset < total) throw new TypeError("The download ended early");
    } catch (error) {
      if (isTimeout(error)) timeouts++;
      if (breaks++ === maxBreaks || timeouts > maxTimeouts) throw bucket.fail("read", error);
    } finally {
      await close();
    }
  }
}
