// The telemetry integration for AI SDK 7.
import { beginCall, runCall } from "./call.ts";
import type { Ledger, OpenCall } from "./call.ts";
import { defaultTagOf } from "./options.ts";
import type { RecordOptions } from "./options.ts";
import { tagOf } from "./settings.ts";
import type { Tag } from "./settings.ts";

/** A run of generateText or streamText: the prompt of its next call, and the call in progress. */
type Run = { tag: Tag; call?: OpenCall };

type RunEvent = { callId?: string; providerOptions?: unknown };

/** Event of a model call. */
type CallEvent<T> = {
  callId: string;
  execute: () => PromiseLike<T>;
  provider?: string | undefined;
  modelId?: string | undefined;
  instructions?: unknown;
  messages?: unknown;
  recordInputs?: boolean | undefined;
  recordOutputs?: boolean | undefined;
};

/** Event of generateObject and streamObject, which have their own. */
type ObjectEvent = RunEvent & {
  provider?: string;
  modelId?: string;
  promptMessages?: unknown;
  objectText?: unknown;
  finishReason?: unknown;
  usage?: unknown;
  response?: unknown;
  recordInputs?: boolean | undefined;
  recordOutputs?: boolean | undefined;
};

/** A `Telemetry` of AI SDK 7. */
export type LedgerTelemetry = {
  onStart(event: RunEvent): void;
  onStepStart(event: RunEvent): void;
  executeLanguageModelCall<T>(event: CallEvent<T>): Promise<T>;
  onObjectStepStart(event: ObjectEvent): void;
  onObjectStepEnd(event: ObjectEvent): void;
  onAbort(event: RunEvent & { reason?: unknown }): void;
  onError(event: unknown): void;
  onEnd(event: RunEvent): void;
};

const maxRuns = 10_000; // still open; a stream that is not read to its end has no end event

/**
 * Creates an integration that records each model call with arguments from `forAiSdk` when it has ended, failed or was
 * aborted. A run with tools makes several calls; each is a record of the same session.
 *
 * @example
 * registerTelemetry(ledgerTelemetry(ledger));
 */
export const ledgerTelemetry = (ledger: Ledger, options: RecordOptions = {}): LedgerTelemetry => {
  const runs = new Map<string, Run>();
  const defaultTag = defaultTagOf(options);

  const leave = (callId: string | undefined, end?: (call: OpenCall) => void): void => {
    const call = runs.get(callId!)?.call;
    if (call) end?.(call);
    runs.delete(callId!);
  };

  return {
    onStart({ callId, providerOptions }) {
      const tag = tagOf(providerOptions) ?? defaultTag();
      if (!tag) return;
      if (runs.size >= maxRuns) runs.delete(runs.keys().next().value!);
      runs.set(callId!, { tag });
    },
    // `prepareStep` may select another prompt.
    onStepStart({ callId, providerOptions }) {
      const run = runs.get(callId!), tag = tagOf(providerOptions);
      if (run && tag) run.tag = tag;
    },
    executeLanguageModelCall({ callId, execute, instructions, messages, ...event }) {
      const run = runs.get(callId);
      if (!run) return Promise.resolve(execute());
      const system = [instructions ?? []].flat()
        .map((instruction) => typeof instruction === "string" ? { role: "system", content: instruction } : instruction);
      run.call = beginCall(ledger, run.tag, { ...event, input: [...system, ...(messages as object[] ?? [])] }, options);
      return runCall(run.call, execute);
    },
    onObjectStepStart({ callId, promptMessages, ...event }) {
      const run = runs.get(callId!);
      if (run) run.call = beginCall(ledger, run.tag, { ...event, input: promptMessages }, options);
    },
    onObjectStepEnd({ callId, objectText, finishReason, usage, response }) {
      const call = runs.get(callId!)?.call;
      call?.add({ ...Object(response) as object, type: "response-metadata" });
      call?.add({ type: "text", text: objectText ?? "" });
      call?.add({ type: "finish", finishReason, usage });
      call?.end();
    },
    onAbort: ({ callId, reason }) => leave(callId, (call) => call.abort(reason)),
    onError(event) {
      const { callId, error } = Object(event) as RunEvent & { error?: unknown };
      leave(callId, (call) => call.fail(error));
    },
    onEnd: ({ callId }) => leave(callId),
  };
};
