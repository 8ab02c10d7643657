// OpenAI: chat completions, and the Responses API.
import { joinTexts, merge, recordBy } from "./record.ts";
import type { Read, RecordResponse } from "./record.ts";

type Call = { name?: string; arguments?: string; input?: string };
type ToolCall = { index?: number; id?: string; function?: Call; custom?: Call };
type Image = { image_url?: { url?: string } };
type ChatMessage = {
  content?: string | { text?: string }[] | null;
  refusal?: string | null;
  tool_calls?: ToolCall[];
  /** Legacy format of a single call. */
  function_call?: Call | null;
  audio?: { transcript?: string; data?: string | undefined } | null;
  images?: Image[];
};
type Choice = {
  index?: number;
  message?: ChatMessage;
  delta?: ChatMessage;
  /** Text of a legacy completion. */
  text?: string;
  finish_reason?: string | null;
  error?: { message?: string };
};
type Item = {
  type: string;
  arguments?: string;
  content?: { type: string; text?: string; refusal?: string; transcript?: string }[];
  result?: string;
};

type Shared = { id: string; model: string; usage: object | null };
type Completion = Shared & { choices: Choice[]; x_groq: { usage?: object } };
type Response = Shared & {
  status: string;
  output: Item[];
  error: { message?: string } | null;
  incomplete_details: { reason?: string } | null;
  /** Text of a transcription. In a response, its text settings. */
  text: unknown;
};

/** An event of a stream of the Responses API. */
type Event = {
  type: string;
  response?: Response;
  item?: Item;
  output_index: number;
  content_index: number;
  delta: string;
  message?: string;
};

/** Text of a message. Mistral sends parts if there is reasoning, which is left out. */
const textOf = (content: ChatMessage["content"]) =>
  Array.isArray(content) ? content.map(({ text }) => text).join("") : content;

/** Member that parts of a call extend, by its kind. */
const texts = { function: "arguments", function_call: "arguments", custom: "input" } as const;

/** Adds a part of a call, if it is of this kind. */
const addCall = <Kind extends keyof typeof texts>(
  holder: { [Name in Kind]?: Call | null },
  part: { [Name in Kind]?: Call | null },
  kind: Kind,
): void => {
  const added = part[kind], name = texts[kind];
  if (!added) return;
  const call: Call = holder[kind] ??= { [name]: "" };
  Object.assign(call, added.name && { name: added.name }, { [name]: call[name]! + (added[name] ?? "") });
};

const addChoice = (choices: Choice[], { index = 0, delta = {}, text, finish_reason }: Choice): void => {
  const choice = choices[index] ??= { message: {} }, message = choice.message!;
  choice.finish_reason = finish_reason ?? choice.finish_reason ?? null;
  if (text !== undefined) choice.text = (choice.text ?? "") + text;
  for (const name of ["content", "refusal"] as const) {
    if (delta[name]) message[name] = `${message[name] ?? ""}${textOf(delta[name])}`;
  }
  if (delta.audio) message.audio = { transcript: (message.audio?.transcript ?? "") + (delta.audio.transcript ?? "") };
  if (delta.images) (message.images ??= []).push(...delta.images);
  addCall(message, delta, "function_call");
  for (const { index, ...part } of delta.tool_calls ?? []) {
    const calls = message.tool_calls ??= [];
    let call = calls[index ?? calls.length - 1];
    // Some servers leave out the index, or send the same for all calls.
    if (!call || part.id && part.id !== call.id) {
      const { function: _function, custom: _custom, ...others } = part;
      calls.push(call = others);
    }
    addCall(call, part, "function");
    addCall(call, part, "custom");
  }
};

const addEvent = (whole: Partial<Response>, event: Event): void => {
  const { type, response, item, output_index: at, content_index: within, delta } = event;
  const output = whole.output ?? [];
  if (response) merge(whole, response);
  // Only the final response has its items.
  if (!response?.output?.length) whole.output = output;
  if (item) output[at] = { ...item, ...(item.content && { content: [...item.content] }) };
  const open = output[at];
  if (type === "error") whole.error = event;
  else if (type === "response.output_text.delta" && open) {
    const part = (open.content ??= [])[within] ??= { type: "output_text", text: "" };
    part.text += delta;
  } else if (type === "response.function_call_arguments.delta" && open) {
    open.arguments = (open.arguments ?? "") + delta;
  }
};

/** A message without audio and embedded images, which would make the record too large. */
const withoutFiles = ({ audio, images, ...message }: ChatMessage): ChatMessage => ({
  ...message,
  ...(audio && { audio: { ...audio, data: undefined } }),
  ...(images && {
    images: images.map(({ image_url: { url = "" } = {} }) => ({
      image_url: { url: url.replace(/^(data:[^,]*),.*/s, "$1") },
    })),
  }),
});

/**
 * Text of an answer, or all of it if it has calls, or images alone. Some servers send a list of calls in every message.
 */
const answerOf = ({ message = {}, text }: Choice): unknown => {
  const { content, refusal, audio, tool_calls: calls, function_call: call, images } = message;
  const said = text ?? (textOf(content) || refusal || audio?.transcript || "");
  return calls?.length || call || !said && images?.length ? withoutFiles(message) : said;
};

const readCompletion = ({ id, model, usage, choices = [] }: Partial<Completion>): Read => {
  const [first = {}] = choices, { finish_reason: reason, error } = first;
  return {
    id,
    model,
    usage,
    output: choices.length > 1
      ? choices.map(({ message, text }) => message && text === undefined ? withoutFiles(message) : text)
      : answerOf(first),
    reason,
    // OpenRouter's reason for an unfinished answer.
    error: reason === "error" ? `Error: ${error?.message}` : undefined,
  };
};

const endings = ["completed", "failed", "incomplete", "cancelled"];

const readResponse = (whole: Partial<Response>): Read => {
  const { id, model, usage, output = [], status, error, incomplete_details: incomplete, text } = whole;
  const items = output.filter((item) => item && item.type !== "reasoning")
    // An image would make the record too large.
    .map((item) => item.type === "image_generation_call" ? { ...item, result: undefined } : item);
  return {
    id,
    model,
    usage,
    output: typeof text === "string" ? text : joinTexts(
      items,
      ({ type, content = [] }) =>
        type === "message"
          ? content.map(({ text, refusal, transcript }) => text ?? refusal ?? transcript).join("")
          : undefined,
    ),
    reason: incomplete?.reason ?? (endings.includes(status!) ? status : undefined),
    error: error ? `Error: ${error.message}` : status === "failed" ? "Error: failed" : undefined,
  };
};

/**
 * Records a call from a response of OpenAI or a compatible server: a chat completion, a legacy one, a response of the
 * Responses API, a stream or a helper that collects one, the result of `withResponse` or `asResponse`, or a promise.
 * Streams of chat completions have token counts only with `stream_options: { include_usage: true }`.
 *
 * @example
 * const call = prompt.call({ sessionId });
 * const completion = await recordOpenAI(call, openai.chat.completions.create({ model, messages }), { input: messages });
 */
export const recordOpenAI: RecordResponse = recordBy<Completion & Response>({
  add(whole, part) {
    const { choices, id, model, x_groq, usage = x_groq?.usage } = part as Partial<Completion>;
    if (!choices) return addEvent(whole, part as Event);
    const collected = whole.choices ??= [];
    // Empty in Azure's first and last chunks.
    merge(whole, { id, model, usage });
    choices.forEach((choice) => addChoice(collected, choice));
  },
  read: (whole) => whole.choices ? readCompletion(whole) : readResponse(whole),
});
