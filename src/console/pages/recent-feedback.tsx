// What was thought of the records of the last days, beside what was thought of those before.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { WorkspaceStats } from "../../management/stats.ts";
import { h } from "../html.ts";
import type { Part } from "../html.ts";
import { link } from "../page.ts";
import type { Visit } from "../page.ts";
import { FeedbackList, findRules } from "../parts/feedback-figures.tsx";
import { Section } from "../parts/elements.tsx";

const mostNames = 5;

/** A section of the overview; nothing if none of the records of the last 7 days was rated. */
export async function recentFeedback(visit: Visit, { split }: WorkspaceStats): Promise<Part> {
  if (split === null || split.after.feedback.length === 0) return undefined;
  const { before, after } = split;
  const hrefOf = (feedback: string) => link(visit, ["records"], { last: "7d", feedback });
  return (
    <Section
      title="Feedback of the last 7 days"
      aside={<a href={link(visit, ["agreement"])}>Agreement of two authors</a>}
    >
      <FeedbackList
        all={after}
        before={before}
        most={mostNames}
        rules={await findRules(visit, [after])}
        hrefOf={hrefOf}
      />
    </Section>
  );
}
