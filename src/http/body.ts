// Reads request bodies as UTF-8, bounded in bytes, chunks and time. All bodies of a service share one budget, in which
// no workspace can shut out another. The rest of a body is never cancelled before the response is sent: cancelling may
// never settle (a cloned Request), may reset the connection before the response, or may throw inside the host's
// adapter.
import {
  bodiesOverloaded,
  bodyEncoded,
  bodyIncomplete,
  bodyNotUtf8,
  bodyTooLarge,
  bodyTooManyChunks,
} from "../common/errors.ts";
import { bodyTooSlow, Refusal } from "../common/errors.ts";
import { withTimeout } from "../common/timeout.ts";
import type { BodyLimit, Context, RequestContext } from "./context.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

const bodyOverhead = 4_096; // bytes counted for each request on top of its body: many empty bodies cost memory too

/**
 * The body as text. Its bytes count against the budget until the request is answered. `owner` is the workspace, or
 * another name, that the request was authenticated for.
 */
export async function readText(ctx: RequestContext, { bodyLimit, bodies }: Context, owner: string): Promise<string> {
  const reserve = (bytes: number) => {
    if (!bodies.take(owner, bytes, ctx.bodyBytes)) throw bodiesOverloaded();
    ctx.bodyOwner = owner;
    ctx.bodyBytes += bytes;
  };
  reserve(bodyOverhead);
  return await readBounded(ctx, bodyLimit, reserve);
}

/** The body as text. Calls `reserve` with the number of bytes before it holds them. */
export async function readBounded(
  ctx: RequestContext,
  limit: BodyLimit,
  reserve: (bytes: number) => void,
): Promise<string> {
  const bytes = await readBytes(ctx, limit, reserve);
  ctx.isBodyRead = true;
  try {
    return utf8.decode(bytes);
  } catch {
    // A host may have decoded the body and left the header. Compressed data is never UTF-8.
    const encoding = ctx.request.headers.get("Content-Encoding") ?? "";
    throw /^(identity)?$/i.test(encoding) ? bodyNotUtf8() : bodyEncoded();
  }
}

// A body up to this size is read at once, at a fraction of the cost of a stream. The client decides how a larger body
// is cut into chunks, and some runtimes keep an object for each chunk.
const maxReadAtOnce = 65_536; // bytes

async function readBytes(
  ctx: RequestContext,
  limit: BodyLimit,
  reserve: (bytes: number) => void,
): Promise<Uint8Array> {
  const { request } = ctx;
  const declared = declaredLength(request);
  if (declared !== undefined && declared > limit.bytes) throw bodyTooLarge(limit.bytes);
  const bytes = await orConsumed(request, async () => {
    if (isSmall(request)) {
      reserve(declared!);
      return new Uint8Array(await within(limit.time, request.arrayBuffer()));
    }
    // One buffer lets the chunks be collected at once: a chunk may cost a runtime kilobytes, whatever its size.
    const buffer = growingBuffer(limit.bytes, reserve);
    await readStream(ctx, limit, buffer.append);
    return buffer.bytes();
  });
  if (bytes.length > limit.bytes) throw bodyTooLarge(limit.bytes);
  return bytes;
}

/** The length that the client declares; undefined if the header is missing or malformed. */
function declaredLength({ headers }: Request): number | undefined {
  const header = headers.get("Content-Length");
  return header !== null && /^\d+$/.test(header) ? Number(header) : undefined;
}

const isSmall = (request: Request): boolean => (declaredLength(request) ?? Infinity) <= maxReadAtOnce;

/**
 * Reads a body, and throws if something else has read it before. That shows in one of three ways, none of which a
 * client can cause: `bodyUsed` is true, reading throws a TypeError although the client is connected, or the body is
 * empty although it declares a length.
 */
async function orConsumed(request: Request, read: () => Promise<Uint8Array>): Promise<Uint8Array> {
  if (request.bodyUsed) throw new Error(consumed);
  try {
    const bytes = await read();
    if (bytes.length === 0 && (declaredLength(request) ?? 0) > 0) throw new Error(consumed);
    return bytes;
  } catch (error) {
    if (error instanceof TypeError) {
      if (request.signal.aborted) throw bodyIncomplete();
      // An adapter that detects the cause sets another name on the error.
      throw error.name === "TypeError" ? new Error(consumed, { cause: error }) : error;
    }
    throw error;
  }
}

const consumed = "The body was read before the request reached the service. Mount the service before body parsers";

