// Feedback on a record as pages show it, and as their forms give and withdraw it.
import { invalidField, wrongField } from "../../common/errors.ts";
import type { RecordId } from "../../common/ids.ts";
import { numberPattern, stringify } from "../../common/json-text.ts";
import { addFeedback, authorOf, digestFeedback, removeFeedback } from "../../management/feedback/feedback.ts";
import { listFeedbackNames } from "../../management/terms/feedback-names.ts";
import type { FeedbackNameRule } from "../../management/terms/feedback-names.ts";
import type { FeedbackDigest } from "../../log/record-feedback.ts";
import type { Feedback, FeedbackKind, FeedbackValue } from "../../schema/feedback.ts";
import type { Diagnosis } from "../../schema/ledger.ts";
import { formValue, queryOf, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest } from "../frame/page.ts";

/** The feedback on a record as far as a page shows it, and the names that the workspace has. If it declared any, these alone. */
export type FeedbackOnRecord = FeedbackDigest & {
  names: FeedbackNameRule[];
  /** True if the workspace accepts undeclared names. */
  isOpen: boolean;
};

export const mostPieces = 12; // rows of a page
const mostEarlier = 6; // rows of what was replaced or withdrawn

export async function findFeedback(visit: ConsoleRequest, id: RecordId): Promise<FeedbackOnRecord> {
  const most = { author: reviewerOf(visit), others: mostPieces, earlier: mostEarlier };
  const [digest, { names }] = await Promise.all([
    visit.call(digestFeedback, { id, ...most }),
    visit.call(listFeedbackNames, { workspaceId: workspaceOf(visit).id }),
  ]);
  const declared = names.filter(({ isDeclared }) => isDeclared), isOpen = declared.length === 0;
  return { ...digest, names: isOpen ? names : declared, isOpen };
}

/** Feedback on a record from a list. */
export const piecesOf = ({ feedback }: Diagnosis & { feedback?: unknown }): Feedback[] =>
  JSON.parse(stringify(feedback ?? []));

/** A person as pages name them. The operator has no token, and so no name. */
export const personName = (actor: string): string => actor || "Operator";

/** Author of feedback in the console. The operator has a name: no author means the application. */
export const reviewerOf = ({ caller: { actor } }: ConsoleRequest): string => authorOf(personName(actor));

/** Notices after a form, by their word in the query. */
export const feedbackNotices = {
  given: "Feedback is saved.",
  same: "Nothing has changed: this was saved already.",
  withdrawn: "Feedback is withdrawn. What was said stays in its history.",
} as const;

/** The query of a page with feedback as its links keep it: the filter of the list that led there. */
export function keptQuery(visit: ConsoleRequest): Record<string, string> {
  const { done: _, rate: _name, ...kept } = queryOf(visit);
  return kept;
}

/** True if a form is about feedback. */
export const isAboutFeedback = ({ form }: ConsoleRequest): boolean =>
  ["feedback", "withdraw"].includes(form.get("do") ?? "");

/**
 * Gives or withdraws the feedback of a form, on a record in the workspace of the path. Returns the word for the notice.
 */
export async function changeFeedback(visit: ConsoleRequest, id: RecordId): Promise<keyof typeof feedbackNotices> {
  const name = formValue(visit, "name") ?? "", author = reviewerOf(visit);
  if (visit.form.get("do") === "withdraw") {
    const { isChanged } = await visit.call(removeFeedback, { id, name, author });
    return isChanged ? "withdrawn" : "same";
  }
  const { names } = await visit.call(listFeedbackNames, { workspaceId: workspaceOf(visit).id });
  const value = valueIn(visit, names.find((rule) => rule.name === name)?.kind);
  const comment = formValue(visit, "comment")?.replaceAll("\r\n", "\n");
  const { isChanged } = await visit.call(addFeedback, { id, name, value, comment, author });
  return isChanged ? "given" : "same";
}

const isNumber = new RegExp(`^${numberPattern}$`), isAmbiguous = /^[+-]?\d+(,\d+)+$/;
const truths = new Map([["true", true], ["yes", true], ["false", false], ["no", false]]);

/** Value of the form, of the kind that the name has. The text decides for a new name. */
function valueIn(visit: ConsoleRequest, kind: FeedbackKind | undefined): FeedbackValue {
  const text = formValue(visit, "value") ?? "", truth = truths.get(text.toLowerCase());
  if (kind === "label") return text;
  if (kind !== "number" && truth !== undefined) return truth;
  if (kind !== "boolean" && isNumber.test(text)) return Number(text);
  if (kind === "boolean") throw wrongField("value", "yes or no");
  if (kind === "number") throw wrongField("value", "a number");
  if (isAmbiguous.test(text)) {
    throw invalidField("value", "Field value must have a point before decimals, as in 0.5");
  }
  return text;
}

/** The field that a change was refused for, by its name in the form. */
export function faultyField({ refusal }: ConsoleRequest): "name" | "value" | "comment" | undefined {
  if (refusal === undefined) return undefined;
  return refusal.field === "name" || refusal.field === "comment" ? refusal.field : "value";
}
