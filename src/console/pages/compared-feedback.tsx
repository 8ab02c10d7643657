// What was thought of two sides of a comparison, with links to their records.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { Comparison } from "../../management/compare.ts";
import { h } from "../html.ts";
import type { Part } from "../html.ts";
import { link } from "../page.ts";
import type { Visit } from "../page.ts";
import { ComparedFeedback } from "../parts/compared-feedback.tsx";
import { findRules } from "../parts/feedback-figures.tsx";
import { Section } from "../parts/elements.tsx";
import { sideLabels } from "../parts/stats.tsx";

/** A section about the feedback on both sides; nothing where there is none. `range` is the time of the records in a query. */
export async function comparedFeedback(
  visit: Visit,
  comparison: Comparison,
  range: { last?: string | undefined; from?: string },
): Promise<Part> {
  const { a, b } = comparison;
  if (a.feedback.length + b.feedback.length === 0) return undefined;
  const hrefOf = ({ deployId, version }: Comparison["a"]) => (feedback: string) =>
    link(visit, ["records"], { deployment: deployId, version, ...range, feedback });
  return (
    <Section title="Feedback">
      <ComparedFeedback
        comparison={comparison}
        labels={sideLabels(comparison)}
        rules={await findRules(visit, [a, b])}
        hrefsOf={[hrefOf(a), hrefOf(b)]}
      />
    </Section>
  );
}
