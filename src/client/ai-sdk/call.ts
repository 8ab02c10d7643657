// Records one model call: its input, its output and its end.
import type { Client } from "../client.ts";
import { aborted, failed, finished, isAbort, nameOf, textOf } from "../outcome.ts";
import { newUuid } from "../uuid.ts";
import { tracePrompt } from "../trace.ts";
import type { RecordOptions } from "./options.ts";
import type { Tag } from "./settings.ts";

/** The part of a client used here. */
export type Ledger = Pick<Client, "record">;

/** A part of a model's content, or of its stream, in any version of the language model specification. */
type Part = { type: string; id?: string; [member: string]: unknown };

/** End of a model call. */
type Finish = { finishReason?: unknown; usage?: unknown; providerMetadata?: unknown };

/** Result of a call without a stream. */
type Result = Finish & { content?: Part[]; response?: unknown };

/** Data known at the start of a call. */
export type CallStart = {
  input: unknown;
  provider?: string | undefined;
  modelId?: string | undefined;
  /** False if the AI SDK was told not to record them. */
  recordInputs?: boolean | undefined;
  recordOutputs?: boolean | undefined;
};

/** A call in progress. Recorded once, when it ends the first time. None of its functions throws. */
export type OpenCall = {
  add(part: Part): void;
  /** Ends the call. With `isStream`, a stream that was cut off is a failure. */
  end(isStream?: boolean): void;
  fail(error: unknown): void;
  /** Aborts the call for the application. A timeout as the reason is a failure. */
  abort(reason?: unknown): void;
};

/** JSON with placeholders for files, which would make the record too large. Throws on circular objects. */
const toJson = (value: unknown): string =>
  JSON.stringify(value, function (this: Record<string, unknown>, name, shown) {
    const member = this[name];
    if (typeof member === "bigint") return String(member);
    if (member instanceof URL) return member.href;
    const bytes = member instanceof ArrayBuffer || ArrayBuffer.isView(member) ? member.byteLength : undefined;
    if (bytes !== undefined) return `[${bytes} bytes]`;
    const isFile = (name === "data" || name === "image") && typeof member === "string";
    return isFile && !/^https?:/.test(member) && member.length > 200 ? `[${member.length} characters]` : shown;
  });

/** Replaces content that is one text part by its text, as in prompts. */
const inputOf = (input: unknown): unknown =>
  Array.isArray(input)
    ? input.map(({ role, content }) => ({
      role,
      content: content?.length === 1 && content[0].type === "text" ? content[0].text : content,
    }))
    : input;

/** Token counts of versions 3 and 4 of the specification. */
type NestedUsage = {
  inputTokens: { total?: number; cacheRead?: number; cacheWrite?: number };
  outputTokens: { total?: number; reasoning?: number };
};

type Members = Record<string, unknown>;

/** Charges that gateways and providers report in addition to the tokens. */
const costOf = (usage: Members, { gateway, openrouter, xai }: Record<string, Members>): Members => {
  const raw = Object(openrouter?.usage ?? usage.raw) as Members;
  return {
    cost: gateway?.cost ?? raw.cost,
    market_cost: gateway?.marketCost ?? raw.market_cost,
    is_byok: raw.is_byok,
    cost_in_usd_ticks: xai?.costInUsdTicks ?? raw.cost_in_usd_ticks,
  };
};

/** Token counts by names that the service accepts. Undefined if there are none. */
const usageOf = ({ usage, providerMetadata }: Finish): Members | undefined => {
  let tokens = Object(usage) as Members;
  const metadata = Object(providerMetadata) as Record<string, Members>;
  const { anthropic, bedrock } = metadata as Record<string, { usage?: Members }>;
  const cost = costOf(tokens, metadata);
  // Anthropic's own counts include one-hour cache writes. AI SDK 5 leaves out tokens that came from a cache.
  if (anthropic?.usage && tokens.inputTokens !== undefined) return { ...anthropic.usage, ...cost };
  if (typeof tokens.inputTokens === "number" && bedrock) {
    const { cachedInputTokens: cacheReadInputTokens, ...others } = tokens;
    return { ...others, ...bedrock.usage, cacheReadInputTokens };
  }
  if (typeof tokens.inputTokens === "object") {
    const { inputTokens: input, outputTokens: output } = usage as NestedUsage;
    tokens = {
      inputTokens: input.total,
      outputTokens: output.total,
      inputTokenDetails: { cacheReadTokens: input.cacheRead, cacheWriteTokens: input.cacheWrite },
      outputTokenDetails: { reasoningTokens: output.reasoning },
    };
  }
  return typeof (tokens.inputTokens ?? tokens.outputTokens) === "number" ? { ...tokens, ...cost } : undefined;
};

/**
 * True if a stream ended before the model did. AI SDK 7 reports that. Older providers keep their initial reason, or
 * have none.
 */
const isCutOff = (finish: Finish): boolean => {
  const { finishReason: reason } = finish;
  if (typeof reason !== "object") return reason === undefined || reason === "unknown" && !usageOf(finish);
  const { unified, raw } = Object(reason) as { unified?: string; raw?: string };
  return unified === "other" && raw === undefined;
};

const parse = (input: unknown): unknown => {
  try {
    return JSON.parse(input as string);
  } catch {
    return input;
  }
};

