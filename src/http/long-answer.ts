// Responses of long management work. They may start before their output is ready, exports are streamed, and nothing more is
// read once the client has disconnected.
import { exportsOverloaded, Refusal } from "../common/errors.ts";
import { stringify } from "../common/json-text.ts";
import { describeError } from "../common/log.ts";
import { withTimeout } from "../common/timeout.ts";
import type { Slots } from "../common/slots.ts";
import { ExportText, isExport } from "../management/export.ts";
import type { Export, ExportFormat } from "../management/export.ts";
import { perform } from "../management/operation.ts";
import type { AnyOperation, Caller, Store } from "../management/operation.ts";
import type { Unchecked } from "../schema/parse.ts";
import type { Context, RequestContext } from "./context.ts";
import { untilGone } from "./long-work.ts";
import { ok, streamed } from "./respond.ts";
import type { Answer } from "./respond.ts";

/** Runs a long operation and answers with its output. */
export type LongAnswer = (
  operation: AnyOperation,
  input: Unchecked,
  caller: Caller,
  ctx: RequestContext,
  context: Context,
) => Promise<Answer>;

const maxExports = 4; // at once: each holds a page of records, however slowly its client reads

/**
 * Makes the function for a service. If an output is not ready in `quietMs`, the response starts with spaces, which keep the
 * connection open until the JSON follows.
 */
export function createLongAnswer(store: Store, longWork: Slots, quietMs: number): LongAnswer {
  let exports = 0;

  function answerExport(
    { name, format, text }: Export,
    ctx: RequestContext,
    context: Context,
    leave: () => void,
  ): Answer {
    if (exports >= maxExports) throw exportsOverloaded();
    exports++;
    const headers = {
      "Content-Type": mediaTypes[format],
      "Content-Disposition": `attachment; filename="${name}.${format}"`,
    };
    return streamed(logStreamErrors(text, ctx, context), headers, () => {
      exports--;
      leave();
    });
  }

  return async (operation, input, caller, ctx, context) => {
    let hasLeft = false;
    const leave = () => void (hasLeft = true);
    const database = untilGone(store.database, () => hasLeft || ctx.request.signal.aborted);
    const run = async () => {
      const end = await longWork.enter();
      return await perform(operation, { ...store, database, caller }, input).finally(end);
    };
    const output = run();
    // An export is not JSON, and its text starts soon.
    const found = operation.output === ExportText ? await output : await withTimeout(quietMs, output, () => notReady);
    if (found === notReady) {
      const text = logStreamErrors(afterSpaces(output, quietMs), ctx, context);
      return streamed(text, { "Content-Type": "application/json" }, leave);
    }
    return isExport(found) ? answerExport(found, ctx, context, leave) : ok(found, {});
  };
}

const notReady = Symbol("not ready");

/** A space, another one every `ms` until the output is ready, and then its JSON. */
async function* afterSpaces(output: Promise<unknown>, ms: number): AsyncGenerator<string> {
  let found: unknown = notReady;
  for (; found === notReady; found = await withTimeout(ms, output, () => notReady)) yield " ";
  yield stringify(found);
}

/** Logs why a stream fails. The client only sees that the response breaks off. */
async function* logStreamErrors(
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

const mediaTypes: Record<ExportFormat, string> = {
  ndjson: "application/x-ndjson",
  csv: "text/csv; charset=utf-8; header=present",
};
