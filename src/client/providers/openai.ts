// OpenAI: chat completions, and the Responses API.
import { joinTexts, recordBy } from "./record.ts";
import type { Read, RecordResponse } from "./record.ts";

type ToolCall = { index?: number; id?: string; function?: { name?: string; arguments?: string } };
type ChatMessage = { content?: string | { text?: string }[] | null; refusal?: string | null; tool_calls?: ToolCall[] };
type Choice = {
  index?: number;
  message: ChatMessage;
  delta?: ChatMessage;
  finish_reason?: string | null;
  error?: { message?: string };
};
type Item = {
  type: string;
  arguments?: string;
  content?: { type: string; text?: string; refusal?: string }[];
  result?: string;
};

type Shared = { id: string; model: string; usage: object | null };
type Completion = Shared & { choices: Choice[]; x_groq: { usage?: object } };
type Response = Shared & {
  status: string;
  output: Item[];
  error: { message?: string } | null;
  incomplete_details: { reason?: string } | null;
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

/** The text of a message. Mistral gives parts of it where there is reasoning too, which is left out. */
const textOf = (content: ChatMessage["content"]) =>
  Array.isArray(content) ? content.map(({ text }) => text).join("") : content;

const addChoice = (choices: Choice[], { index = 0, delta = {}, finish_reason }: Choice): void => {
  const choice = choices[index] ??= { message: {} }, { message } = choice;
  choice.finish_reason = finish_reason ?? choice.finish_reason ?? null;
  for (const name of ["content", "refusal"] as const) {
    if (delta[name]) message[name] = `${message[name] ?? ""}${textOf(delta[name])}`;
  }
  for (const { index, ...part } of delta.tool_calls ?? []) {
    const calls = message.tool_calls ??= [];
    let call = calls[index ?? calls.length - 1];
    // Some servers leave out the index, or give all calls the same.
    if (!call || part.id && part.id !== call.id) calls.push(call = { ...part, function: { arguments: "" } });
    const { name, arguments: written = "" } = part.function ?? {};
    Object.assign(call.function!, name && { name }, { arguments: call.function!.arguments + written });
  }
};

const addEvent = (whole: Partial<Response>, event: Event): void => {
  const { type, response, item, output_index: at, content_index: within, delta } = event;
  const output = whole.output ?? [];
  if (response) Object.assign(whole, response);
  // The response has its items only in the end.
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

const readCompletion = ({ id, model, usage, choices = [] }: Partial<Completion>): Read => {
  const [{ message, finish_reason: reason, error } = { message: {} }] = choices as [Choice?];
  return {
    id,
    model,
    usage,
    output: choices.length > 1
      ? choices.map(({ message }) => message)
      // Some servers give every message a list of calls.
      : message.tool_calls?.length
      ? message
      : textOf(message.content) ?? message.refusal ?? "",
    reason,
    // OpenRouter's word for an answer that the model has not finished.
    error: reason === "error" ? `Error: ${error?.message}` : undefined,
  };
};

const endings = ["completed", "failed", "incomplete", "cancelled"];

const readResponse = (whole: Partial<Response>): Read => {
  const { id, model, usage, output = [], status, error, incomplete_details: incomplete } = whole;
  const shown = output.filter((item) => item && item.type !== "reasoning")
    // An image would make the record too large.
    .map((item) => item.type === "image_generation_call" ? { ...item, result: undefined } : item);
  return {
    id,
    model,
    usage,
    output: joinTexts(
      shown,
      ({ type, content = [] }) =>
        type === "message" ? content.map(({ text, refusal }) => text ?? refusal).join("") : undefined,
    ),
    reason: incomplete?.reason ?? (endings.includes(status!) ? status : undefined),
    error: error ? `Error: ${error.message}` : status === "failed" ? "Error: failed" : undefined,
  };
};

/**
 * Records a call by a response of OpenAI or of what speaks its protocol: a chat completion, a response of the Responses API, a
 * stream of either, or a promise. Streams of chat completions have tokens only with `stream_options: { include_usage: true }`.
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
    Object.assign(whole, { id, model }, usage && { usage });
    choices.forEach((choice) => addChoice(collected, choice));
  },
  read: (whole) => whole.choices ? readCompletion(whole) : readResponse(whole),
});
