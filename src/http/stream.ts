// Streams bodies in parts, as fast as the client reads them. Only one part is held at a time.
import type { InFlight } from "./in-flight.ts";

const encoder = new TextEncoder();
/** The largest response that is sent as a whole. */
export const maxSentAtOnce = 65_536; // characters, or bytes

/** Dependencies of sending. `stallTimeout` is the maximum pause of a client, in ms. */
export type Sending = { inFlight: InFlight; stallTimeout: number };

/** Slices bytes without copying them. */
export async function* partsOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += maxSentAtOnce) yield bytes.subarray(at, at + maxSentAtOnce);
}

/**
 * Streams a body. It is in flight until it has been sent, or its client has read nothing for too long. Then `ended` is
 * called.
 */
export function toStream(
  parts: AsyncGenerator<string | Uint8Array>,
  { inFlight, stallTimeout }: Sending,
  ended = () => {},
): ReadableStream<Uint8Array> {
  const leave = inFlight.begin(true);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;

  function end(): void {
    clearTimeout(timer);
    if (isOver) return;
    isOver = true;
    leave();
    ended();
  }

  function expectPull(controller: ReadableStreamDefaultController<Uint8Array>): void {
    timer = setTimeout(() => {
      end();
      controller.error(new Error(`The client read nothing for ${stallTimeout / 1000} s`));
      void parts.return(undefined);
    }, stallTimeout);
  }

  return new ReadableStream({
    start: expectPull,
    async pull(controller) {
      clearTimeout(timer);
      try {
        const { done, value } = await parts.next();
        if (isOver) return;
        if (done) {
          end();
          controller.close();
        } else {
          controller.enqueue(typeof value === "string" ? encoder.encode(value) : value);
          expectPull(controller);
        }
      } catch (error) {
        end();
        throw error;
      }
    },
    async cancel() {
      end();
      await parts.return(undefined);
    },
  }, { highWaterMark: 0 });
}
