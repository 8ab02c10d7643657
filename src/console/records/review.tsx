// A review: its progress, each reviewer's part, and the way to the next record.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { wrongField } from "../../common/errors.ts";
import { takeReviewRecord } from "../../management/feedback/review-records.ts";
import type { Reviewer } from "../../management/feedback/review-progress.ts";
import { deleteReview } from "../../management/feedback/reviews.ts";
import { personName } from "./feedback.ts";
import { ago, counted, number } from "../frame/format.tsx";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html } from "../frame/html.ts";
import { link } from "../frame/page.ts";
import type { ActResult, ConsoleRequest, Page } from "../frame/page.ts";
import { Empty, Fact, Facts, Section, Table } from "../frame/elements.tsx";
import { deleteForm, Guarded } from "../frame/form.tsx";
import { actorOf, filterChips, findReview, ProgressBar } from "./review-parts.tsx";

export const reviewPage: Page = {
  path: "/:workspaceId/reviews/:reviewId",
  async show(visit) {
    const review = await findReview(visit);
    const { title, open, taken, done, skipped, gone, names, order, createdAt, createdBy, reviewers, otherReviewers } =
      review;
    return {
      title: `Review ${title}`,
      done: {
        created: "The review is created.",
        over: "No record is free now. Those that others have may come back.",
        returned: "The record is given back.",
      },
      heading: isolated(title),
      body: (
        <>
          <ProgressBar review={review} />
          {open + taken > 0 && (
            <Guarded visit={visit} operation={takeReviewRecord}>
              <form method="post">
                <p class="actions">
                  <button class="primary" name="do" value="next">Next record</button>
                </p>
              </form>
            </Guarded>
          )}
          <Facts>
            <Fact label="Open">{number(open)}</Fact>
            <Fact label="Taken">{number(taken)}</Fact>
            <Fact label="Done">{number(done)}</Fact>
            <Fact label="Skipped">{number(skipped)}</Fact>
            {gone > 0 && <Fact label="Gone">{number(gone)}</Fact>}
            <Fact label="Order">{order === "random" ? "At random" : "Newest first"}</Fact>
            {names.length > 0 && <Fact label="Feedback to give">{isolated(names.join(", "))}</Fact>}
            <Fact label="Created">{ago(createdAt, visit.now)}</Fact>
            <Fact label="Created by">{isolated(personName(createdBy))}</Fact>
          </Facts>
          {gone > 0 && <p class="hint">Records that are gone were deleted since, by someone or by retention.</p>}
          <Section title="Reviewers">
            {reviewersTable(visit, reviewers)}
            {otherReviewers > 0 && <p class="hint">{counted(otherReviewers, "more reviewer")} not shown.</p>}
          </Section>
          <Section title="Records">
            {await filterChips(visit, review.filter)}
            {review.withoutOwn && (
              <p class="hint">Without those that {isolated(personName(createdBy))} had given feedback.</p>
            )}
          </Section>
          {deleteForm(
            visit,
            deleteReview,
            "review",
            "Its progress is removed for good. Feedback that was given in it stays.",
          )}
        </>
      ),
    };
  },
  async act(visit) {
    const { id } = await findReview(visit), todo = visit.form.get("do");
    if (todo === "next") return await goToNext(visit);
    if (todo !== "delete") throw wrongField("do", "one of next, delete");
    await visit.call(deleteReview, { id, actor: actorOf(visit) });
    return { redirect: link(visit, ["reviews"], { done: "deleted" }) };
  },
};

/** Takes the next record of the review in the path and leads to it, or to the review page without one. */
export async function goToNext(visit: ConsoleRequest): Promise<ActResult> {
  const { id } = await findReview(visit);
  const { record } = await visit.call(takeReviewRecord, { id, actor: actorOf(visit) });
  if (record === null) return { redirect: link(visit, ["reviews", id], { done: "over" }) };
  return { redirect: link(visit, ["reviews", id, "records", record.recordId]) };
}

function reviewersTable(visit: ConsoleRequest, reviewers: readonly Reviewer[]): Html {
  if (reviewers.length === 0) {
    return <Empty title="Nobody has taken a record yet">“Next record” takes the first.</Empty>;
  }
  return (
    <Table
      caption="Reviewers"
      rows={reviewers}
      columns={[
        { label: "Reviewer", isHead: true, cell: ({ reviewer }) => isolated(personName(reviewer)) },
        { label: "Done", isNumber: true, cell: ({ done }) => number(done) },
        { label: "Skipped", isNumber: true, cell: ({ skipped }) => number(skipped) },
        { label: "Taken", isNumber: true, cell: ({ taken }) => number(taken) },
        { label: "Last finished", cell: ({ lastAt }) => ago(lastAt, visit.now) },
      ]}
    />
  );
}
