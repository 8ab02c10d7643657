// Bodies that are sent in parts, as fast as the client takes them: no more than a part is held at a time.
import type { InFlight } from "./in-flight.ts";

const encoder = new TextEncoder();
/** How large an answer may be that is handed over as a whole. */
export const mostAtOnce = 65_536; // characters, or bytes

/** What sending takes: `stallTimeout` is how long a client may take nothing, in ms. */
export type Sending = { inFlight: InFlight; stallTimeout: number };

/** Bytes in slices, none of which is a copy. */
export async function* partsOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += mostAtOnce) yield bytes.subarray(at, at + mostAtOnce);
}

/**
 * A body that takes a while to go out. It is in flight until it has gone out, or its client has taken nothing for too long;
 * then `ended` is called.
 */
export function toStream(
  parts: AsyncGenerator<string | Uint8Array>,
  { inFlight, stallTimeout }: Sending,
  ended = () => {},
): ReadableStream<Uint8Array> {
  const leave = inFlight.begin();
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
      controller.error(new Error(`The client took nothing for ${stallTimeout / 1000} s`));
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
