// Reads bodies before their sender is known, as a sign-in form requires. They are small, must arrive soon, and have a
// separate budget: they never use that of known senders.
import { bodiesOverloaded } from "../../common/errors.ts";
import { readBounded } from "../../http/body.ts";
import type { BodyLimit, RequestContext } from "../../http/context.ts";

/** Reads a body as text. Throws as `readText` does. */
export type ReadUnknown = (ctx: RequestContext) => Promise<string>;

const defaultLimit: BodyLimit = { bytes: 4_096, time: 5_000 };
const maxBodies = 256; // at once: 1 MiB in all

/**
 * Makes the function for a service. If too many bodies are arriving, the one that has taken longest is refused: a form
 * arrives at once, while bodies sent to keep others out have to stay.
 */
export function createReadUnknown(limit = defaultLimit): ReadUnknown {
  const arriving = new Set<() => void>();
  return async (ctx) => {
    let giveWay = () => {};
    const refused = new Promise<never>((_, reject) => {
      giveWay = () => {
        arriving.delete(giveWay);
        reject(bodiesOverloaded());
      };
    });
    const [longest] = arriving;
    if (arriving.size >= maxBodies) longest?.();
    arriving.add(giveWay);
    try {
      return await Promise.race([readBounded(ctx, limit, () => {}), refused]);
    } finally {
      arriving.delete(giveWay);
    }
  };
}
