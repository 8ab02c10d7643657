// Anthropic: the Messages API, and legacy text completions.
import { joinTexts, merge, recordBy } from "./record.ts";
import type { RecordResponse } from "./record.ts";

type Block = { type: string; text?: string; input?: unknown };

type Message = {
  id: string;
  model: string;
  content: Block[];
  stop_reason: string | null;
  usage: Record<string, unknown>;
  /** Only in text completions. */
  completion: string;
  error: { type?: string; message?: string };
};

/** An event of a stream. */
type Event = {
  type: string;
  index: number;
  message?: Message;
  content_block?: Block;
  delta?: { text?: string; partial_json?: string; stop_reason?: string | null };
  usage?: object;
  completion?: string;
  error?: Message["error"];
};

const addEvent = (whole: Partial<Message>, event: Event): void => {
  const { type, index, message, content_block: block, delta = {}, usage, completion, error } = event;
  if (completion !== undefined) {
    merge(whole, { ...event, completion: (whole.completion ?? "") + completion });
    return;
  }
  const content = whole.content ??= [];
  if (message) merge(whole, { ...message, content });
  if (block) content[index] = { ...block };
  if (error) whole.error = error;
  const open = content[index];
  if (open && delta.text) open.text = (open.text ?? "") + delta.text;
  // The input of a tool begins as an empty object, and is a string until it is complete.
  if (open && delta.partial_json) open.input = (typeof open.input === "string" ? open.input : "") + delta.partial_json;
  if (open && type === "content_block_stop" && typeof open.input === "string") open.input = JSON.parse(open.input);
  if (delta.stop_reason) whole.stop_reason = delta.stop_reason;
  // Contains all counts so far, or some of them. Some servers send 0 for earlier ones.
  const before = whole.usage ?? {};
  if (usage) {
    const counts = Object.entries(usage).filter(([name, count]) => count !== null && !(count === 0 && before[name]));
    whole.usage = { ...before, ...Object.fromEntries(counts) };
  }
};

/**
 * Records a call from an Anthropic message, a stream of one, `messages.stream()`, the result of `withResponse` or
 * `asResponse`, or a promise.
 *
 * @example
 * const message = await recordAnthropic(prompt.call(), anthropic.messages.create(request), { input: request.messages });
 */
export const recordAnthropic: RecordResponse = recordBy<Message>({
  add: (whole, part) => addEvent(whole, part as Event),
  read: ({ id, model, usage, content = [], completion, stop_reason, error }) => ({
    id,
    model,
    usage,
    output: completion ?? joinTexts(
      content.filter((block) => !block.type.includes("thinking")),
      ({ type, text }) => type === "text" ? text : undefined,
    ),
    reason: stop_reason,
    error: error && `${error.type}: ${error.message}`,
  }),
});
