// Parts of a review: its progress, and its records.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { notFound } from "../../common/errors.ts";
import type { ReviewId } from "../../common/ids.ts";
import { anyName } from "../../feedback/feedback-scan.ts";
import { isNamed } from "../../management/kernel/operation.ts";
import type { Review, ReviewFilter, ReviewWithReviewers } from "../../management/feedback/review-progress.ts";
import { showReview } from "../../management/feedback/reviews.ts";
import { reviewerOf } from "./feedback.ts";
import { excerpt, numberText } from "../frame/format.tsx";
import { Fragment, h } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest } from "../frame/page.ts";
import { findDeployment, momentText } from "../frame/inputs.tsx";
import { labels } from "./record-filter.tsx";
import { Bar } from "../frame/chart.tsx";
import { Chip } from "../frame/chips.tsx";

/** The review in the path, which must be of the workspace in the path. */
export async function findReview(visit: ConsoleRequest): Promise<ReviewWithReviewers> {
  const id = visit.params.reviewId as ReviewId, review = await visit.call(showReview, { id });
  if (review.workspaceId !== workspaceOf(visit).id) throw notFound("Review", id);
  return review;
}

/** Reviewer for operations. Tokens and people have a name already; the operator gets the one of their feedback. */
export const actorOf = (visit: ConsoleRequest): string | undefined =>
  isNamed(visit.caller) ? undefined : reviewerOf(visit);

/** Number of records done or skipped, and of those that still exist. */
const finishedOf = ({ records, done, skipped, gone }: Review) => ({ part: done + skipped, whole: records - gone });

/** `12 of 100 finished` */
export function progressText(review: Review): string {
  const { part, whole } = finishedOf(review);
  return `${numberText(part)} of ${numberText(whole)} finished`;
}

export function ProgressBar({ review }: { review: Review }): Html {
  const { part, whole } = finishedOf(review);
  return (
    <>
      <Bar width={whole === 0 ? 100 : 100 * part / whole} />
      <p class="hint">{progressText(review)}</p>
    </>
  );
}

const maxText = 40; // characters

/** The filter of a review in words. */
export async function filterChips(visit: ConsoleRequest, { deployId, ...filter }: ReviewFilter): Promise<Part> {
  const deployment = deployId === undefined ? undefined : await findDeployment(visit, deployId);
  const set = Object.entries(filter).filter(([, value]) => value !== undefined) as [
    keyof typeof labels,
    string | number | true,
  ][];
  const chips: [label: string, text: string][] = [
    ...deployId === undefined ? [] : [["Deployment", deployment?.reference ?? deployId] as [string, string]],
    ...set.map(([name, value]): [string, string] => [labels[name], textOf(name, value)]),
  ];
  if (chips.length === 0) return <p class="hint">Any record of the workspace.</p>;
  return (
    <ul class="chips set" aria-label="Filters">
      {chips.map(([label, text]) => (
        <li>
          <Chip>
            <span>{label}{text !== "" && [": ", <b>{excerpt(text, maxText)}</b>]}</span>
          </Chip>
        </li>
      ))}
    </ul>
  );
}

function textOf(name: keyof typeof labels, value: string | number | true): string {
  if (value === true || name === "withoutFeedback" && value === anyName) return "";
  return name === "from" || name === "to" ? momentText(Number(value)) : String(value);
}
