// What an application's traces show of the prompt that a call was made with.
import type { Prompt } from "./prompt.ts";

/** The part of `trace` of `@opentelemetry/api` that is used here. The application passes it in. */
export type TraceApi = {
  getActiveSpan(): { setAttributes(attributes: Record<string, string>): unknown } | undefined;
};

/** What a trace shows of a prompt. */
export type TracedPrompt = Pick<Prompt, "reference" | "version">;

/**
 * Sets `gen_ai.prompt.name` and `gen_ai.prompt.version` on the active span, if there is one. A fallback without a version has
 * none. Never throws.
 *
 * @example
 * import { trace } from "@opentelemetry/api";
 * tracePrompt(trace, await ledger.prompt("support/assistant@production"));
 */
export const tracePrompt = (trace: TraceApi | undefined, { reference, version }: TracedPrompt): void => {
  try {
    trace?.getActiveSpan()?.setAttributes({
      "gen_ai.prompt.name": reference.replace(/@.*/, ""),
      ...(version && { "gen_ai.prompt.version": String(version) }),
    });
  } catch {
    // A span must not cost the application its call.
  }
};
