// Options of the telemetry integration and the middleware.
import type { CallOptions, Prompt } from "../prompt.ts";
import type { DiagnosisItem } from "../../schema/shapes.ts";
import type { TraceApi } from "../trace.ts";
import { createTag } from "./settings.ts";
import type { Tag } from "./settings.ts";

/** Record of a call, as it is queued. */
export type CallRecord = DiagnosisItem & { idempotencyKey: string };

/** Options for the records of calls. */
export type RecordOptions = CallOptions & {
  /** Prompt of calls whose arguments contain none. Default: they are not recorded. */
  prompt?: Pick<Prompt<object>, "deployId" | "reference" | "version"> | undefined;
  /** Receives each record when it is queued, before the mask. Feedback may name it by its `idempotencyKey`. */
  onRecord?: ((record: CallRecord) => void) | undefined;
  /** `trace` of `@opentelemetry/api`: adds the prompt of each call to the active span. */
  trace?: TraceApi | undefined;
};

/** Returns a function that creates tags for calls without a prompt. Each has its own session unless one is given. */
export const defaultTagOf = ({ prompt, ...callOptions }: RecordOptions) => (): Tag | undefined =>
  prompt && createTag(prompt, callOptions);
