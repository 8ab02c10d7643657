// Tools on records: their statistics, the records themselves, and feedback. The texts in them are from users and
// models.
import { Refusal } from "../common/errors.ts";
import { isJsonText, parseJson, stringify } from "../common/json-text.ts";
import type { DeploymentId, RecordId } from "../common/ids.ts";
import { compareStats } from "../management/records/compare.ts";
import { addFeedback } from "../management/feedback/feedback.ts";
import { recordFilter } from "../management/records/record-filter.ts";
import { getDiagnosis, listWorkspaceDiagnoses } from "../management/records/records.ts";
import { readStats, Stats } from "../management/records/stats.ts";
import { pageOf } from "../management/kernel/operation.ts";
import type { Diagnosis } from "../schema/ledger.ts";
import { feedbackName, feedbackValue, opinion } from "../schema/feedback.ts";
import type { FeedbackValue } from "../schema/feedback.ts";
import { described, exactly, option, optional, orNull, refined } from "../schema/struct.ts";
import type { Infer } from "../schema/struct.ts";
import * as v from "../management/kernel/values.ts";
import { cutText, shorten } from "./cut.ts";
import { deployment } from "./deployment-tools.ts";
import { shownAs } from "./schemas.ts";
import { workspaceOf } from "./session.ts";
import { defaultPage, inWorkspace, page, tool } from "./tool.ts";

const { from, to, promptVersion } = recordFilter;
const mostParts = 10;
const { series: _, otherVersions: _others, ...statsMembers } = Stats.schema;

const stats = tool({
  name: "stats",
  title: "Statistics of a deployment",
  description:
    "Statistics of the records of a deployment, over all and by version: failures, latency in ms, tokens, cost in " +
    `USD and feedback. It has the newest ${mostParts} versions and promotions. Times are Unix milliseconds.`,
  runs: [readStats],
  isForeign: true,
  input: { deployment, promptVersion, from, to, ...inWorkspace },
  output: exactly(statsMembers),
  async run({ call }, { deployment: deployId, ...input }) {
    const { series: _, otherVersions: _others, versions, promotions, ...found } = await call(readStats, {
      deployId,
      ...input,
    });
    return { ...found, versions: versions.slice(0, mostParts), promotions: promotions.slice(-mostParts) };
  },
});

const compare = tool({
  name: "compare",
  title: "Compare two deployments or versions",
  description:
    "Compares the records of two deployments, or of two versions of one, with 95 % intervals, and says in a " +
    "sentence what they show. For two versions of a deployment, give it as a and as b, with aVersion and bVersion.",
  runs: [compareStats],
  isForeign: true,
  input: {
    a: described(deployment, "The deployment to compare with, such as support/assistant@production"),
    aVersion: option(v.positive, "The version of a. Default: all"),
    b: described(deployment, "The deployment to compare with the baseline"),
    bVersion: option(v.positive, "The version of b. Default: all"),
    from,
    to,
    ...inWorkspace,
  },
  output: compareStats.output,
  run: async ({ call }, input) => await call(compareStats, input),
});

const maxBytes = 8_192; // of a record in one result
const maxPreview = 160; // characters

const shown = {
  id: v.textAs<RecordId>(),
  deployId: v.textAs<DeploymentId>(),
  reference: orNull(v.text, "The deployment as NAME@DEPLOYMENT"),
  promptVersion: v.positive,
  createdAt: described(v.timestamp, "Unix milliseconds"),
  status: described(v.text, "The code, and its name in the workspace if it has one"),
  latency: orNull(v.numeric, "Milliseconds"),
};

/** Members of a record without texts of users and models. */
const toShown = ({ id, deployId, reference, promptVersion, createdAt, status, statusName, latency }: Diagnosis) => ({
  ...{ id, deployId, reference, promptVersion, createdAt },
  status: shorten(`${stringify(status)}${statusName === null ? "" : ` (${statusName})`}`, maxPreview),
  latency: numberOrNull(plain(latency)),
});

const plain = (value: unknown): unknown => isJsonText(value) ? JSON.parse(value.text) : value;
const numberOrNull = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) ? value : null;

