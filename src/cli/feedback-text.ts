// Feedback for people: a piece as a row, the feedback on a record in a cell, and statistics of it in words.
import { stringify } from "../common/json-text.ts";
import type { EarlierFeedback, Feedback, FeedbackStats } from "../schema/feedback.ts";
import { isObject } from "../schema/struct.ts";
import { numberText, percentOf } from "./charts.ts";
import { counted } from "./format.ts";

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

/** A cell with the statistics of some records, if they have any. What a service sends in lists is still JSON text in parts. */
export const statsCell = (feedback: FeedbackStats[] = []) =>
  cellOf((JSON.parse(stringify(feedback)) as FeedbackStats[]).map((stats) => `${stats.name} ${meaningOf(stats)}`));

/** What was said under a name, in short: `0.62`, `83.3 % true`, or the most frequent label, `60.0 % kind`. */
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