/** Bounds the time of a read. Every failure except a TypeError is caused by the client. */
function within<T>(time: number, reading: Promise<T>): Promise<T> {
  const whole = reading.catch((error) => {
    throw error instanceof Refusal || error instanceof TypeError ? error : bodyIncomplete();
  });
  return withTimeout(time, whole, () => {
    throw bodyTooSlow(time / 1000);
  });
}

const freeChunks = 2_048;
const minChunk = 64; // bytes on average after them
const chunksAtOnce = 128; // then other requests run: Deno needs up to 50 us per chunk, and never yields between chunks

/** Passes a stream's chunks to `take`, or drops them. The rest can be read later. */
function readStream(ctx: RequestContext, limit: BodyLimit, take?: (chunk: Uint8Array) => void): Promise<void> {
  const { body } = ctx.request;
  if (body === null) return Promise.resolve();
  const reader = ctx.bodyReader ??= body.getReader();
  let isOver = false;

  async function readAll(): Promise<void> {
    let length = 0;
    for (let chunks = 1;; chunks++) {
      const { done, value } = await reader.read();
      if (done || isOver) return;
      length += value.length;
      if (length > limit.bytes) throw bodyTooLarge(limit.bytes);
      if (chunks > freeChunks + length / minChunk) throw bodyTooManyChunks();
      take?.(value);
      if (chunks % chunksAtOnce === 0) await new Promise((resolve) => setTimeout(resolve));
    }
  }
  return within(limit.time, readAll()).finally(() => isOver = true);
}

const firstCapacity = 16_384; // bytes

/** A buffer that grows as needed. It calls `reserve` with the number of bytes before it allocates them. */
function growingBuffer(max: number, reserve: (bytes: number) => void) {
  let buffer = new Uint8Array();
  let length = 0;
  return {
    append(chunk: Uint8Array): void {
      const needed = length + chunk.length;
      if (needed > buffer.length) {
        const capacity = Math.min(max, Math.max(firstCapacity, 2 * buffer.length, needed));
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

const mayHaveBody = ({ method }: Request): boolean => method !== "GET" && method !== "HEAD";

const maxUnread = 16 * 1024 * 1024; // bytes: a runtime buffers no more of a body than it declares
const assumedLength = 12_288; // bytes that a runtime usually buffers of a body of unknown length
const leastFree = 8; // times a body's bytes

/**
 * Runs `work` while the request's body is unread. The runtime may buffer what it has received of it, so too many such
 * requests at once are refused: the less is free, the smaller a body must be. Large bodies that are only announced do
 * not keep out a small one whose sender is not known yet. A lone body may have any size.
 */
export async function whileUnread<T>({ request }: RequestContext, { unread }: Context, work: () => Promise<T>) {
  if (!mayHaveBody(request)) return await work();
  const bytes = declaredLength(request) ?? assumedLength, { bytes: used } = unread;
  if (used > 0 && bytes > (maxUnread - used) / leastFree) throw bodiesOverloaded();
  unread.bytes += bytes;
  try {
    return await work();
  } finally {
    unread.bytes -= bytes;
  }
}

const maxDiscarded = 8 * 1024 * 1024; // bytes of a body
const maxDiscards = 8; // at once: dropped bytes wait for garbage collection, up to 1 MiB for each body on Bun and Deno

/**
 * Reads and drops what a refused client is still sending, if that is not too much. Many clients miss a response that
 * arrives while they send if the connection then closes. Returns false if a part of the body is left.
 */
export async function discardBody(ctx: RequestContext, context: Context): Promise<boolean> {
  const { request, isBodyRead, bodyReader } = ctx;
  if (isBodyRead || !mayHaveBody(request)) return true;
  if (context.discards.count >= maxDiscards || (declaredLength(request) ?? 0) > maxDiscarded) return false;
  // Deno never closes a connection after `bodyUsed` was read, so this check comes last.
  if (request.bodyUsed && bodyReader === undefined) return false;
  const time = Math.min(context.bodyLimit.time, context.discards.time);
  context.discards.count++;
  try {
    if (isSmall(request) && bodyReader === undefined) await within(time, request.arrayBuffer());
    else await readStream(ctx, { bytes: maxDiscarded, time });
    return true;
  } catch {
    return false;
  } finally {
    context.discards.count--;
  }
}

const cancelDelay = 1_000; // ms for the response to be sent

/** Cancels the rest of a body long after its response. While a reader is open, Deno accepts trailers without limit. */
export function cancelLater({ bodyReader }: RequestContext): void {
  if (bodyReader !== undefined) setTimeout(() => void bodyReader.cancel().catch(() => {}), cancelDelay);
}
