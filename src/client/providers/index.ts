// The entry `promptledger/providers`: records calls from the responses of the providers' own clients.
export { recordAnthropic } from "./anthropic.ts";
export { recordGemini } from "./gemini.ts";
export { recordOpenAI } from "./openai.ts";
export type { Recorded, RecordedWith, RecordResponse } from "./record.ts";
export { tracePrompt } from "../trace.ts";
export type { TraceApi, TracedPrompt } from "../trace.ts";
