// A prompt for the application: its content, its variables filled in, and the record of a call made with it.
import { fillMessages, own } from "./fill.ts";
import type { FillOptions, MessageLists, Value, Values } from "./fill.ts";
import type { FeedbackTokenOptions, GivenFeedback, Target } from "./feedback.ts";
import { contentOf } from "./record.ts";
import type { DiagnosisItem, Message, ServedPrompt, ServedRollout } from "../schema/shapes.ts";
import { newUuid } from "./uuid.ts";

/** Origin of a prompt's content. */
export type PromptSource = "server" | "cache" | "stale" | "snapshot" | "fallback";

/** The application's own content, the last resort. It has the `llmConfig` that the prompt's type promises. */
export type Fallback<Config = Record<string, unknown>> =
  & {
    messages: readonly Message[];
    title?: string;
    description?: string;
    /** Version of the prompt that this is a copy of. Its records count for that version. */
    version?: number;
  }
  & (Nothing extends Config ? { llmConfig?: Config } : { llmConfig: Config });

/** Compile-time description of a prompt, written by `promptledger types`. */
export type KnownPrompt = {
  /** Variable names, as a union. */
  variables: string;
  /** Names of variables that are the whole content of a message, which a list of messages may replace. */
  lists: string;
  /** Types of the variables that declare one. Messages are a list, which only `lists` of `fill` takes. */
  types?: object;
  /** Names of the variables that need no value. */
  optional?: string;
  llmConfig: object;
};

/** Run-time constant written by `promptledger types`: defaults of variables that need no value, by reference. */
export type PromptDefaults = Readonly<Record<string, { readonly optional: Defaults }>>;
export type Defaults = Readonly<Record<string, "" | readonly []>>;

type TypesOf<Known> = Known extends { types: infer Types } ? Types : unknown;
type OptionalOf<Known> = Known extends { optional: infer Names } ? Names : never;
/** True if any of the prompts has variables that need no value, whose defaults exist only at run time. */
export type NeedsDefaults<Known> = unknown extends Known ? false
  : [{ [Reference in keyof Known]: OptionalOf<Known[Reference]> }[keyof Known]] extends [never] ? false
  : true;
type MessagesOf<Known, Types = TypesOf<Known>> = {
  [Name in keyof Types]: Types[Name] extends readonly object[] ? Name : never;
}[keyof Types];
type ValueOf<Known, Name> = Name extends keyof TypesOf<Known> ? TypesOf<Known>[Name] : Value;

/** Values of variables. The `Optional` ones may be left out. */
type ValuesOf<Known extends KnownPrompt, Names, Optional = OptionalOf<Known>> = [Names] extends [never] ? Nothing
  :
    & { readonly [Name in Exclude<Names, Optional> & string]: ValueOf<Known, Name> }
    & { readonly [Name in Extract<Names, Optional> & string]?: ValueOf<Known, Name> | null | undefined };

/** Arguments of `fill`. Each may be left out if nothing in it is required. */
type FillArguments<Known extends KnownPrompt, Listed extends Known["lists"], Texts, NeededLists extends PropertyKey> =
  [NeededLists] extends [never]
    ? [Exclude<Texts, OptionalOf<Known>>] extends [never]
      ? [values?: ValuesOf<Known, Texts>, lists?: Lists<Known["lists"], Listed>, options?: FillOptions]
    : [values: ValuesOf<Known, Texts>, lists?: Lists<Known["lists"], Listed>, options?: FillOptions]
    : [
      values: ValuesOf<Known, Texts>,
      lists: Lists<Known["lists"], Listed> & Readonly<Record<NeededLists, readonly object[]>>,
      options?: FillOptions,
    ];

/** A prompt with known variables: `fill` takes all of them, and no others. */
export type TypedPrompt<Known extends KnownPrompt> = Omit<Prompt<Known["llmConfig"]>, "fill"> & {
  /** As in `Prompt`. Each required variable has a value, or a list of messages that replaces its message. */
  fill<Listed extends Known["lists"] = never>(
    ...given: FillArguments<
      Known,
      Listed,
      Exclude<Known["variables"], Listed | MessagesOf<Known>>,
      Exclude<MessagesOf<Known>, OptionalOf<Known>>
    >
  ): Message[];
  /** With `missing`, any variable may be left out. */
  fill(
    values: ValuesOf<Known, Exclude<Known["variables"], MessagesOf<Known>>, string> | undefined,
    lists: Partial<Lists<Known["lists"]>> | undefined,
    options: { missing: "keep" | "empty" },
  ): Message[];
};

/** An object without members. In TypeScript, `{}` may have any. */
type Nothing = Readonly<Record<string, never>>;
type Lists<Names extends string, Listed extends Names = Names> = [Names] extends [never] ? Nothing
  : Readonly<Record<Listed, readonly object[]>>;

/** The active prompt of a deployment. Its content is frozen; `fill` returns new messages. */
export type Prompt<Config = Record<string, unknown>> = {
  /** Id of the deployment; of a fallback, the same as `reference`. */
  readonly deployId: string;
  /** The requested reference or id of the deployment. */
  readonly reference: string;
  readonly title: string;
  readonly description: string;
  readonly messages: readonly Message[];
  readonly llmConfig: Config;
  /** Version of the prompt; 0 for a fallback without one. */
  readonly version: number;
  readonly source: PromptSource;
  /** Id of the rollout in progress that chose the version. Stored with records. */
  readonly rollout?: string | undefined;
  /** Session of its calls, if one was requested. */
  readonly sessionId?: string | undefined;
  /**
   * Returns the messages with their `{{variables}}` filled in. `lists` has messages that replace a message whose
   * content is one variable and nothing else, such as `{{history}}`. Throws a MissingVariablesError if a variable has
   * no value, unless `missing` is `keep` or `empty`.
   */
  fill(values?: Values, lists?: MessageLists, options?: FillOptions): Message[];
  /**
   * Starts the clock for a model call with this prompt. `sessionId` defaults to that of `prompt()`, or a random UUID.
   */
  call(options?: CallOptions): ModelCall;
};

