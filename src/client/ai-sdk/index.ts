// The entry `promptledger/ai-sdk`: prompts as arguments of the AI SDK, and records of the calls made with them.
export { ledgerMiddleware } from "./middleware.ts";
export type { LedgerMiddleware } from "./middleware.ts";
export type { Ledger } from "./call.ts";
export type { CallRecord, RecordOptions } from "./options.ts";
export { forAiSdk } from "./settings.ts";
export type { AiMessage, AiOptions, AiSettings, AnyPrompt } from "./settings.ts";
export { ledgerTelemetry } from "./telemetry.ts";
export type { LedgerTelemetry } from "./telemetry.ts";
export { tracePrompt } from "../trace.ts";
export type { TraceApi, TracedPrompt } from "../trace.ts";
