// Reading a request's body: bounded in size and time, and as the UTF-8 that JSON is.
import { bodyIncomplete, bodyNotUtf8, bodyTooLarge, bodyTooSlow, Refusal } from "../errors.ts";

/** How much of a body is read: so many bytes, within so many ms. */
type Limit = { bytes: number; time: number };

const discardTime = 1000; // ms for a body that nobody wants

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The body as text; one that is too large is read no further than the limit. */
export async function readText(request: Request, limit: Limit): Promise<string> {
  const bytes = await readBytes(request, limit);
  try {
    return utf8.decode(bytes);
  } catch {
    throw bodyNotUtf8();
  }
}

/**
 * Takes in and forgets what a refused client is still sending, within the limit, so that its connection stands at the
 * next request: Workers close a connection on which a body was left unread. Gives false where something was left.
 */
export async function discardBody(request: Request, limit: Limit): Promise<boolean> {
  if (request.method === "GET" || request.method === "HEAD" || request.bodyUsed) return true;
  try {
    await readBytes(request, { ...limit, time: Math.min(limit.time, discardTime) });
    return true;
  } catch {
    // A body that has failed, or that someone else reads, cannot be cancelled.
    if (!request.bodyUsed) await request.body?.cancel().catch(() => {});
    return false;
  }
}

async function readBytes(request: Request, limit: Limit): Promise<Uint8Array> {
  const declared = request.headers.get("Content-Length");
  if (Number(declared) > limit.bytes) throw bodyTooLarge(limit.bytes);
  // A body that declares its length is not longer, and is read at once, at a fraction of what a stream costs.
  if (declared !== null) return await within(limit.time, readWhole(request, limit.bytes), () => {});
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  return within(limit.time, readAll(reader, limit.bytes), () => void reader.cancel().catch(() => {}));
}

/** What is read, unless it takes too long, which ends with `cancel`. */
function within(time: number, reading: Promise<Uint8Array>, cancel: () => void): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(bodyTooSlow(time / 1000));
      cancel();
    }, time);
    reading.then(
      (bytes) => {
        clearTimeout(timer);
        resolve(bytes);
      },
      (error) => {
        clearTimeout(timer);
        reject(error instanceof Refusal ? error : bodyIncomplete());
      },
    );
  });
}

async function readWhole(request: Request, limit: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(await request.arrayBuffer());
  if (bytes.length > limit) throw bodyTooLarge(limit);
  return bytes;
}

async function readAll(reader: ReadableStreamDefaultReader<Uint8Array>, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return chunks.length === 1 ? chunks[0]! : concat(chunks, length);
    chunks.push(value);
    length += value.length;
    if (length > limit) {
      await reader.cancel();
      throw bodyTooLarge(limit);
    }
  }
}

function concat(chunks: Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
