// Reading a request's body: bounded, and as the UTF-8 that JSON is.
import { bodyTooLarge, invalid } from "../errors.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The body as text; refuses more than `limit` bytes, having read no further than that. */
export async function readText(request: Request, limit: number): Promise<string> {
  const bytes = await readBytes(request, limit);
  try {
    return utf8.decode(bytes);
  } catch {
    throw invalid("Request body must be UTF-8");
  }
}

/**
 * Takes in and forgets what a refused client is still sending, up to `limit` bytes, so that its connection stands at the
 * next request: Workers close a connection on which a body was left unread.
 */
export async function discardBody(request: Request, limit: number): Promise<void> {
  if (request.method === "GET" || request.method === "HEAD" || request.bodyUsed) return;
  try {
    await readBytes(request, limit);
  } catch {
    if (!request.bodyUsed) await request.body?.cancel();
  }
}

async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  const declared = request.headers.get("Content-Length");
  if (Number(declared) > limit) throw bodyTooLarge(limit);
  try {
    // Where the length is declared, the server has the connection keep to it.
    const bytes = declared === null ? await readChunks(request, limit) : new Uint8Array(await request.arrayBuffer());
    if (bytes.length <= limit) return bytes;
  } catch {
    throw invalid("Request body must be complete");
  }
  throw bodyTooLarge(limit);
}

/** Reads until the end, or until the limit is passed: then what was read is longer than the limit. */
async function readChunks(request: Request, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Deno and Node have async iteration of streams; Bun's types and Workers are content with a reader as well.
  const reader = request.body?.getReader();
  while (reader !== undefined && length <= limit) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    length += value.length;
  }
  if (length > limit) await reader?.cancel();
  return concat(chunks, length);
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
