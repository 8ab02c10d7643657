// Feedback in figures, as in `promptledger stats`: means, shares with their intervals, numbers of rated records, and
// charts.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { listFeedbackNames } from "../../management/terms/feedback-names.ts";
import type { FeedbackNameRule } from "../../management/terms/feedback-names.ts";
import type { FeedbackStats } from "../../schema/feedback.ts";
import { counted, dash, excerpt, number, numberText, rounded, share, shareText } from "../frame/format.tsx";
import { Fragment, h } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest } from "../frame/page.ts";
import type { Panel } from "../frame/chart.tsx";
import { Empty, Table } from "../frame/elements.tsx";
import { Field, Select } from "../frame/form.tsx";

/** Number of records, and the feedback on the rated ones. */
export type Rated = { records: number; feedback: readonly FeedbackStats[] };

/** The address of the records with such feedback: `thumb=false`. */
export type HrefOf = (feedback: string) => string;

/** Rules of a workspace's names. */
export type Rules = ReadonlyMap<string, FeedbackNameRule>;

/** Reads the rules of names, unless there is no feedback to show. */
export async function findRules(visit: ConsoleRequest, all: readonly Rated[]): Promise<Rules> {
  if (all.every(({ feedback }) => feedback.length === 0)) return new Map();
  const { names } = await visit.call(listFeedbackNames, { workspaceId: workspaceOf(visit).id });
  return new Map(names.map((rule) => [rule.name, rule]));
}

/** The names that any of the records have feedback under, those with the most rated records first. */
export function namesIn(all: readonly Rated[]): string[] {
  const rated = new Map<string, number>();
  for (const { name, records } of all.flatMap(({ feedback }) => feedback)) {
    rated.set(name, (rated.get(name) ?? 0) + records);
  }
  return [...rated].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1)).map(([name]) => name);
}

export const feedbackOn = ({ feedback }: Rated, name: string): FeedbackStats | undefined =>
  feedback.find((stats) => stats.name === name);

const shownLabels = 3, maxLabel = 24; // characters
const mostLinked = 60; // characters of a label in an address, which may take twelve times as many

/** Statistics of a name. With `hrefOf` its values lead to their records. */
export function figureOf(stats: FeedbackStats, hrefOf?: HrefOf, rule?: FeedbackNameRule): Html {
  const { name, kind, mean, low, high, labels, pieces } = stats;
  if (kind === "label") {
    const shown = labels.slice(0, shownLabels);
    const others = shown.reduce((rest, each) => rest - each.pieces, pieces);
    return (
      <>
        {shown.map(({ label, share: part, low, high }) => (
          <div>
            {linked(excerpt(label, maxLabel), label.length > mostLinked ? undefined : hrefOf?.(`${name}=${label}`))}:
            {" "}
            {share(part)} <span class="hint">{intervalOf(low, high, share)}</span>
          </div>
        ))}
        {others > 0 && <div>others: {share(others / pieces)}</div>}
      </>
    );
  }
  if (kind === "boolean") {
    return (
      <>
        {linked([share(stats.share!), " true"], hrefOf?.(`${name}=true`))}
        <p class="hint">
          {intervalOf(low!, high!, share)}
          {hrefOf && [" · ", linked("show false", hrefOf(`${name}=false`))]}
        </p>
      </>
    );
  }
  const [sign, word] = rule?.better === "lower" ? [">", "above"] : ["<", "below"];
  return (
    <>
      mean {rounded(mean!)}
      <p class="hint">
        {low === null || high === null ? "too few for an interval" : intervalOf(low, high, rounded)}
        {hrefOf && [" · ", linked(`show ${word}`, hrefOf(`${name}${sign}${mean}`))]}
      </p>
    </>
  );
}

const linked = (text: Part, href: string | undefined): Part => href === undefined ? text : <a href={href}>{text}</a>;

const intervalOf = (low: number, high: number, show: (value: number) => Html): Part => [show(low), " to ", show(high)];

