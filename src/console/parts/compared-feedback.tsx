// What was thought of two sides, and whether one is better.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { Comparison } from "../../management/compare.ts";
import type { FeedbackNameRule } from "../../management/feedback-names.ts";
import { counted, dash, number } from "../format.tsx";
import { Fragment, h } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { Chip } from "./chips.tsx";
import { differenceOf, points, signed } from "./difference.tsx";
import { betterText, feedbackOn, figureOf, namesIn } from "./feedback-figures.tsx";
import type { HrefOf, Rated, Rules } from "./feedback-figures.tsx";
import { Table } from "./elements.tsx";

const mostCompared = 10;

type ComparedFeedbackProps = {
  comparison: Comparison;
  labels: readonly [a: string, b: string];
  rules: Rules;
  hrefsOf: readonly [a: HrefOf, b: HrefOf];
};

/** What was thought of two sides, beside each other, and the differences that have a direction. */
export function ComparedFeedback({ comparison, labels, rules, hrefsOf }: ComparedFeedbackProps): Html {
  const { a, b, differences } = comparison;
  const names = namesIn([a, b]);
  const cellOf = (side: Rated, hrefOf: HrefOf) => (name: string): Part => {
    const stats = feedbackOn(side, name);
    const records = stats?.records ?? 0;
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
    <>
      <Table
        caption="Feedback"
        rows={names.slice(0, mostCompared)}
        columns={[
          { label: "Name", isHead: true, cell: (name) => [name, betterText(rules.get(name))] },
          { label: labels[0], isNumber: true, cell: cellOf(a, hrefsOf[0]) },
          { label: labels[1], isNumber: true, cell: cellOf(b, hrefsOf[1]) },
          { label: "Difference (95 %)", isNumber: true, cell: differenceIn },
        ]}
        isCompared
      />
      {names.length > mostCompared && (
        <p class="hint">The {mostCompared} names with the most rated records are shown, of {number(names.length)}.</p>
      )}
    </>
  );
}

/** Whether a difference is for the better, where its interval leaves no doubt and the workspace says which way is better. */
function judgementOf({ low, high }: Comparison["differences"]["feedback"][number], rule?: FeedbackNameRule): Part {
  if (low === null || high === null || low <= 0 && high >= 0 || !rule?.better) return undefined;
  return low > 0 === (rule.better === "higher") ? <Chip>better</Chip> : <Chip kind="bad">worse</Chip>;
}
