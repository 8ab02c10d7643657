// A prompt as the application gets it: its content, its variables filled in, and the record of a call that is made with it.
import { fillMessages, own } from "./fill.ts";
import type { FillOptions, MessageLists, Value, Values } from "./fill.ts";
import type { FeedbackTokenOptions, GivenFeedback, Target } from "./feedback.ts";
import { contentOf } from "./record.ts";
import type { DiagnosisItem, Message, ServedPrompt, ServedRollout } from "./shapes.ts";
import { newUuid } from "./uuid.ts";

/** Where a prompt comes from. */
export type PromptSource = "server" | "cache" | "stale" | "snapshot" | "fallback";

/** An application's own content, for when there is nothing else. It has the `llmConfig` that the prompt's type promises. */
export type Fallback<Config = Record<string, unknown>> =
  & {
    messages: readonly Message[];
    title?: string;
    description?: string;
    /** The version of the deployment's prompt that this is a copy of. Its records count for that version. */
    version?: number;
  }
  & (Nothing extends Config ? { llmConfig?: Config } : { llmConfig: Config });

/** What is known of a prompt when an application is compiled: `promptledger types` writes it. */
export type KnownPrompt = {
  /** The names of its variables, as a union. */
  variables: string;
  /** Those that are the whole content of a message, so that a list of messages may take its place. */
  lists: string;
  /** The types of those that declare one. Messages are a list, which only `lists` of `fill` takes. */
  types?: object;
  /** The names of those that need no value. */
  optional?: string;
  llmConfig: object;
};

/** What `promptledger types` writes of prompts for run time: what stands for variables that need no value, by reference. */
export type PromptDefaults = Readonly<Record<string, { readonly optional: Defaults }>>;
export type Defaults = Readonly<Record<string, "" | readonly []>>;

type TypesOf<Known> = Known extends { types: infer Types } ? Types : unknown;
type OptionalOf<Known> = Known extends { optional: infer Names } ? Names : never;
/** True if any of the prompts has variables that need no value: the values that stand for them are no type. */
export type NeedsDefaults<Known> = unknown extends Known ? false
  : [{ [Reference in keyof Known]: OptionalOf<Known[Reference]> }[keyof Known]] extends [never] ? false
  : true;
type MessagesOf<Known, Types = TypesOf<Known>> = {
  [Name in keyof Types]: Types[Name] extends readonly object[] ? Name : never;
}[keyof Types];
type ValueOf<Known, Name> = Name extends keyof TypesOf<Known> ? TypesOf<Known>[Name] : Value;

/** Values of variables. Those with names that are `Optional` may be left out. */
type ValuesOf<Known extends KnownPrompt, Names, Optional = OptionalOf<Known>> = [Names] extends [never] ? Nothing
  :
    & { readonly [Name in Exclude<Names, Optional> & string]: ValueOf<Known, Name> }
    & { readonly [Name in Extract<Names, Optional> & string]?: ValueOf<Known, Name> | null | undefined };

/** The arguments of `fill`. Each may be left out if nothing in it is needed. */
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

/** A prompt whose variables are known: `fill` takes all of them, and no others. */
export type TypedPrompt<Known extends KnownPrompt> = Omit<Prompt<Known["llmConfig"]>, "fill"> & {
  /** As in `Prompt`. Each variable that needs one has a value, or a list of messages in the place of its message. */
  fill<Listed extends Known["lists"] = never>(
    ...given: FillArguments<
      Known,
      Listed,
      Exclude<Known["variables"], Listed | MessagesOf<Known>>,
      Exclude<MessagesOf<Known>, OptionalOf<Known>>
    >
  ): Message[];
  /** With `missing`, any of them may be left out. */
  fill(
    values: ValuesOf<Known, Exclude<Known["variables"], MessagesOf<Known>>, string> | undefined,
    lists: Partial<Lists<Known["lists"]>> | undefined,
    options: { missing: "keep" | "empty" },
  ): Message[];
};

/** An object without members. TypeScript takes `{}` for one that may have any. */
type Nothing = Readonly<Record<string, never>>;
type Lists<Names extends string, Listed extends Names = Names> = [Names] extends [never] ? Nothing
  : Readonly<Record<Listed, readonly object[]>>;