/** Number of rated records, of all. A record has a piece of feedback of each author. */
export const ratedOf = ({ records, pieces }: FeedbackStats, all: number): Html => (
  <>
    {number(records)} of {number(all)}
    {pieces !== records && <p class="hint">{counted(pieces, "piece")}</p>}
  </>
);

export const betterText = (rule: FeedbackNameRule | undefined): Part =>
  typeof rule?.better === "string" && <p class="hint">{rule.better} is better</p>;

type FeedbackListProps = {
  all: Rated;
  /** Feedback on earlier records, to compare with. */
  before?: Rated;
  most: number;
  rules: Rules;
  /** The page of a name. */
  nameHref?: ((name: string) => string) | undefined;
  hrefOf: HrefOf;
};

/** A row for each name, those with the most rated records first. */
export function FeedbackList({ all, before, most, rules, nameHref, hrefOf }: FeedbackListProps): Html {
  const names = namesIn([all]);
  const statsOf = (name: string) => feedbackOn(all, name)!;
  return (
    <>
      <Table
        caption="Feedback"
        rows={names.slice(0, most)}
        columns={[
          {
            label: "Name",
            isHead: true,
            cell: (name) => [linked(name, nameHref?.(name)), betterText(rules.get(name))],
          },
          { label: "Figure (95 % interval)", cell: (name) => figureOf(statsOf(name), hrefOf, rules.get(name)) },
          { label: "Rated", isNumber: true, cell: (name) => ratedOf(statsOf(name), all.records) },
          before !== undefined && {
            label: "Before",
            isNumber: true,
            cell: (name) => shortOf(feedbackOn(before, name), before.records),
          },
        ]}
      />
      {names.length > most && mostRatedHint(most, names.length)}
    </>
  );
}

/** Hint that a list has only some of the names. */
export const mostRatedHint = (most: number, all: number): Html => (
  <p class="hint">The {most} names with the most rated records are shown, of {number(all)}.</p>
);

/** A figure and how many records were rated, without its interval. */
function shortOf(stats: FeedbackStats | undefined, all: number): Part {
  if (stats === undefined) return dash;
  const { mean, share: part, labels: [first] } = stats;
  const figure = mean !== null
    ? rounded(mean)
    : part !== null
    ? [share(part), " true"]
    : first && [excerpt(first.label, 20), " ", share(first.share)];
  return [figure, " ", <span class="hint">({number(stats.records)} of {number(all)} rated)</span>];
}

const mostInLine = 2;

/** Feedback on records, on one line. */
export function feedbackLine(rated: Rated): Part {
  const names = namesIn([rated]), others = names.length - mostInLine;
  return [
    names.slice(0, mostInLine).map((name, nth) => [
      nth > 0 && ", ",
      excerpt(name, 24),
      " ",
      shortOf(feedbackOn(rated, name), rated.records),
    ]),
    others > 0 && `, ${others} more`,
  ];
}

const mostOptions = 30;

type NameFieldProps = { names: readonly string[]; value: string | undefined };

/** A field to choose a name, which is entered if there are many. */
export function NameField({ names, value }: NameFieldProps): Html {
  const field = { label: "Name", name: "name", value };
  if (names.length > mostOptions) return <Field {...field} />;
  return <Select {...field} options={names.map((name) => [name, name])} />;
}

export const noFeedback: Html = (
  <Empty title="No feedback">
    Applications send it with <code>call.feedback</code>, and people give it on the page of a record.
  </Empty>
);

const maxTitle = 24, maxWord = 10; // characters
const mostLabels = 2; // of a chart, each distinguishable

const cut = (text: string, max = maxTitle): string =>
  [...text].length > max ? `${[...text].slice(0, max - 1).join("")}…` : text;

type Value = { value: number | null; low?: number | null | undefined; high?: number | null | undefined };

/** A line of the chart. */
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
      // The share of a label outside the most frequent ones is unknown.
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