/** The text, if there is nothing else. Otherwise texts, tool calls and their results as JSON. */
const outputOf = (content: Part[]): string => {
  const shown = content.filter(({ type, text }) => !/reasoning|source/.test(type) && text !== "");
  if (shown.every(({ type }) => type === "text")) return shown.map(({ text }) => text).join("");
  return toJson(shown.map(({ type, text, toolCallId, toolName, input, result, mediaType }) => ({
    type,
    text,
    toolCallId,
    toolName,
    input: parse(input),
    result,
    mediaType,
  })));
};

/** A text, or the error in brackets. */
const textOrReason = (make: () => string): string => {
  try {
    return make();
  } catch (error) {
    return `[${textOf(error)}]`;
  }
};

/** Begins a call that is recorded when it ends. */
export const beginCall = (
  ledger: Ledger,
  tag: Tag,
  { input, provider, modelId, recordInputs, recordOutputs }: CallStart,
  { trace, onRecord }: Pick<RecordOptions, "trace" | "onRecord">,
): OpenCall => {
  const startAt = Date.now();
  const content: Part[] = [];
  const facts: Record<string, unknown> = {};
  let model = modelId, finish: Finish = {}, problem: unknown, isEnded = false;
  tracePrompt(trace, tag);

  const add = (part: Part): void => {
    const { type, id, delta } = Object(part) as Part;
    if (typeof type !== "string") return;
    if (type.endsWith("-delta")) {
      const kind = type.replace("-delta", "");
      if (kind !== "text" && kind !== "reasoning") return;
      const open = content.findLast((other) => other.type === kind && other.id === id);
      if (open) open.text += String(delta ?? "");
      else content.push({ type: kind, id: id ?? "", text: String(delta ?? "") });
    } else if (type === "response-metadata") {
      model = part.modelId as string ?? model;
      facts.response_id = id ?? facts.response_id;
    } else if (type === "finish") {
      finish = part as Finish;
      const reason = part.finishReason;
      facts.finish_reason = (Object(reason) as { unified?: string }).unified ?? reason;
    } else if (type === "error") problem ??= part.error ?? "error";
    else if (/^(text|tool-call|tool-result|file|reasoning)$/.test(type)) content.push({ ...part });
  };

  const record = (status: number): void => {
    if (isEnded) return;
    isEnded = true;
    const endAt = Date.now();
    try {
      if (problem !== undefined) {
        // A message may quote the input or output of the model.
        const isShown = recordInputs !== false && recordOutputs !== false;
        facts.error = isShown ? textOf(problem) : nameOf(problem);
      }
      const tokens = usageOf(finish);
      const item = {
        deployId: tag.deployId,
        idempotencyKey: newUuid(startAt),
        promptVersion: tag.version || undefined,
        rollout: tag.rollout,
        sessionId: tag.sessionId,
        status,
        content: {
          input: recordInputs === false ? undefined : textOrReason(() => toJson(inputOf(input))),
          output: recordOutputs === false ? "" : textOrReason(() => outputOf(content)),
        },
        latency: Math.max(0, endAt - startAt),
        startAt,
        endAt,
        model,
        provider: provider?.replace(/\..*/, ""),
        additional_properties: { ...tag.additional_properties, ...facts, ...(tokens && { token_usage: tokens }) },
      };
      ledger.record(item);
      onRecord?.(item);
    } catch {
      // A failing listener must not fail the application's call.
    }
  };

  const end = (isStream = false): void => {
    if (isStream && isCutOff(finish)) facts.finish_reason = "interrupted";
    const isCut = /^(error|interrupted)$/.test(String(facts.finish_reason));
    record(isAbort(problem) ? aborted : problem !== undefined || isCut ? failed : finished);
  };
  const fail = (error: unknown): void => {
    problem ??= error ?? "error";
    end();
  };
  return {
    add,
    end,
    fail,
    abort(reason) {
      if (nameOf(reason) === "TimeoutError") fail(reason);
      // Leaving a finished stream is not an abort.
      else record(facts.finish_reason ? finished : aborted);
    },
  };
};

/** Adds the result of a call without a stream. */
const addResult = (call: OpenCall, { content, response, ...finish }: Result): void => {
  if (Array.isArray(content)) content.forEach(call.add);
  call.add({ ...Object(response) as object, type: "response-metadata" });
  call.add({ ...finish, type: "finish" });
};

/** Wraps a stream. The parts that are read are added to the call, which ends with it. */
const watch = (stream: ReadableStream<Part>, call: OpenCall): ReadableStream<Part> => {
  const reader = stream.getReader();
  return new ReadableStream<Part>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          call.end(true);
          controller.close();
        } else {
          call.add(value);
          controller.enqueue(value);
        }
      } catch (error) {
        call.fail(error);
        controller.error(error);
      }
    },
    cancel(reason) {
      call.abort(reason);
      return reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
};

/** Runs a model call, and returns its result. */
export const runCall = async <T>(call: OpenCall, execute: () => PromiseLike<T>): Promise<T> => {
  let result: T;
  try {
    result = await execute();
  } catch (error) {
    call.fail(error);
    throw error;
  }
  const { stream } = Object(result) as { stream?: ReadableStream<Part> };
  if (stream) return { ...result, stream: watch(stream, call) };
  addResult(call, Object(result) as Result);
  call.end();
  return result;
};