/** Data recorded with a model call. */
export type CallOptions = {
  sessionId?: string;
  /** Any JSON object, stored with the record. */
  additional_properties?: Record<string, unknown>;
};

/** A model call in progress. */
export type ModelCall = {
  readonly sessionId: string;
  /**
   * Names the record of the call: its id once the service has stored it, until then its idempotency key. Undefined if
   * the mask removed the record.
   */
  readonly record: string | undefined;
  /** Queues the record of the call, with its version, start and latency. Later calls are ignored. Never throws. */
  done(outcome: Outcome): void;
  /**
   * Queues feedback on the record, which may come later. Sends nothing if the mask removed the record. Never throws.
   */
  feedback(given: GivenFeedback): void;
  /**
   * Creates a token with which a page may give feedback on the record. Sends no request. Rejects with a
   * PromptLedgerError.
   */
  feedbackToken(options: FeedbackTokenOptions): Promise<string>;
};

/** Outcome of a call. Values that are not strings, such as messages, are recorded as JSON. */
export type Outcome = {
  /** An integer; you define what it means. */
  status: number;
  input?: unknown;
  output?: unknown;
  /** Token counts as the model's provider reports them. The service accepts the formats of all large providers. */
  usage?: object | null | undefined;
  /** Model and provider, if they differ from the prompt's `llmConfig`. */
  model?: string | undefined;
  provider?: string | undefined;
  /** Any JSON object, stored in addition to that of `call`. */
  additional_properties?: Record<string, unknown>;
};

/** Content of a prompt, from any source. */
export type PromptContent = Pick<
  Prompt,
  "deployId" | "reference" | "title" | "description" | "messages" | "llmConfig" | "version" | "rollout" | "sessionId"
>;

/** Freezes a value and all in it, as all requests of the application share it. */
export const freeze = <T>(value: T): T => {
  if (Object(value) === value) Object.values(Object.freeze(value) as object).forEach(freeze);
  return value;
};

/** A served prompt with both versions of a rollout. */
export type BothServed = ServedPrompt & { rollout?: ServedRollout };

/** Truthy if a value has the shape of a served prompt. */
export const isPrompt = (value: unknown): unknown => {
  const { messages, deploy, rollout } = Object(value) as Partial<BothServed>;
  // Strings and arrays of parts both have a length.
  return messages?.every?.((message) => message?.role && message.content?.length >= 0) &&
    deploy?.currentVersion! >= 0 && (!rollout || isPrompt(rollout.prompt));
};

/** Functions that all calls share. */
export type Calls = {
  /** Unix milliseconds. */
  now(): number;
  /** Queues the record that `make` returns. Never throws, even if `make` does. */
  record(make: () => DiagnosisItem, target?: Target): void;
  feedback(target: Target, given: GivenFeedback): void;
  feedbackToken(target: Target, options: FeedbackTokenOptions): Promise<string>;
};

/** Adds defaults for the variables without a value or a list. */
const withDefaults = (defaults: Defaults, values: Values = {}, lists: MessageLists = {}): [Values, MessageLists] => {
  const missing = Object.entries(defaults).filter(([name]) => (own(values, name) ?? own(lists, name) ?? null) === null);
  // The default of a text is "", which is falsy; that of a list is [].
  const those = (areTexts: boolean) => Object.fromEntries(missing.filter(([, value]) => !value === areTexts));
  return [{ ...values, ...those(true) as Values }, { ...lists, ...those(false) as MessageLists }];
};

/** Creates a prompt from its content. */
export const createPrompt = (
  content: PromptContent,
  source: PromptSource,
  defaults: Defaults | undefined,
  { now, record, feedback, feedbackToken }: Calls,
): Prompt => {
  const { deployId, version, rollout } = content;
  return {
    ...content,
    source,
    fill(values, lists, options) {
      const given = defaults && options?.missing !== "keep" ? withDefaults(defaults, values, lists) : [values, lists];
      return fillMessages(content.messages, ...given as [Values, MessageLists], options);
    },
    call({ sessionId = content.sessionId ?? crypto.randomUUID(), additional_properties: ofCall } = {}) {
      const startAt = now();
      const idempotencyKey = newUuid(startAt);
      const target: Target = { about: idempotencyKey, record: idempotencyKey };
      let isDone = false;
      return {
        sessionId,
        get record() {
          return target.id ?? target.record;
        },
        feedback(given) {
          if (target.record !== undefined) feedback(target, given);
        },
        feedbackToken: (options) => feedbackToken(target, options),
        done(outcome) {
          if (isDone) return;
          isDone = true;
          record(() => {
            const endAt = now();
            const { usage, input, output, additional_properties: ofOutcome, ...more } = outcome;
            return {
              ...more,
              deployId,
              idempotencyKey,
              sessionId,
              content: contentOf(input, output),
              // The clock may have been set back.
              latency: Math.max(0, endAt - startAt),
              startAt,
              endAt,
              additional_properties: {
                ...ofCall,
                ...(usage && { token_usage: usage }),
                ...ofOutcome,
              },
              promptVersion: version || undefined,
              rollout,
            };
          }, target);
        },
      };
    },
  };
};
