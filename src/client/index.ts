// The entry `promptledger/client`, and the package `promptledger-client`: the application's side of the service.
import { createClientOn } from "./client.ts";
import type { Client } from "./client.ts";
import type { ClientOptions } from "./options.ts";
import type { NeedsDefaults, PromptDefaults } from "./prompt.ts";
import { hostRuntime } from "./runtime.ts";

export type { Client, ClientStats } from "./client.ts";
export {
  AuthenticationError,
  InvalidRequestError,
  MissingVariablesError,
  NotFoundError,
  PromptLedgerError,
  QuotaExceededError,
  UnavailableError,
} from "./errors.ts";
export type { ErrorFacts } from "./errors.ts";
export type { ClientEvents } from "./events.ts";
export type { FeedbackTokenOptions, GivenFeedback } from "./feedback.ts";
export type { FillOptions, MessageLists, Values } from "./fill.ts";
export type { ClientOptions } from "./options.ts";
export type {
  CallOptions,
  Fallback,
  KnownPrompt,
  ModelCall,
  Outcome,
  Prompt,
  PromptDefaults,
  PromptSource,
  TypedPrompt,
} from "./prompt.ts";
export type { PromptOptions } from "./prompts.ts";
export type { Held, Totals } from "./queue.ts";
export type { Mask } from "./record.ts";
export type { DiagnosisItem, Message } from "../schema/shapes.ts";
export type { SnapshotStore } from "./snapshot.ts";

/**
 * Creates a client. It opens and starts nothing before the first prompt or record. Throws if an option is invalid. If
 * `Known` has variables that need no value, the option `prompts` is required: the constant of the same module.
 *
 * @example
 * const ledger = createClient({ url: "http://127.0.0.1:8787", apiKey: "pl_…" });
 * const prompt = await ledger.prompt("support/assistant@production");
 * const messages = prompt.fill({ shop: "Acme" });
 */
export const createClient = <Known = unknown>(
  ...[options = {}]: NeedsDefaults<Known> extends true ? [options: ClientOptions & { prompts: PromptDefaults }]
    : [options?: ClientOptions]
): Client<Known> => createClientOn(hostRuntime, options) as Client<Known>;
