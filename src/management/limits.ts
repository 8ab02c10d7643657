// What guards and alerts have in common: each limits a measure, or the feedback of a name.
import { invalid } from "../common/errors.ts";
import { feedbackNamePattern } from "../schema/feedback.ts";
import type { FeedbackKind } from "../schema/feedback.ts";

/** What is limited. Behind `feedback.` a name is that of feedback, even if a measure has it too. */
export const limitedPattern = String.raw`(?:feedback\.)?${feedbackNamePattern}`;

/** `text` is the whole limit. */
export type Limited = { name: string; isFeedback: boolean; text: string };

export function readLimited(text: string, limited: string, measures: readonly string[]): Limited {
  const name = limited.replace(/^feedback\./, "");
  return { name, isFeedback: name !== limited || !measures.includes(name), text };
}

/** The kind of the feedback that is limited. Undefined for a measure, and if there is no such feedback yet. */
export function findKind(
  { name, isFeedback, text }: Limited,
  names: readonly { name: string; kind: FeedbackKind }[],
  subject: "A guard" | "An alert",
): "number" | "boolean" | undefined {
  const kind = isFeedback ? names.find((each) => each.name === name)?.kind : undefined;
  if (kind === "label") throw invalid(`${subject} takes no labels, and ${name} has them: remove ${text}`);
  return kind;
}
