// Feedback over time: how many records were rated, and what was said under a name, with its intervals.
import { numberText, shareText } from "../format.tsx";
import type { FeedbackStats } from "../../schema/feedback.ts";
import type { Panel } from "./chart.tsx";
import { feedbackOn } from "./feedback-figures.tsx";
import type { Rated } from "./feedback-figures.tsx";

const maxTitle = 24, maxWord = 10; // characters
const mostLabels = 2; // which a chart tells apart

const cut = (text: string, max = maxTitle): string =>
  [...text].length > max ? `${[...text].slice(0, max - 1).join("")}…` : text;

type Value = { value: number | null; low?: number | null | undefined; high?: number | null | undefined };

/** What a line of the chart shows. */
type Measure = { name: string; read(stats: FeedbackStats): Value };

/** The mean of numbers, the share of true, or the shares of the most frequent labels. */
function measuresOf({ kind, labels }: FeedbackStats): Measure[] {
  if (kind !== "label") {
    const name = kind === "boolean" ? "True" : "Mean";
    return [{ name, read: ({ mean, share, low, high }) => ({ value: mean ?? share, low, high }) }];
  }
  return labels.slice(0, mostLabels).map(({ label }) => ({
    name: cut(label),
    read({ labels, otherLabels }) {
      const found = labels.find((each) => each.label === label);
      // Of labels that are not among the most frequent ones nothing is known.
      return found === undefined ? { value: otherLabels > 0 ? null : 0 } : { ...found, value: found.share };
    },
  }));
}

const rangeOf = ({ low, high }: Value): readonly [number, number] | null =>
  typeof low === "number" && typeof high === "number" ? [low, high] : null;

/** Panels of a chart over parts of the time, for a name that some of the records have feedback under. */
export function feedbackPanels(points: readonly (Rated | undefined)[], all: Rated, name: string): Panel[] {
  const total = feedbackOn(all, name)!, measures = measuresOf(total), isNumber = total.kind === "number";
  const stats = points.map((point) => point && feedbackOn(point, name));
  const ratedAt = (index: number) => stats[index]?.records ?? 0;
  const ratedText = (rated: number, { records }: Rated) => `${numberText(rated)} of ${numberText(records)} rated`;
  const toText = isNumber ? (value: number) => numberText(Number(value.toPrecision(4))) : shareText;
  const say = (each: FeedbackStats) =>
    measures.map(({ name, read }) => {
      const found = read(each), range = rangeOf(found)?.map(toText);
      return `${cut(name, maxWord)} ${found.value === null ? "–" : toText(found.value)}${
        range ? ` (${range.join(" to ")})` : ""
      }`;
    }).join(", ");
  return [
    {
      title: "Records",
      unit: "records",
      kind: "bars",
      series: [
        { name: "Rated", values: points.map((point, index) => point ? ratedAt(index) : null) },
        { name: "Not rated", values: points.map((point, index) => point ? point.records - ratedAt(index) : null) },
      ],
      total: ratedText(total.records, all),
      readouts: points.map((point, index) => point ? ratedText(ratedAt(index), point) : ""),
    },
    {
      title: cut(name),
      unit: isNumber ? "mean" : "share",
      kind: "lines",
      format: isNumber ? undefined : (value) => `${Math.round(100 * value)} %`,
      series: measures.map(({ name, read }) => {
        const values = stats.map((each) => each && read(each));
        return {
          name,
          values: values.map((each) => each?.value ?? null),
          ranges: values.map((each) => each ? rangeOf(each) : null),
        };
      }),
      total: say(total),
      readouts: points.map((point, index) => point === undefined ? "" : stats[index] ? say(stats[index]) : "not rated"),
    },
  ];
}
