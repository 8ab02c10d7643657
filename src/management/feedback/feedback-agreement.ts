// Agreement of two authors of feedback.
import { findAgreement } from "../../tallies/feedback-agreement.ts";
import { feedbackName } from "../../schema/feedback.ts";
import { described, orNull, refined, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import { reportRead } from "../kernel/progress.ts";
import * as v from "../kernel/values.ts";
import { readFeedbackNames } from "../terms/feedback-names.ts";
import { operation } from "../kernel/operation.ts";
import { inWorkspace, recordFilter, scopeOfWorkspace, toScan } from "../records/record-filter.ts";

const authorsPattern = "^[^,\\u0000-\\u001f\\u007f-\\u009f]{0,128},[^,\\u0000-\\u001f\\u007f-\\u009f]{0,128}$";
const authorsWords = "two different authors with a comma between them";
const authors = refined(
  v.matching(authorsWords, authorsPattern, { examples: ["ann,bob"] }, "u"),
  (value) => new Set(value.split(",")).size === 2,
  authorsWords,
);

const Agreement = shape("FeedbackAgreement", {
  name: feedbackName,
  kind: orNull(v.text, "What its values are: number, boolean or label. Null if nothing was given under it"),
  records: described(v.count, "How many records both judged"),
  agreed: described(v.count, "On how many of them they gave the same value"),
  kappa: orNull(
    v.numeric,
    "Cohen's kappa: 1 for full agreement, 0 for that of chance. Each number is a category of its own. Null if both gave " +
      "one and the same value alone, or judged no record together",
  ),
});
export type FeedbackAgreement = Infer<typeof Agreement>;

export const readFeedbackAgreement = operation({
  id: "readFeedbackAgreement",
  summary: "Show how far two authors agree under a feedback name, on the records that both judged",
  method: "GET",
  path: "/workspaces/{workspaceId}/feedback-agreement",
  conflicts: true,
  command: "feedback agreement NAME --authors A,B",
  input: {
    ...inWorkspace,
    name: described(feedbackName, "The name of the feedback"),
    authors: described(authors, "The two authors. Either may be empty (feedback without an author)"),
    ...recordFilter,
  },
  output: Agreement,
  isLong: true,
  async run(management, { workspaceId, deployId, name, authors, ...filter }) {
    const scope = await scopeOfWorkspace(management, { workspaceId, deployId });
    const rule = (await readFeedbackNames(management, workspaceId)).find((rule) => rule.name === name);
    if (rule === undefined) return { name, kind: null, records: 0, agreed: 0, kappa: null };
    const [one = "", other = ""] = authors.split(",");
    const { records, agreed, kappa = null } = await findAgreement(
      management.database,
      { ...await toScan(management, scope, filter), reads: { voices: { name, authors: [one, other] } } },
      reportRead(management),
    );
    return { name, kind: rule.kind, records, agreed, kappa };
  },
});