const Preview = exactly({
  ...shown,
  sessionId: described(v.text, `Its first ${maxPreview} characters`),
  input: described(v.text, `Its first ${maxPreview} characters`),
  output: described(v.text, `Its first ${maxPreview} characters`),
});

function toPreview(record: Diagnosis): Infer<typeof Preview> {
  const { input, output } = (plain(record.content) ?? {}) as { input?: unknown; output?: unknown };
  const preview = (value: unknown) => shorten(typeof value === "string" ? value : stringify(value ?? ""), maxPreview);
  return {
    ...toShown(record),
    ...{ sessionId: preview(plain(record.sessionId)), input: preview(input), output: preview(output) },
  };
}

const { sessionId, status, failures, model, slowerThan, text, feedback, withoutFeedback } = recordFilter;

const listRecords = tool({
  name: "list_records",
  title: "List records",
  description:
    "Lists records, newest first: what applications submitted of their model calls. It shows how each begins; " +
    "get_record shows all of one. A page may be short or empty after a long search: go on while nextCursor is not null.",
  runs: [listWorkspaceDiagnoses],
  isForeign: true,
  input: {
    deployment: optional(deployment),
    ...{ promptVersion, status, failures, from, to, sessionId, model, slowerThan, text, feedback, withoutFeedback },
    ...inWorkspace,
    ...page,
  },
  output: pageOf(Preview),
  async run(session, { deployment: deployId, workspaceId, limit = defaultPage, ...input }) {
    const workspace = await workspaceOf(session, workspaceId);
    const found = await session.call(listWorkspaceDiagnoses, { ...input, deployId, limit, workspaceId: workspace });
    return { ...found, items: found.items.map(toPreview) };
  },
});

const position = refined(v.cursor, (value) => /^\d{1,12}$/.test(value), v.cursorWords, { pattern: "^[0-9]{1,12}$" });

const getRecord = tool({
  name: "get_record",
  title: "Get a record",
  description:
    `Returns a record as JSON text, ${maxBytes} bytes of it at a time: input, output, all that was submitted, and ` +
    "its feedback. With nextCursor as cursor it goes on.",
  runs: [getDiagnosis],
  isForeign: true,
  input: {
    record: described(v.recordId, "The id of the record"),
    cursor: option(position, "The nextCursor of the result before, to go on where it ended"),
  },
  output: exactly({
    ...shown,
    text: described(v.text, "What was submitted, as JSON text. It may begin and end in the middle"),
    nextCursor: orNull(v.text, "The cursor of the rest, or null at the end"),
  }),
  async run({ call }, { record: id, cursor = "0" }) {
    const record = await call(getDiagnosis, { id });
    const { sessionId, content, additional_properties, ...others } = record;
    // The members that are needed most come first.
    const whole = stringify({ content, sessionId, additional_properties, ...others });
    const { piece, next } = cutText(whole, Number(cursor), maxBytes);
    return { ...toShown(record), text: piece, nextCursor: next === undefined ? null : String(next) };
  },
});

const { comment } = opinion;

const giveFeedback = tool({
  name: "give_feedback",
  title: "Give feedback on a record",
  description:
    "Says what you think of a record: true or false, a number, or a label, under a name such as correct. It replaces " +
    "what you said before under that name. Each name has one kind of values in a workspace.",
  runs: [addFeedback],
  change: "adds",
  input: {
    record: described(v.recordId, "The id of the record"),
    name: described(feedbackName, "What is judged, such as correct"),
    value: shownAs(
      described(feedbackValue, "true, false, a number or a label"),
      { type: "string", description: "true, false, a number or a label. A name has values of one kind" },
    ),
    comment,
  },
  output: addFeedback.output,
  async run({ call }, { record: id, value, ...given }) {
    const give = (value: FeedbackValue) => call(addFeedback, { id, ...given, value, source: "program" });
    const spelt = typeof value === "string" ? parseJson(value.trim().toLowerCase()) : undefined;
    if (typeof spelt !== "number" && typeof spelt !== "boolean" || !feedbackValue.is(spelt)) return await give(value);
    try {
      return await give(spelt);
    } catch (error) {
      // The feedback name has labels.
      if (error instanceof Refusal && error.code === "feedback_kind_differs") return await give(value);
      throw error;
    }
  },
});

export const recordTools = [stats, compare, listRecords, getRecord, giveFeedback];
