// Responses to management that takes long. They may begin before their output is ready, exports are streamed, and nothing more
// is read once the client has gone.
import { exportsOverloaded, Refusal } from "../common/errors.ts";
import { stringify } from "../common/json-text.ts";
import { describeError } from "../common/log.ts";
import { withTimeout } from "../common/timeout.ts";
import type { Export, ExportFormat } from "../management/export.ts";
import { perform } from "../management/operation.ts";
import type { AnyOperation, Caller, Store } from "../management/operation.ts";
import { exportDiagnoses } from "../management/records.ts";
import type { Unchecked } from "../schema/parse.ts";
import type { Context, RequestContext } from "./context.ts";
import { untilGone } from "./long-work.ts";
import type { LongWork } from "./long-work.ts";
import { ok, streamed } from "./respond.ts";
import type { Answer } from "./respond.ts";

/** Answers an operation that takes long. */
export type LongAnswer = (
  operation: AnyOperation,
  input: Unchecked,
  caller: Caller,
  ctx: RequestContext,
  context: Context,
) => Promise<Answer>;

const maxExports = 4; // at once: each holds a page of records, however slowly its client reads

/**
 * Makes the function for a service. When an output is not ready in `quietMs`, the response begins without it: its JSON comes
 * after spaces, which keep the connection open.
 */
export function createLongAnswer(store: Store, longWork: LongWork, quietMs: number): LongAnswer {
  let exports = 0;

  function answerExport({ format, text }: Export, ctx: RequestContext, context: Context, leave: () => void): Answer {
    if (exports >= maxExports) throw exportsOverloaded();
    exports++;
    return streamed(logStreamErrors(text, ctx, context), exportHeaders[format], () => {
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
    // An export is no JSON, and its own text begins soon.
    const isText = operation.id === exportDiagnoses.id;
    const found = isText ? await output : await withTimeout(quietMs, output, () => notReady);
    if (found === notReady) {
      const text = logStreamErrors(afterSpaces(output, quietMs), ctx, context);
      return streamed(text, { "Content-Type": "application/json" }, leave);
    }
    return isExport(found) ? answerExport(found, ctx, context, leave) : ok(found, {});
  };
}

const notReady = Symbol("not ready");

/** The JSON of an output, after a space at once and one each time that so many ms have passed. */
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

const isExport = (output: unknown): output is Export =>
  typeof output === "object" && output !== null && "format" in output && "text" in output;

const exportHeaders: Record<ExportFormat, Record<string, string>> = {
  ndjson: {
    "Content-Type": "application/x-ndjson",
    "Content-Disposition": 'attachment; filename="diagnoses.ndjson"',
  },
  csv: {
    "Content-Type": "text/csv; charset=utf-8; header=present",
    "Content-Disposition": 'attachment; filename="diagnoses.csv"',
  },
};
