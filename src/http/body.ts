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
    if (!request.bodyUsed) await request.body?.cancel();
    return false;
  }
}

async function readBytes(request: Request, limit: Limit): Promise<Uint8Array> {
  if (Number(request.headers.get("Content-Length")) > limit.bytes) throw bodyTooLarge(limit.bytes);
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    void reader.cancel().catch(() => {});
  }, limit.time);
  try {
    const bytes = await readAll(reader, limit.bytes);
    if (isLate) throw bodyTooSlow(limit.time / 1000);
    return bytes;
  } catch (error) {
    throw error instanceof Refusal ? error : bodyIncomplete();
  } finally {
    clearTimeout(timer);
  }
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
