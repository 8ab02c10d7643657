// Gemini: generateContent and generateContentStream, and interactions.
import { joinTexts, merge, recordBy } from "./record.ts";
import type { Read, RecordResponse } from "./record.ts";

type Part = { text?: string; thought?: boolean; inlineData?: { mimeType?: string; data?: string } };

type Content = {
  responseId: string;
  modelVersion: string;
  usageMetadata: object;
  candidates: { content?: { parts?: Part[] }; finishReason?: string }[];
  promptFeedback: { blockReason?: string };
};

type Piece = { type: string; text?: string; data?: string };

/** A step of an interaction: an answer, a call, a thought. */
type Step = { type: string; content?: Piece[]; arguments?: unknown; error?: { message?: string } };

type Interaction = {
  id: string;
  model: string;
  status: string;
  usage: object;
  steps: Step[];
  error: { message?: string };
};

/** An event of a stream of an interaction. */
type Event = {
  event_type: string;
  index: number;
  interaction?: Partial<Interaction>;
  status?: string;
  step?: Step;
  delta?: { type: string; text?: string; arguments?: string };
  error?: Interaction["error"];
};

const addEvent = (whole: Partial<Interaction>, { index, interaction, status, step, delta, error }: Event): void => {
  const steps = whole.steps ??= [];
  if (interaction) merge(whole, { ...interaction, steps: interaction.steps?.length ? interaction.steps : steps });
  merge(whole, { status, error });
  if (step) steps[index] = { ...step, ...(step.content && { content: [...step.content] }) };
  const open = steps[index];
  if (open && delta?.type === "text") {
    const content = open.content ??= [], last = content.at(-1);
    if (last?.type === "text") last.text = (last.text ?? "") + (delta.text ?? "");
    else content.push({ type: "text", text: delta.text ?? "" });
  }
  // The arguments of a call begin as an object, and are a string until they are complete.
  if (open && delta?.arguments) {
    open.arguments = (typeof open.arguments === "string" ? open.arguments : "") + delta.arguments;
  }
};

const endings = ["completed", "failed", "cancelled", "incomplete", "requires_action"];

const readInteraction = ({ id, model, usage, status, steps = [], error }: Partial<Interaction>): Read => {
  const answers = steps.filter((step) => step && !/^(thought|user_input)$/.test(step.type));
  const fault = error ?? answers.find((step) => step.error)?.error;
  return {
    id,
    model,
    usage,
    output: joinTexts(
      // A file would make the record too large.
      answers.map(({ content, ...step }) => ({ ...step, ...(content && { content: content.map(withoutData) }) })),
      ({ type, content = [] }) =>
        type === "model_output" && content.every((piece) => piece.type === "text")
          ? content.map(({ text }) => text).join("")
          : undefined,
    ),
    reason: endings.includes(status!) ? status : undefined,
    error: fault ? `Error: ${fault.message}` : status === "failed" ? "Error: failed" : undefined,
  };
};

const withoutData = ({ data: _, ...piece }: Piece): Piece => piece;

const readContent = (whole: Partial<Content>): Read => {
  const { responseId, modelVersion, usageMetadata, candidates = [], promptFeedback } = whole;
  const [first] = candidates, blocked = promptFeedback?.blockReason;
  const parts = (first?.content?.parts ?? []).filter(({ thought }) => !thought);
  return {
    id: responseId,
    model: modelVersion,
    usage: usageMetadata,
    output: joinTexts(
      // Without file data, as above.
      parts.map((part) => part.inlineData ? { inlineData: { mimeType: part.inlineData.mimeType } } : part),
      (part) => (part as Part).text,
    ),
    reason: first?.finishReason ?? blocked,
    error: blocked && `Blocked: ${blocked}`,
  };
};

/**
 * Records a call from the result of Gemini's `generateContent`, the stream of `generateContentStream`, an interaction
 * or its stream, or a promise.
 *
 * @example
 * const response = await recordGemini(prompt.call(), ai.models.generateContent(request), { input: request.contents });
 */
export const recordGemini: RecordResponse = recordBy<Content & Interaction>({
  // Only the first candidate, as there are no streams of several.
  add(whole, part) {
    if ("event_type" in part) return addEvent(whole, part as Event);
    const { candidates, usageMetadata, responseId, modelVersion, promptFeedback } = part as Partial<Content>;
    const [first] = whole.candidates ??= [{ content: { parts: [] } }];
    first!.content!.parts!.push(...candidates?.[0]?.content?.parts ?? []);
    const reason = candidates?.[0]?.finishReason;
    if (reason) first!.finishReason = reason;
    merge(whole, { responseId, modelVersion, promptFeedback });
    // A later part may leave out counts that an earlier one had.
    if (usageMetadata) merge(whole.usageMetadata ??= {}, usageMetadata);
  },
  read: (whole) => whole.steps ? readInteraction(whole) : readContent(whole),
});