/** The active prompt of a deployment. Its content is frozen: `fill` gives messages of your own. */
export type Prompt<Config = Record<string, unknown>> = {
  /** The id of the deployment; of a fallback, what was asked for. */
  readonly deployId: string;
  /** What was asked for: the reference of the deployment, or its id. */
  readonly reference: string;
  readonly title: string;
  readonly description: string;
  readonly messages: readonly Message[];
  readonly llmConfig: Config;
  /** The version of the prompt; 0 of a fallback that names none. */
  readonly version: number;
  readonly source: PromptSource;
  /** The id of the rollout in progress that chose the version. Records have it. */
  readonly rollout?: string | undefined;
  /** The session of its calls, if it was asked for with one. */
  readonly sessionId?: string | undefined;
  /**
   * The messages with their `{{variables}}` filled in. `lists` has messages to put in the place of a message whose content is
   * one variable and nothing else, such as `{{history}}`. Throws a MissingVariablesError if a variable has no value, unless
   * `missing` is `keep` or `empty`.
   */
  fill(values?: Values, lists?: MessageLists, options?: FillOptions): Message[];
  /** Starts the clock for a call of a model with this prompt. `sessionId` is that of `prompt()`, or a random UUID. */
  call(options?: CallOptions): ModelCall;
};

/** What a call of a model is recorded with. */
export type CallOptions = {
  sessionId?: string;
  /** Any JSON to be kept with the record. */
  additional_properties?: Record<string, unknown>;
};

/** A call of a model that is under way. */
export type ModelCall = {
  readonly sessionId: string;
  /**
   * What names the record of the call: its id once the service has stored it, until then its idempotency key. Undefined if the
   * mask has left it out.
   */
  readonly record: string | undefined;
  /** Queues the record of the call, with its version, start and latency. Only the first time counts. Never throws. */
  done(outcome: Outcome): void;
  /** Queues feedback on the record, which may come later. Nothing is sent if the mask has left out the record. Never throws. */
  feedback(given: GivenFeedback): void;
  /** Makes a token with which a page may give feedback on the record. Asks nothing of the service. Rejects with a PromptLedgerError. */
  feedbackToken(options: FeedbackTokenOptions): Promise<string>;
};

/** What came of a call. What is not a text, such as messages, is recorded as JSON. */
export type Outcome = {
  /** An integer; you define what it means. */
  status: number;
  input?: unknown;
  output?: unknown;
  /** The tokens, as the model's provider reports them. The service knows the names of all large providers. */
  usage?: object | null | undefined;
  /** The model and its provider, if they are not those of the prompt's `llmConfig`. */
  model?: string | undefined;
  provider?: string | undefined;
  /** Any JSON to be kept with the record, beside that of `call`. */
  additional_properties?: Record<string, unknown>;
};

/** What a prompt says, wherever it comes from. */
export type PromptContent = Pick<
  Prompt,
  "deployId" | "reference" | "title" | "description" | "messages" | "llmConfig" | "version" | "rollout" | "sessionId"
>;

/** Freezes a value and all in it: what one request of the application changed, others would get. */
export const freeze = <T>(value: T): T => {
  if (Object(value) === value) Object.values(Object.freeze(value) as object).forEach(freeze);
  return value;
};

/** A prompt as clients get it that ask for both versions of a rollout. */
export type BothServed = ServedPrompt & { rollout?: ServedRollout };

/** Whether a value is a prompt as the service serves it. */
export const isPrompt = (value: unknown): unknown => {
  const { messages, deploy, rollout } = Object(value) as Partial<BothServed>;
  // A text and an array of parts both have a length.
  return messages?.every?.((message) => message?.role && message.content?.length >= 0) &&
    deploy?.currentVersion! >= 0 && (!rollout || isPrompt(rollout.prompt));
};

/** What the calls of all prompts do. */
export type Calls = {
  /** Unix milliseconds. */
  now(): number;
  /** Queues a record, which it makes itself, as that may fail. Never throws. */
  record(make: () => DiagnosisItem, target?: Target): void;
  feedback(target: Target, given: GivenFeedback): void;
  feedbackToken(target: Target, options: FeedbackTokenOptions): Promise<string>;
};

/** Adds to values and lists what stands for the variables without either. */
const withDefaults = (defaults: Defaults, values: Values = {}, lists: MessageLists = {}): [Values, MessageLists] => {
  const missing = Object.entries(defaults).filter(([name]) => (own(values, name) ?? own(lists, name) ?? null) === null);
  // A text is empty, and a list, however empty, is true.
  const those = (areTexts: boolean) => Object.fromEntries(missing.filter(([, value]) => !value === areTexts));
  return [{ ...values, ...those(true) as Values }, { ...lists, ...those(false) as MessageLists }];
};

/** Makes a prompt of its content. */
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
