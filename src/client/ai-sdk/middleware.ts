// The middleware for AI SDK 5 and 6, which works with 7 too.
import { beginCall, runCall } from "./call.ts";
import type { Ledger, OpenCall } from "./call.ts";
import { tagOf } from "./settings.ts";
import { defaultTagOf } from "./options.ts";
import type { RecordOptions } from "./options.ts";

/** Arguments of a middleware for a call, in any version of the specification. */
type Given<T> = {
  model: { provider: string; modelId: string };
  params: { prompt: unknown; providerOptions?: unknown; abortSignal?: AbortSignal | undefined };
  doGenerate: () => PromiseLike<T>;
};
type GivenStream<T> = Omit<Given<unknown>, "doGenerate"> & { doStream: () => PromiseLike<T> };

/** A middleware of versions 2 to 4 of the language model specification. */
export type LedgerMiddleware = {
  specificationVersion: "v3";
  wrapGenerate<T>(given: Given<T>): Promise<T>;
  wrapStream<T>(given: GivenStream<T>): Promise<T>;
};

/**
 * Creates a middleware that records each model call with arguments from `forAiSdk` when it has ended, failed or was
 * aborted.
 *
 * @example
 * const model = wrapLanguageModel({ model: openai("gpt-6-luna"), middleware: ledgerMiddleware(ledger) });
 */
export const ledgerMiddleware = (ledger: Ledger, options: RecordOptions = {}): LedgerMiddleware => {
  const defaultTag = defaultTagOf(options);
  const run = <T>({ model, params }: Omit<Given<T>, "doGenerate">, execute: () => PromiseLike<T>): Promise<T> => {
    const tag = tagOf(params.providerOptions) ?? defaultTag();
    if (!tag) return Promise.resolve(execute());
    const { provider, modelId } = model;
    const call = beginCall(ledger, tag, { input: params.prompt, provider, modelId }, options);
    return runCall(abortedBy(params.abortSignal, call), execute);
  };
  return {
    specificationVersion: "v3",
    wrapGenerate: (given) => run(given, given.doGenerate),
    wrapStream: (given) => run(given, given.doStream),
  };
};

/** Aborts a call by a signal, as the AI SDK may not read the stream any further then. */
const abortedBy = (signal: AbortSignal | undefined, call: OpenCall): OpenCall => {
  if (!signal) return call;
  const stop = () => call.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const ended = <Given extends unknown[]>(end: (...given: Given) => void) => (...given: Given) => {
    signal.removeEventListener("abort", stop);
    end(...given);
  };
  return { add: call.add, end: ended(call.end), fail: ended(call.fail), abort: ended(call.abort) };
};
