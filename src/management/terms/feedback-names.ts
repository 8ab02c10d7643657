// The names under which records of a workspace have feedback. A workspace may declare them, and then takes no others.
import { bounds } from "../../support/bounds.ts";
import { conflict, feedbackFull, feedbackKindDiffers, invalidField } from "../../common/errors.ts";
import type { WorkspaceId } from "../../common/ids.ts";
import { readerOf } from "../../database/row.ts";
import { maxNames } from "../../feedback/feedback.ts";
import { feedbackKinds, feedbackName, feedbackNumber } from "../../schema/feedback.ts";
import { described, listOf, nullable, oneOf, option, orNull, refined, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { operation } from "../kernel/operation.ts";
import type { Store } from "../kernel/operation.ts";

const label = refined(
  v.label,
  (value) => value !== "",
  "a label of 1 to 200 characters without control characters",
  { minLength: 1 },
);
const maxLabels = bounds.labelsOfName;

const declaration = {
  kind: described(oneOf(...feedbackKinds), "What its values are"),
  minimum: option(feedbackNumber, "For numbers, the minimum accepted"),
  maximum: option(feedbackNumber, "For numbers, the maximum accepted"),
  labels: option(
    refined(
      listOf(label),
      (labels) => labels.length >= 1 && labels.length <= maxLabels && new Set(labels).size === labels.length,
      `an array of 1 to ${maxLabels} different labels`,
      { minItems: 1, maxItems: maxLabels, uniqueItems: true },
    ),
    "The labels that are taken. Default: all",
  ),
  better: option(oneOf("higher", "lower"), "Which values are better. Of booleans, true is the higher one"),
};

/** A name under which the records of a workspace have feedback. */
const FeedbackNameRule = shape("FeedbackName", {
  name: feedbackName,
  kind: declaration.kind,
  isDeclared: described(v.boolean, "Whether the workspace declared it. If it declares any, others are refused"),
  minimum: nullable(v.numeric),
  maximum: nullable(v.numeric),
  labels: nullable(listOf(v.text)),
  better: orNull(v.text, "Which values are better: higher, lower, or null for neither"),
});
export type FeedbackNameRule = Infer<typeof FeedbackNameRule>;

export const toRule = readerOf(FeedbackNameRule);

/** The names of a workspace, in their order. */
export async function readFeedbackNames({ database }: Store, workspaceId: WorkspaceId): Promise<FeedbackNameRule[]> {
  const sql = "select * from feedback_names where workspace_id = ? order by name";
  return (await database.read({ sql, args: [workspaceId] })).map(toRule);
}

/** A rule before a change, without its name, which the audit log then has as a differing member. */
const unnamed = ({ name: _, ...rule }: FeedbackNameRule): object => rule;

const FeedbackNames = shape("FeedbackNames", { names: listOf(FeedbackNameRule) });

export const listFeedbackNames = operation({
  id: "listFeedbackNames",
  summary: "List the names under which records of a workspace have feedback",
  method: "GET",
  path: "/workspaces/{workspaceId}/feedback-names",
  command: "feedback names",
  input: { workspaceId: v.workspaceId },
  output: FeedbackNames,
  async run(management, { workspaceId }) {
    return { names: await readFeedbackNames(management, workspaceId) };
  },
});

export const declareFeedback = operation({
  id: "declareFeedback",
  summary: "Declare a name of feedback. Once a workspace has declared one, it refuses feedback under other names",
  method: "POST",
  path: "/workspaces/{workspaceId}/feedback-names",
  conflicts: true,
  role: "admin",
  command:
    "feedback declare NAME --kind number|boolean|label [--minimum NUMBER] [--maximum NUMBER] [--label LABEL]... " +
    "[--better higher|lower]",
  input: { workspaceId: v.workspaceId, name: described(feedbackName, "The name"), ...declaration },
  output: FeedbackNameRule,
  async run(management, { workspaceId, name, kind, ...given }) {
    const { minimum = null, maximum = null, labels = null, better = null } = given;
    if (kind !== "number" && (minimum ?? maximum) !== null) {
      throw invalidField(minimum === null ? "maximum" : "minimum", "Only numbers have a minimum and a maximum");
    }
    if (kind !== "label" && labels !== null) throw invalidField("labels", "Only labels have a list of labels");
    if (minimum !== null && maximum !== null && minimum > maximum) {
      throw invalidField("minimum", "Field minimum must not be above maximum", "at most the maximum");
    }
    const names = await readFeedbackNames(management, workspaceId);
    const before = names.find((rule) => rule.name === name);
    if (before !== undefined && before.kind !== kind) throw feedbackKindDiffers(name, before.kind, "kind");
    const rule = { name, kind, isDeclared: true, minimum, maximum, labels, better };
    requireFit([...names.filter((each) => each !== before), rule]);
    const change = { action: "feedback_name.declared", id: workspaceId, workspaceId, after: rule };
    await management.commit([before === undefined ? change : { ...change, before: unnamed(before) }], [{
      sql: `insert into feedback_names (workspace_id, name, kind, is_declared, minimum, maximum, labels, better)
        values (:workspaceId, :name, :kind, 1, :minimum, :maximum, :labels, :better)
        on conflict do update set is_declared = 1, minimum = excluded.minimum, maximum = excluded.maximum,
          labels = excluded.labels, better = excluded.better`,
      args: { workspaceId, name, kind, minimum, maximum, labels: labels && JSON.stringify(labels), better },
    }]);
    return rule;
  },
});

/** Throws if there are too many names, or too many bytes of labels: whatever reads feedback reads all of them. */
function requireFit(names: FeedbackNameRule[]): void {
  if (names.length > maxNames) throw feedbackFull(maxNames, "names of feedback in a workspace");
  const bytes = names.reduce((sum, { labels }) => sum + (labels === null ? 0 : bytesOf(JSON.stringify(labels))), 0);
  if (bytes <= bounds.labelBytes) return;
  throw conflict(`The labels of all names may have at most ${bounds.labelBytes} bytes of JSON`, "labels_too_long");
}

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

export const undeclareFeedback = operation({
  id: "undeclareFeedback",
  summary: "Withdraw the declaration of a name of feedback. What was given stays, and so does the kind of its values",
  method: "DELETE",
  path: "/workspaces/{workspaceId}/feedback-names",
  role: "admin",
  command: "feedback undeclare NAME",
  input: { workspaceId: v.workspaceId, name: described(feedbackName, "The name") },
  output: FeedbackNames,
  async run(management, { workspaceId, name }) {
    const names = await readFeedbackNames(management, workspaceId);
    const before = names.find((rule) => rule.name === name);
    if (!before?.isDeclared) return { names };
    const rule = {
      name,
      kind: before.kind,
      isDeclared: false,
      minimum: null,
      maximum: null,
      labels: null,
      better: null,
    };
    await management.commit(
      [{ action: "feedback_name.undeclared", id: workspaceId, workspaceId, before: unnamed(before), after: rule }],
      [{
        sql: `update feedback_names
          set is_declared = 0, minimum = null, maximum = null, labels = null, better = null
          where workspace_id = ? and name = ?`,
        args: [workspaceId, name],
      }],
    );
    return { names: await readFeedbackNames(management, workspaceId) };
  },
});

export const feedbackNameOperations = [listFeedbackNames, declareFeedback, undeclareFeedback];
