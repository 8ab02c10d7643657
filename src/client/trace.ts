// Adds the prompt of a call to the application's traces.
import type { Prompt } from "./prompt.ts";

/** The part of `trace` of `@opentelemetry/api` that is used here. The application passes it in. */
export type TraceApi = {
  getActiveSpan(): { setAttributes(attributes: Record<string, string>): unknown } | undefined;
};

/** Fields of a prompt that a trace shows. */
export type TracedPrompt = Pick<Prompt, "reference" | "version">;

/**
 * Sets `gen_ai.prompt.name` and `gen_ai.prompt.version` on the active span, if any. Omits the version of a fallback
 * without one. Never throws.
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
    // A failing span must not fail the application's call.
  }
};
