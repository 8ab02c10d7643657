// Limits of guards and alerts. Each applies to a measure, or to the feedback under a name.
import { invalidField } from "../../common/errors.ts";
import { feedbackNamePattern } from "../../schema/feedback.ts";
import type { FeedbackKind } from "../../schema/feedback.ts";
import { hinted, predicate } from "../../schema/struct.ts";
import type { JsonSchema } from "../../schema/struct.ts";

/** A limited name. After `feedback.` it is that of feedback, even if a measure has it too. */
export const limitedPattern = String.raw`(?:feedback\.)?${feedbackNamePattern}`;

/** A pattern of parts that may have spaces around them. */
export const spaced = (...parts: string[]): string => ["", ...parts.map((part) => `(?:${part})`), ""].join("\\s*");

/**
 * A limit as people write it: with spaces, as the console writes values, and with $ before an amount. For common
 * mistakes the fault explains what is wrong.
 */
export const typedLimit = (
  words: string,
  pattern: string,
  maxLength: number,
  hints: readonly (readonly [pattern: RegExp, hint: string])[],
  more: JsonSchema,
  isFitting = (_text: string) => true,
) => {
  const regExp = new RegExp(`^${pattern}$`);
  const struct = predicate<string>(
    words,
    // The length comes first, because a pattern with spaces can take long.
    (value) => typeof value === "string" && value.length <= maxLength && regExp.test(value) && isFitting(value),
    { type: "string", maxLength, pattern: `^${pattern}$`, ...more },
  );
  return hinted(struct, (text) => [comma, ...hints].find(([pattern]) => pattern.test(text))?.[1]);
};

const comma = [/\d,\d/, "Decimals have a point: 0.5"] as const;

/** A limit as it is stored. */
export const withoutSpaces = (text: string): string => text.replace(/[\s$]/g, "");

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
  if (kind === "label") {
    throw invalidField(
      subject === "A guard" ? "guard" : "condition",
      `${subject} takes no labels, and ${name} has them: remove ${text}`,
    );
  }
  return kind;
}
