// Converts a prompt to arguments of generateText and streamText, and tags their model calls with it.
import type { CallOptions, Prompt } from "../prompt.ts";
import type { FillOptions, MessageLists, Values } from "../fill.ts";
import type { Message } from "../../schema/shapes.ts";

/** Prompt and session of a recorded call. JSON, as the AI SDK passes it on among the provider options. */
export type Tag = {
  deployId: string;
  reference: string;
  version: number;
  rollout?: string;
  sessionId: string;
  additional_properties?: Record<string, never>;
};

const namespace = "promptledger";

/** Reads the tag in the provider options of a call. Undefined if the call has none. */
export const tagOf = (providerOptions: unknown): Tag | undefined => {
  const tag = Object(Object(providerOptions)[namespace]) as Partial<Tag>;
  return typeof tag.deployId === "string" ? tag as Tag : undefined;
};

/** Creates the tag of a prompt. */
export const createTag = (
  { deployId, reference, version, rollout, sessionId: given }: Omit<AnyPrompt, "fill" | "llmConfig">,
  { sessionId = given ?? crypto.randomUUID(), additional_properties }: CallOptions = {},
): Tag => ({
  deployId,
  reference,
  version,
  ...(rollout && { rollout }),
  sessionId,
  ...(additional_properties && { additional_properties: additional_properties as Record<string, never> }),
});

type Parts = ({ type: "text"; text: string } | { type: "image"; image: string })[];

/** A message in the form of the AI SDK. */
export type AiMessage =
  | { role: "user"; content: string | Parts }
  | { role: "assistant" | "system"; content: string };

/** Arguments of generateText and streamText. */
export type AiSettings = {
  system?: string;
  messages: AiMessage[];
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  presencePenalty?: number;
  frequencyPenalty?: number;
  seed?: number;
  stopSequences?: string[];
  /** Set for system messages after others, which AI SDK 7 otherwise rejects. */
  allowSystemInMessages?: true;
  providerOptions: Record<typeof namespace, Tag>;
};

type AnyContent = Pick<Prompt<object>, "deployId" | "reference" | "version" | "rollout" | "sessionId" | "llmConfig">;

/** Any prompt of a client. A typed one is filled in with its own `fill`. */
export type AnyPrompt = AnyContent & { fill(...given: never[]): Message[] };

/** A prompt without known variables. A method would be compared less strictly than this member is. */
type UntypedPrompt = AnyContent & { fill: (values?: Values, lists?: MessageLists, options?: FillOptions) => Message[] };

/** Options for filling in a prompt and recording its calls. */
export type AiOptions = FillOptions & CallOptions & {
  /** Messages that replace those that are one variable and nothing else. */
  lists?: MessageLists;
};

// Settings of the AI SDK by their names in an `llmConfig`, without underscores and capitals.
const numbers: Record<string, keyof AiSettings> = {
  maxtokens: "maxOutputTokens",
  maxcompletiontokens: "maxOutputTokens",
  maxoutputtokens: "maxOutputTokens",
  temperature: "temperature",
  topp: "topP",
  topk: "topK",
  presencepenalty: "presencePenalty",
  frequencypenalty: "frequencyPenalty",
  seed: "seed",
};

const settingsOf = (llmConfig: object): Partial<AiSettings> => {
  const settings: Record<string, unknown> = {};
  for (const [given, value] of Object.entries(llmConfig)) {
    const name = given.replaceAll("_", "").toLowerCase();
    if (Object.hasOwn(numbers, name) && typeof value === "number") settings[numbers[name]!] = value;
    if (/^stop(sequences)?$/.test(name) && value?.length) settings.stopSequences = [value].flat();
  }
  return settings;
};

/** Converts parts from OpenAI's format to that of the AI SDK. Others are left unchanged. */
const toContent = (content: Message["content"]) =>
  typeof content === "string" ? content : content.map((part) => {
    const { url } = Object(part.image_url) as { url?: string };
    return url ? { type: "image", image: url } : part;
  });

const isSystem = ({ role }: Message) => role === "system" || role === "developer";
const textOf = ({ content }: Message) =>
  typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("");

/**
 * Converts a prompt to arguments of generateText and streamText: the settings of its `llmConfig` but the model, its
 * system messages, and the others. `values` fill in its variables, or are messages that are filled in already. All
 * model calls made with it are recorded in one session. Throws a MissingVariablesError as `fill` does. A prompt with
 * typed variables is filled in by its own `fill`, which checks them.
 *
 * @example
 * const prompt = await ledger.prompt("support/assistant@production");
 * const { text } = await generateText({ model: openai("gpt-6-luna"), ...forAiSdk(prompt, { shop: "Acme" }) });
 */
export const forAiSdk: {
  (prompt: UntypedPrompt, values?: Values | readonly Message[], options?: AiOptions): AiSettings;
  (prompt: AnyPrompt, messages: readonly Message[], options?: CallOptions): AiSettings;
} = (
  prompt: AnyPrompt,
  values: Values | readonly Message[] = {},
  { lists, missing, ...callOptions }: AiOptions = {},
): AiSettings => {
  const fill = prompt.fill as Prompt["fill"];
  const messages = Array.isArray(values)
    ? values as Message[]
    : fill(values as Values, lists, { ...(missing && { missing }) });
  const first = messages.findIndex((message) => !isSystem(message));
  const [system, others] = first < 0 ? [messages, []] : [messages.slice(0, first), messages.slice(first)];
  const { providerOptions } = prompt.llmConfig as { providerOptions?: object };
  return {
    ...settingsOf(prompt.llmConfig),
    ...(system.length > 0 && { system: system.map(textOf).join("\n\n") }),
    messages: others.map((message) =>
      isSystem(message)
        ? { role: "system", content: textOf(message) }
        : { ...message, content: toContent(message.content) }
    ) as AiMessage[],
    ...(others.some(isSystem) && { allowSystemInMessages: true }),
    providerOptions: { ...providerOptions, [namespace]: createTag(prompt, callOptions) },
  };
};
