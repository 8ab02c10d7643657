// How the command line shows feedback, gives it and imports it.
import { readFeedbackAgreement } from "../management/feedback-agreement.ts";
import { declareFeedback, listFeedbackNames, undeclareFeedback } from "../management/feedback-names.ts";
import type { FeedbackNameRule } from "../management/feedback-names.ts";
import { addFeedback, importFeedback, removeFeedback, showFeedback } from "../management/feedback.ts";
import type { ImportedFeedback } from "../management/feedback.ts";
import type { EarlierFeedback, Feedback, FeedbackAnswer } from "../schema/feedback.ts";
import type { Infer } from "../schema/struct.ts";
import { show } from "./command.ts";
import type { Outcome } from "./command.ts";
import { toFeedbackRow } from "./feedback-text.ts";
import { readFeedbackFile, readValue } from "./feedback-files.ts";
import type { FeedbackFile, RefusedLine } from "./feedback-files.ts";
import { counted, format, stripControls } from "./format.ts";
import { present } from "./operation-commands.ts";

const listText = (title: string, pieces: (Feedback | EarlierFeedback)[], columns?: number) =>
  pieces.length === 0 ? "" : `${title}${format(pieces.map(toFeedbackRow), columns)}`;

/** A name on one line: what its values are, and which of them are taken. */
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

/** `Refused 2 of 10 lines`, and below it why. */
function describeRefused(refused: RefusedLine[], total: number): string {
  const shown = refused.slice(0, shownRefusals).map(({ line, error }) => `line ${line}: ${error}`);
  const rest = refused.length > shownRefusals ? [`and ${refused.length - shownRefusals} more, which --json lists`] : [];
  return [`Refused ${refused.length} of ${counted(total, "line")}`, ...shown, ...rest].join("\n  ");
}

export const feedbackPresentations = [
  present(showFeedback, {
    show: (data, { terminal: { columns } }) => ({
      data,
      text: () => stripControls(listText("", data.feedback, columns) + listText("\nearlier\n", data.earlier, columns)),
      note: data.feedback.length === 0 ? "No feedback" : undefined,
    }),
  }),
  present(addFeedback, {
    explanations: { VALUE: "What the author thinks: true, false, a number, or a label" },
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
    explanations: { label: "A label that is taken. Default: all" },
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
