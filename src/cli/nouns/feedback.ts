// Shows feedback on the command line, gives it and imports it: a piece as a row, the feedback on a record in a cell,
// and its statistics in words.
import { stringify } from "../../common/json-text.ts";
import { eachPage } from "../../database/page.ts";
import { readFeedbackAgreement } from "../../management/feedback/feedback-agreement.ts";
import { declareFeedback, listFeedbackNames, undeclareFeedback } from "../../management/terms/feedback-names.ts";
import type { FeedbackNameRule } from "../../management/terms/feedback-names.ts";
import { addFeedback, importFeedback, removeFeedback, showFeedback } from "../../management/feedback/feedback.ts";
import type { ImportedFeedback, RecordFeedback } from "../../management/feedback/feedback.ts";
import type { EarlierFeedback, Feedback, FeedbackAnswer, FeedbackStats } from "../../schema/feedback.ts";
import { isObject } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import { numberText, percentOf } from "../frame/charts.ts";
import { show } from "../frame/command.ts";
import type { Outcome } from "../frame/command.ts";
import { readFeedbackFile, readValue } from "./feedback-files.ts";
import type { FeedbackFile, RefusedLine } from "./feedback-files.ts";
import { counted, format, stripControls } from "../frame/format.ts";
import { present } from "../frame/operation-commands.ts";

const listText = (title: string, pieces: (Feedback | EarlierFeedback)[], columns?: number) =>
  pieces.length === 0 ? "" : `${title}${format(pieces.map(toFeedbackRow), columns)}`;

/** A name on one line: its kind, and its valid values. */
const toNameRow = ({ name, kind, isDeclared, minimum, maximum, labels, better }: FeedbackNameRule) => ({
  name,
  kind,
  isDeclared,
  values: labels ?? (minimum === null && maximum === null ? null : `${minimum ?? "-∞"} to ${maximum ?? "∞"}`),
  better,
});

const showNames = (data: { names: FeedbackNameRule[] }): Outcome => ({
  data,
  rows: data.names.map(toNameRow),
  note: data.names.length === 0 ? "No names" : undefined,
});

const showAnswer = (answer: Infer<typeof FeedbackAnswer>): Outcome =>
  show(answer, answer.isChanged ? undefined : "Nothing to change");

const batchSize = 500;
const batchCharacters = 1_000_000; // of JSON text

/** Batches that a request can take. */
function* batchesOf(pieces: FeedbackFile["pieces"]): Generator<FeedbackFile["pieces"]> {
  let batch: FeedbackFile["pieces"] = [], characters = 0;
  for (const each of pieces) {
    const length = JSON.stringify(each.piece).length;
    if (batch.length === batchSize || batch.length > 0 && characters + length > batchCharacters) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(each);
    characters += length;
  }
  if (batch.length > 0) yield batch;
}

const shownRefusals = 20;

/** `Refused 2 of 10 lines`, and the reasons below it. */
function describeRefused(refused: RefusedLine[], total: number): string {
  const shown = refused.slice(0, shownRefusals).map(({ line, error }) => `line ${line}: ${error}`);
  const rest = refused.length > shownRefusals ? [`and ${refused.length - shownRefusals} more, which --json lists`] : [];
  return [`Refused ${refused.length} of ${counted(total, "line")}`, ...shown, ...rest].join("\n  ");
}

