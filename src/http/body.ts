// Reading a request's body: bounded in bytes, chunks and time, within one budget for all bodies of the service, and as the
// UTF-8 that JSON is. The rest of a body that is refused is left alone: cancelling it may never settle (a cloned Request), may
// reset the connection before the answer, or may throw inside the host's adapter.
import { bodiesOverloaded, bodyIncomplete, bodyNotUtf8, bodyTooLarge, bodyTooManyChunks } from "../errors.ts";
import { bodyTooSlow, Refusal } from "../errors.ts";
import { withTimeout } from "../timeout.ts";
import type { Asked, BodyBudget, BodyLimit, Context } from "./context.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The body as text. Its bytes count against the budget until the request is answered. */
export async function readText(asked: Asked, context: Context): Promise<string> {
  const bytes = await readBytes(asked, context);
  asked.isBodyRead = true;
  try {
    return utf8.decode(bytes);
  } catch {
    throw bodyNotUtf8();
  }
}

const discardTime = 1_000; // ms for a body that nobody wants
const mostDiscarded = 1_048_576; // bytes of it

/**
 * Takes in and drops what a refused client is still sending, if that is not much, so that its connection can serve the next
 * request. Gives false if something of the body is left: then the connection must be closed.
 */
export async function discardBody({ request, isBodyRead }: Asked, context: Context): Promise<boolean> {
  if (isBodyRead || request.method === "GET" || request.method === "HEAD") return true;
  const { bodyLimit } = context;
  const limit = { bytes: Math.min(bodyLimit.bytes, mostDiscarded), time: Math.min(bodyLimit.time, discardTime) };
  if (request.bodyUsed || Number(request.headers.get("Content-Length")) > limit.bytes) return false;
  try {
    await whileUnread(request, context, async () => {
      if (isSmall(request)) await within(limit.time, request.arrayBuffer());
      else if (request.body !== null) await readStream(request.body, limit, () => {});
    });
    return true;
  } catch {
    return false;
  }
}

/**
 * Does something while a request's body is not read, or not kept. A runtime may hold what it has received of it, so that too
 * many at once are refused.
 */
export async function whileUnread<T>(request: Request, { bodyLimit, unreadBodies }: Context, work: () => Promise<T>) {
  const bytes = Number(request.headers.get("Content-Length") ?? bodyLimit.bytes);
  if (unreadBodies.used + bytes > unreadBodies.most) throw bodiesOverloaded();
  unreadBodies.used += bytes;
  try {
    return await work();
  } finally {
    unreadBodies.used -= bytes;
  }
}

function isSmall({ headers }: Request): boolean {
  const declared = headers.get("Content-Length");
  return declared !== null && Number(declared) <= mostAtOnce;
}

// Up to here a body is read at once, which costs a fraction of what a stream does. How it comes is up to the client, and
// some runtimes keep an object for each piece.
const mostAtOnce = 65_536; // bytes

async function readBytes(asked: Asked, { bodyLimit: limit, bodyBudget }: Context): Promise<Uint8Array> {
  const { request } = asked;
  if (request.bodyUsed) throw new Error(consumed);
  const declared = request.headers.get("Content-Length");
  if (Number(declared) > limit.bytes) throw bodyTooLarge(limit.bytes);
  const reserve = (bytes: number) => reserveBytes(asked, bodyBudget, bytes);
  if (isSmall(request)) {
    reserve(Number(declared));
    const bytes = new Uint8Array(await within(limit.time, request.arrayBuffer()));
    if (bytes.length > limit.bytes) throw bodyTooLarge(limit.bytes);
    return bytes;
  }
  // One buffer, so that the chunks can be collected at once: a chunk may cost a runtime kilobytes, whatever its size.
  const buffer = growingBuffer(limit.bytes, reserve);
  if (request.body !== null) await readStream(request.body, limit, buffer.append);
  return buffer.bytes();
}

const consumed = "The body was read before the request reached the service: mount it before body parsers";

function reserveBytes(asked: Asked, budget: BodyBudget, bytes: number): void {
  if (budget.used + bytes > budget.most) throw bodiesOverloaded();
  budget.used += bytes;
  asked.bodyBytes += bytes;
}

/** What is read, unless it takes too long. */
function within<T>(time: number, reading: Promise<T>): Promise<T> {
  const whole = reading.catch((error) => {
    throw error instanceof Refusal ? error : bodyIncomplete();
  });
  return withTimeout(time, whole, () => {
    throw bodyTooSlow(time / 1000);
  });
}

const firstCapacity = 16_384; // bytes
const freeChunks = 2_048;
const leastChunk = 64; // bytes on average beyond them

/** Hands a stream's chunks to `take`, which keeps them or drops them. */
function readStream(
  body: ReadableStream<Uint8Array>,
  limit: BodyLimit,
  take: (chunk: Uint8Array) => void,
): Promise<void> {
  const reader = body.getReader();
  let isOver = false;

  async function readAll(): Promise<void> {
    let length = 0;
    for (let chunks = 1;; chunks++) {
      const { done, value } = await reader.read();
      if (done || isOver) return;
      length += value.length;
      if (length > limit.bytes) throw bodyTooLarge(limit.bytes);
      if (chunks > freeChunks + length / leastChunk) throw bodyTooManyChunks();
      take(value);
    }
  }
  return within(limit.time, readAll()).finally(() => isOver = true);
}

/** A buffer that grows with what is put into it; `reserve` is called for every byte that it takes. */
function growingBuffer(most: number, reserve: (bytes: number) => void) {
  let buffer = new Uint8Array();
  let length = 0;
  return {
    append(chunk: Uint8Array): void {
      const needed = length + chunk.length;
      if (needed > buffer.length) {
        const capacity = Math.min(most, Math.max(firstCapacity, 2 * buffer.length, needed));
        reserve(capacity - buffer.length);
        const larger = new Uint8Array(capacity);
        larger.set(buffer.subarray(0, length));
        buffer = larger;
      }
      buffer.set(chunk, length);
      length = needed;
    },
    bytes: () => buffer.subarray(0, length),
  };
}
