// Gemini: generateContent and generateContentStream.
import { joinTexts, recordBy } from "./record.ts";
import type { RecordResponse } from "./record.ts";

type Part = { text?: string; thought?: boolean; inlineData?: { mimeType?: string; data?: string } };

type Content = {
  responseId: string;
  modelVersion: string;
  usageMetadata: object;
  candidates: { content?: { parts?: Part[] }; finishReason?: string }[];
  promptFeedback: { blockReason?: string };
};

/**
 * Records a call by what `generateContent` of Gemini gives, by the stream of `generateContentStream`, or by a promise.
 *
 * @example
 * const response = await recordGemini(prompt.call(), ai.models.generateContent(request), { input: request.contents });
 */
export const recordGemini: RecordResponse = recordBy<Content>({
  // The first candidate, as streams of several are not offered.
  add(whole, part) {
    const { candidates, ...others } = part as Partial<Content>;
    const [first] = whole.candidates ??= [{ content: { parts: [] } }];
    first!.content!.parts!.push(...candidates?.[0]?.content?.parts ?? []);
    const reason = candidates?.[0]?.finishReason;
    if (reason) first!.finishReason = reason;
    for (const name of ["responseId", "modelVersion", "usageMetadata", "promptFeedback"] as const) {
      if (others[name]) Object.assign(whole, { [name]: others[name] });
    }
  },
  read({ responseId, modelVersion, usageMetadata, candidates = [], promptFeedback }) {
    const [first] = candidates, blocked = promptFeedback?.blockReason;
    const parts = (first?.content?.parts ?? []).filter(({ thought }) => !thought);
    return {
      id: responseId,
      model: modelVersion,
      usage: usageMetadata,
      output: joinTexts(
        // A file would make the record too large.
        parts.map((part) => part.inlineData ? { inlineData: { mimeType: part.inlineData.mimeType } } : part),
        (part) => (part as Part).text,
      ),
      reason: first?.finishReason ?? blocked,
      error: blocked && `Blocked: ${blocked}`,
    };
  },
});
