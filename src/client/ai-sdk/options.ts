// What the telemetry integration and the middleware are told.
import type { CallOptions, Prompt } from "../prompt.ts";
import type { DiagnosisItem } from "../shapes.ts";
import type { TraceApi } from "../trace.ts";
import { createTag } from "./settings.ts";
import type { Tag } from "./settings.ts";

/** The record of a call. */
export type CallRecord = DiagnosisItem & { idempotencyKey: string };

/** What calls are recorded under, and who is told. */
export type RecordOptions = CallOptions & {
  /** The prompt of calls whose arguments name none. Default: they are not recorded. */
  prompt?: Pick<Prompt<object>, "deployId" | "reference" | "version"> | undefined;
  /** Gets each record when it is queued, before the mask. Feedback may name it by its `idempotencyKey`. */
  onRecord?: ((record: CallRecord) => void) | undefined;
  /** `trace` of `@opentelemetry/api`: the active span of each call says which prompt it uses. */
  trace?: TraceApi | undefined;
};

/** Makes what calls are recorded under whose arguments name no prompt. Each has a session of its own unless one is given. */
export const defaultTagOf = ({ prompt, ...callOptions }: RecordOptions) => (): Tag | undefined =>
  prompt && createTag(prompt, callOptions);
