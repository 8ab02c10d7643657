// Sends exports: few at once, as they are made. The log tells why one breaks off.
import { exportsOverloaded, Refusal } from "../common/errors.ts";
import { describeError } from "../common/log.ts";
import type { Export } from "../management/export.ts";
import type { Context, RequestContext } from "./context.ts";
import { streamed } from "./respond.ts";
import type { Answer, HeaderValues } from "./respond.ts";

/** The exports that a service sends. */
export type Exports = {
  /** Answers with an export as a file to keep. Throws if too many are being sent. `ended` is called when it has been sent. */
  send(exported: Export, headers: HeaderValues, ctx: RequestContext, context: Context, ended?: () => void): Answer;
};

const maxExports = 4; // at once: each holds a page of records, however slowly its client reads

export function createExports(): Exports {
  let count = 0;
  return {
    send({ name, format, text }, headers, ctx, context, ended = () => {}) {
      if (count >= maxExports) throw exportsOverloaded();
      count++;
      const disposition = `attachment; filename="${name}.${format}"`;
      return streamed(logStreamErrors(text, ctx, context), { ...headers, "Content-Disposition": disposition }, () => {
        count--;
        ended();
      });
    },
  };
}

/** Logs why a stream fails. The client only sees that the response breaks off. */
export async function* logStreamErrors(
  text: AsyncGenerator<string>,
  { requestId }: RequestContext,
  { log }: Context,
): AsyncGenerator<string> {
  try {
    yield* text;
  } catch (error) {
    if (!isClientGone(error)) log.error("Response broke off", { requestId, cause: describeError(error) });
    throw error;
  }
}

const isClientGone = (error: unknown) => error instanceof Refusal && error.kind === "client_gone";
