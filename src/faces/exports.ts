// Sends exports: few at once, as they are made. The log tells why one breaks off.
import { bounds } from "../support/bounds.ts";
import { exportsOverloaded, Refusal } from "../common/errors.ts";
import { describeError } from "../common/log.ts";
import { createShares } from "../common/shares.ts";
import type { Export } from "../management/kernel/export.ts";
import type { Context, RequestContext } from "../http/context.ts";
import { streamed } from "../http/respond.ts";
import type { Answer, HeaderValues } from "../http/respond.ts";

/**
 * Answers with an export of this owner as a file to keep. Throws if too many are being sent. Calls `ended` when sending
 * has ended.
 */
export type SendExport = (
  exported: Export,
  headers: HeaderValues,
  owner: string,
  ctx: RequestContext,
  context: Context,
  ended?: () => void,
) => Answer;

// Of which one owner gets half: each holds a page of records, however slow its reader.
const maxExports = bounds.exports;

export function createExports(): SendExport {
  const running = createShares(maxExports);
  return ({ name, format, text }, headers, owner, ctx, context, ended = () => {}) => {
    if (!running.take(owner, 1)) throw exportsOverloaded();
    // promptfoo reads a file by its extension.
    const extension = format === "promptfoo" ? "jsonl" : format;
    const disposition = `attachment; filename="${name}.${extension}"`;
    return streamed(logStreamErrors(text, ctx, context), { ...headers, "Content-Disposition": disposition }, () => {
      running.giveBack(owner, 1);
      ended();
    });
  };
}

/** Logs why a stream fails. The client only sees the response break off. */
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