export const feedbackPresentations = [
  present(showFeedback, {
    async run({ call, terminal: { columns } }, input) {
      const data: Omit<RecordFeedback, "nextCursor"> = { feedback: [], earlier: [] };
      const list = async (cursor: string | undefined) => {
        const { nextCursor, ...page } = await call(showFeedback, { ...input, cursor });
        // A service of an earlier version has no pages.
        return { items: [page], nextCursor: nextCursor ?? null };
      };
      for await (const [page] of eachPage(list)) {
        data.feedback.push(...page!.feedback);
        data.earlier.push(...page!.earlier);
      }
      data.earlier.sort((one, other) => one.endedAt - other.endedAt); // each page is in this order by itself
      const { feedback, earlier } = data;
      return {
        data,
        text: () => stripControls(listText("", feedback, columns) + listText("\nearlier\n", earlier, columns)),
        note: feedback.length === 0 ? "No feedback" : undefined,
      };
    },
  }),
  present(addFeedback, {
    explanations: { VALUE: "The author's judgement: true, false, a number, or a label" },
    async run({ args, call }, input) {
      return showAnswer(await call(addFeedback, { ...input, value: readValue(args.text("VALUE")) }));
    },
  }),
  present(readFeedbackAgreement, {
    show: (data) => show(data, data.records === 0 ? "No record has feedback of both" : undefined),
  }),
  present(removeFeedback, { show: showAnswer }),
  present(listFeedbackNames, { show: showNames }),
  present(declareFeedback, {
    explanations: { label: "An accepted label. Default: all" },
    async run({ args, call }, input) {
      const labels = args.texts("label");
      return show(await call(declareFeedback, labels.length === 0 ? input : { ...input, labels }));
    },
  }),
  present(undeclareFeedback, { show: showNames }),
  present(importFeedback, {
    explanations: {
      FILE:
        "The feedback, with the members or columns record, name, value, comment, author and source. - is standard input",
      format: "JSON with a piece on each line, or CSV with a header. Default: csv for a file named .csv, else ndjson",
    },
    async run({ args, call, terminal }, input) {
      const path = args.text("FILE");
      const kind = args.findText<"ndjson" | "csv">("format") ?? (/\.csv$/i.test(path) ? "csv" : "ndjson");
      const { pieces, refused } = readFeedbackFile(await terminal.read(path), kind);
      const total = pieces.length + refused.length;
      const sum = { stored: 0, waiting: 0, unchanged: 0 };
      let done = 0;
      for (const batch of batchesOf(pieces)) {
        const feedback: ImportedFeedback[] = batch.map(({ piece }) => piece);
        const result = await call(importFeedback, { ...input, feedback });
        sum.stored += result.stored;
        sum.waiting += result.waiting;
        sum.unchanged += result.unchanged;
        for (const { index, error } of result.refused) refused.push({ line: batch[index]!.line, error });
        terminal.report(`Imported ${done += batch.length} of ${pieces.length}`);
      }
      refused.sort((a, b) => a.line - b.line);
      const isComplete = refused.length === 0;
      return {
        data: { ...sum, refused },
        text: () => format({ ...sum, refused: refused.length }),
        note: isComplete ? undefined : describeRefused(refused, total),
        failed: !isComplete,
      };
    },
  }),
];

/** A piece on one line. Its comment comes last, because it is cut where the terminal is narrow. */
export const toFeedbackRow = (
  { name, value, author, source, givenAt, comment, ...rest }: Feedback | EarlierFeedback,
) => ({
  ...{ name, value: String(value), author, source, givenAt },
  ...rest,
  text: comment,
});

/** The feedback on a record, which may be that of another service. */
export function feedbackOf(record: object & { feedback?: unknown }): Feedback[] {
  const pieces: unknown = JSON.parse(stringify(record.feedback ?? null));
  return Array.isArray(pieces) ? pieces.filter(isObject) as Feedback[] : [];
}

const cellOf = (texts: string[]) => texts.length === 0 ? {} : { feedback: texts.join(", ") };

/** A cell with the feedback on a record, if there is any: `correctness=0.5, thumb=true`. */
export const recordCell = (record: object) => cellOf(feedbackOf(record).map(({ name, value }) => `${name}=${value}`));

/** Cell with the statistics of some records, if they have any. Lists from a service are still JSON text in parts. */
export const statsCell = (feedback: FeedbackStats[] = []) =>
  cellOf((JSON.parse(stringify(feedback)) as FeedbackStats[]).map((stats) => `${stats.name} ${meaningOf(stats)}`));

/** Short text of statistics: `0.62`, `83.3 % true`, or the most frequent label, `60.0 % kind`. */
export function meaningOf({ mean, share, labels }: FeedbackStats): string {
  if (mean !== null) return numberText(mean);
  if (share !== null) return `${percentOf(share)} true`;
  const [first] = labels;
  return first === undefined ? "-" : `${percentOf(first.share)} ${first.label}`;
}

const countText = ({ records, pieces }: FeedbackStats) =>
  `${counted(records, "record")}${pieces === records ? "" : `, ${pieces} pieces`}`;

const interval = (low: number | null, high: number | null, toText: (value: number) => string) =>
  low === null || high === null ? "" : ` (95 % interval ${toText(low)} to ${toText(high)})`;

/** `thumb (12 records): 83.3 % true (95 % interval 55.2 % to 95.3 %)` */
export function statsLine(stats: FeedbackStats): string {
  const { name, mean, low, high, labels, otherLabels, pieces } = stats;
  const label = (each: FeedbackStats["labels"][number]) =>
    `${each.label} ${percentOf(each.share)}${interval(each.low, each.high, percentOf)}`;
  const others = otherLabels === 0 ? [] : [`others ${percentOf(otherLabels / pieces)}`];
  const text = labels.length > 0
    ? [...labels.map(label), ...others].join(", ")
    : mean === null
    ? `${meaningOf(stats)}${interval(low, high, percentOf)}`
    : `mean ${numberText(mean)}${interval(low, high, numberText)}`;
  return `${name} (${countText(stats)}): ${text}`;
}
