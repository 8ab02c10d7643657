// Responses of long management work. They may start before their output is ready, exports are streamed, and nothing
// more is read once the client has disconnected.
import { stringify } from "../common/json-text.ts";
import { withTimeout } from "../common/timeout.ts";
import { mediaTypes } from "../management/kernel/export.ts";
import type { Export } from "../management/kernel/export.ts";
import { ownerOf, perform } from "../management/kernel/operation.ts";
import type { AnyOperation, Caller } from "../management/kernel/operation.ts";
import type { Unchecked } from "../schema/parse.ts";
import type { Context, RequestContext } from "../http/context.ts";
import { logStreamErrors } from "./exports.ts";
import { untilGone } from "./long-work.ts";
import type { ManagementAccess } from "./management-access.ts";
import { ok, streamed } from "../http/respond.ts";
import type { Answer, HeaderValues } from "../http/respond.ts";

/** Runs a long operation and answers with its output. */
export type LongAnswer = (
  operation: AnyOperation,
  input: Unchecked,
  caller: Caller,
  ctx: RequestContext,
  context: Context,
) => Promise<Answer>;

/**
 * Makes the function for a service. If an output is not ready in `quietMs`, the response starts with spaces, which keep
 * the connection open until the JSON follows.
 */
export function createLongAnswer({ longStore, longWork, sendExport }: ManagementAccess, quietMs: number): LongAnswer {
  return async (operation, input, caller, ctx, context) => {
    let hasLeft = false;
    const leave = () => void (hasLeft = true);
    const database = untilGone(longStore.database, () => hasLeft || ctx.request.signal.aborted);
    const run = async () => {
      const end = await longWork.enter(ownerOf(caller));
      return await perform(operation, { ...longStore, database, caller }, input).finally(end);
    };
    const output = run();
    // An export is not JSON, and its text starts soon.
    const found = operation.answers === "export" ? await output : await withTimeout(quietMs, output, () => notReady);
    if (found === notReady) {
      const text = logStreamErrors(afterSpaces(output, quietMs), ctx, context);
      return streamed(text, { ...unbuffered(), "Content-Type": "application/json" }, leave);
    }
    if (operation.answers !== "export") return ok(found, {});
    const exported = found as Export, type = mediaTypes[exported.format] + (parameters[exported.format] ?? "");
    return sendExport(exported, { "Content-Type": type }, ownerOf(caller), ctx, context, leave);
  };
}

/**
 * The header of a response that starts before its content is ready. nginx would keep its parts until it is complete.
 */
export const unbuffered = (): HeaderValues => ({ "X-Accel-Buffering": "no" });

/** Placeholder for an output not yet ready. */
export const notReady = Symbol("not ready");

/** Yields spaces, one every `ms` until the output is ready, and then its JSON. */
export async function* afterSpaces(output: Promise<unknown>, ms: number): AsyncGenerator<string> {
  let found: unknown = notReady;
  for (; found === notReady; found = await withTimeout(ms, output, () => notReady)) yield " ";
  yield stringify(found);
}

/** Parameters of the media types of exports. */
const parameters: Partial<Record<Export["format"], string>> = { csv: "; charset=utf-8; header=present" };
