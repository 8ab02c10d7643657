// OpenAI: chat completions, and the Responses API.
import { joinTexts, recordBy } from "./record.ts";
import type { Read, RecordResponse } from "./record.ts";

type ToolCall = { index?: number; id?: string; function?: { name?: string; arguments?: string } };
type ChatMessage = { content?: string | null; refusal?: string | null; tool_calls?: ToolCall[] };
type Choice = { index?: number; message: ChatMessage; delta?: ChatMessage; finish_reason?: string | null };
type Item = {
  type: string;
  arguments?: string;
  content?: { type: string; text?: string; refusal?: string }[];
};

type Shared = { id: string; model: string; usage: object | null };
type Completion = Shared & { choices: Choice[] };
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

const addChoice = (choices: Choice[], { index = 0, delta = {}, finish_reason }: Choice): void => {
  const choice = choices[index] ??= { message: {} }, { message } = choice;
  choice.finish_reason = finish_reason ?? choice.finish_reason ?? null;
  for (const name of ["content", "refusal"] as const) {
    if (delta[name]) message[name] = (message[name] ?? "") + delta[name];
  }
  for (const { index: at = 0, ...part } of delta.tool_calls ?? []) {
    const call = (message.tool_calls ??= [])[at] ??= { ...part, function: { arguments: "" } };
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

const readCompletion = ({ id, model, usage, choices = [] }: Partial<Completion>): Read => ({
  id,
  model,
  usage,
  output: choices.length > 1
    ? choices.map(({ message }) => message)
    : choices[0]?.message.tool_calls
    ? choices[0].message
    : choices[0]?.message.content ?? choices[0]?.message.refusal ?? "",
  reason: choices[0]?.finish_reason,
});

const endings = ["completed", "failed", "incomplete", "cancelled"];

const readResponse = (whole: Partial<Response>): Read => {
  const { id, model, usage, output = [], status, error, incomplete_details: incomplete } = whole;
  const shown = output.filter((item) => item && item.type !== "reasoning");
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
    const { choices, usage, id, model } = part as Partial<Completion>;
    if (!choices) return addEvent(whole, part as Event);
    const collected = whole.choices ??= [];
    Object.assign(whole, { id, model }, usage && { usage });
    choices.forEach((choice) => addChoice(collected, choice));
  },
  read: (whole) => whole.choices ? readCompletion(whole) : readResponse(whole),
});
