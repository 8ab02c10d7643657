// Feedback on two sides of a comparison, with links to their records, and if one is better.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { Comparison } from "../../management/records/compare.ts";
import type { FeedbackNameRule } from "../../management/terms/feedback-names.ts";
import { counted, dash, number } from "../frame/format.tsx";
import { Fragment, h } from "../frame/html.ts";
import type { Part } from "../frame/html.ts";
import { link } from "../frame/page.ts";
import type { ConsoleRequest } from "../frame/page.ts";
import { Chip } from "../frame/chips.tsx";
import { Section, Table } from "../frame/elements.tsx";
import { betterText, feedbackOn, figureOf, findRules, mostRatedHint, namesIn } from "./feedback-figures.tsx";
import { differenceOf, points, sideLabels, signed } from "./stats-parts.tsx";

const mostCompared = 10;

/**
 * A section about the feedback on both sides, beside each other, with the differences that have a direction; empty
 * without feedback. `range` is the time of the records in a query.
 */
export async function comparedFeedback(
  visit: ConsoleRequest,
  comparison: Comparison,
  range: { last?: string | undefined; from?: string },
): Promise<Part> {
  const { a, b, differences } = comparison;
  if (a.feedback.length + b.feedback.length === 0) return undefined;
  const rules = await findRules(visit, [a, b]), [one, other] = sideLabels(comparison);
  const names = namesIn([a, b]);
  const cellOf = (side: Comparison["a"]) => (name: string): Part => {
    const { deployId, version } = side, stats = feedbackOn(side, name), records = stats?.records ?? 0;
    const hrefOf = (feedback: string) =>
      link(visit, ["records"], { deployment: deployId, version, ...range, feedback });
    return (
      <>
        {stats === undefined ? dash : figureOf(stats, hrefOf, rules.get(name))}
        <div class="hint">{number(records)} of {number(side.records)} rated</div>
        {stats && stats.pieces !== records && <div class="hint">{counted(stats.pieces, "piece")}</div>}
      </>
    );
  };
  const differenceIn = (name: string): Part => {
    const found = differences.feedback.find((each) => each.name === name);
    if (found === undefined) return "";
    const isShare = feedbackOn(a, name)!.kind === "boolean";
    return [
      differenceOf(found, isShare ? points : (value) => signed(Number(value.toPrecision(3)))),
      judgementOf(found, rules.get(name)),
    ];
  };
  return (
    <Section title="Feedback">
      <Table
        caption="Feedback"
        rows={names.slice(0, mostCompared)}
        columns={[
          { label: "Name", isHead: true, cell: (name) => [name, betterText(rules.get(name))] },
          { label: one, isNumber: true, cell: cellOf(a) },
          { label: other, isNumber: true, cell: cellOf(b) },
          { label: "Difference (95 %)", isNumber: true, cell: differenceIn },
        ]}
        isCompared
      />
      {names.length > mostCompared && mostRatedHint(mostCompared, names.length)}
    </Section>
  );
}

/** Better or worse, if the interval excludes zero and the workspace declares which way is better. */
function judgementOf({ low, high }: Comparison["differences"]["feedback"][number], rule?: FeedbackNameRule): Part {
  if (low === null || high === null || low <= 0 && high >= 0 || !rule?.better) return undefined;
  return low > 0 === (rule.better === "higher") ? <Chip>better</Chip> : <Chip kind="bad">worse</Chip>;
}
