// A record of a review, as its reviewer judges it: its input and output, the forms for feedback, and the way to the
// next.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { wrongField } from "../../common/errors.ts";
import type { RecordId } from "../../common/ids.ts";
import {
  finishReviewRecord,
  returnReviewRecord,
  showReviewRecord,
  skipReviewRecord,
} from "../../management/feedback/review-records.ts";
import type { ReviewRecord } from "../../management/feedback/review-records.ts";
import type { ReviewWithReviewers } from "../../management/feedback/review-progress.ts";
import { changeFeedback, findFeedback, isAboutFeedback, personName, reviewerOf } from "./feedback.ts";
import type { FeedbackOnRecord } from "./feedback.ts";
import { ago, numberText } from "../frame/format.tsx";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html } from "../frame/html.ts";
import { link } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { FeedbackSection } from "./feedback-parts.tsx";
import { Guarded } from "../frame/form.tsx";
import { Facts, Section } from "../frame/elements.tsx";
import { findRecord, partView, RecordFacts } from "./record.tsx";
import { actorOf, findReview, ProgressBar } from "./review-parts.tsx";
import { goToNext } from "./review.tsx";

export const reviewRecordPage: Page = {
  path: "/:workspaceId/reviews/:reviewId/records/:recordId",
  async show(visit) {
    const review = await findReview(visit), { id, title, records } = review, recordId = recordIdOf(visit);
    const [item, { record, deployment }, feedback] = await Promise.all([
      visit.call(showReviewRecord, { id, recordId }),
      findRecord(visit),
      findFeedback(visit, recordId),
    ]);
    return {
      title: `${title}: record ${item.ordinal + 1}`,
      isWide: true,
      heading: `Record ${numberText(item.ordinal + 1)} of ${numberText(records)}`,
      parent: { label: isolated(title), href: link(visit, ["reviews", id]) },
      actions: <a class="button" href={link(visit, ["records", recordId])}>Open the record</a>,
      body: (
        <>
          <ProgressBar review={review} />
          <Facts>
            <RecordFacts visit={visit} record={record} deployment={deployment} />
          </Facts>
          <div class="halves">
            <Section title="Input">{partView(visit, record, "input")}</Section>
            <Section title="Output">{partView(visit, record, "output")}</Section>
          </div>
          <FeedbackSection
            visit={visit}
            feedback={wantedFirst(feedback, review)}
            whole={<a href={link(visit, ["records", recordId, "text"], { part: "feedback" })}>Show all as text</a>}
          />
          <Guarded visit={visit} operation={finishReviewRecord}>{endingForm(visit, review, item)}</Guarded>
        </>
      ),
    };
  },
  async act(visit) {
    const review = await findReview(visit), { id } = review, recordId = recordIdOf(visit);
    const input = { id, recordId, actor: actorOf(visit) };
    await visit.call(showReviewRecord, { id, recordId });
    if (isAboutFeedback(visit)) {
      const done = await changeFeedback(visit, recordId);
      if (done === "withdrawn" || !await isJudged(visit, review, recordId)) {
        return { redirect: `${link(visit, ["reviews", id, "records", recordId], { done })}#feedback` };
      }
      await visit.call(finishReviewRecord, input);
      return await goToNext(visit);
    }
    const todo = visit.form.get("do");
    if (todo === "return") {
      await visit.call(returnReviewRecord, input);
      return { redirect: link(visit, ["reviews", id], { done: "returned" }) };
    }
    if (todo === "done") await visit.call(finishReviewRecord, input);
    else if (todo === "skip") await visit.call(skipReviewRecord, input);
    else if (todo !== "next") throw wrongField("do", "one of feedback, withdraw, done, skip, return, next");
    return await goToNext(visit);
  },
};

const recordIdOf = ({ params }: ConsoleRequest) => params.recordId as RecordId;

/** True if the person took the record last. */
const isOwn = (visit: ConsoleRequest, { reviewer, tokenId }: ReviewRecord): boolean =>
  reviewer === reviewerOf(visit) && tokenId === (visit.caller.tokenId ?? null);

/** Forms for the names of the review alone, where it names some. */
function wantedFirst(feedback: FeedbackOnRecord, { names }: ReviewWithReviewers): FeedbackOnRecord {
  const known = new Map(feedback.names.map((rule) => [rule.name, rule]));
  const wanted = names.flatMap((name) => known.get(name) ?? []);
  return wanted.length < names.length || names.length === 0 ? feedback : { ...feedback, names: wanted, isOpen: false };
}

/** True if the reviewer holds the record and has given feedback under all names of the review. */
async function isJudged(
  visit: ConsoleRequest,
  { id, names }: ReviewWithReviewers,
  recordId: RecordId,
): Promise<boolean> {
  const [{ own }, item] = await Promise.all([
    findFeedback(visit, recordId),
    visit.call(showReviewRecord, { id, recordId }),
  ]);
  const given = own.map(({ name }) => name);
  const isOpen = item.state === "open" && isOwn(visit, item);
  return isOpen && names.length > 0 && names.every((name) => given.includes(name));
}

function endingForm(visit: ConsoleRequest, { names }: ReviewWithReviewers, item: ReviewRecord): Html {
  const { state, reviewer, leasedUntil, finishedAt } = item;
  const name = reviewer === null ? "nobody" : isolated(personName(reviewer));
  if (!isOwn(visit, item)) {
    return (
      <form method="post" class="stack" aria-label="Review">
        <p>
          {state === "open"
            ? (
              <>
                {reviewer === null ? "Nobody" : name}{" "}
                has this record{leasedUntil !== null && (
                  <>{` `}until it is free again, {ago(leasedUntil, visit.now)}</>
                )}.
              </>
            )
            : <>This record was {state} by {name} {ago(finishedAt, visit.now)}.</>}
        </p>
        <p class="actions">
          <button class="primary" name="do" value="next">Next record</button>
        </p>
      </form>
    );
  }
  return (
    <form method="post" class="stack" aria-label="Review">
      {state !== "open" && <p>You have {state} this record {ago(finishedAt, visit.now)}.</p>}
      {names.length > 0 && (
        <p class="hint">Feedback under {isolated(names.join(", "))} finishes the record and leads to the next one.</p>
      )}
      <p class="actions">
        <button class="primary" name="do" value="done" aria-keyshortcuts="d">Done, next</button>
        <button name="do" value="skip" aria-keyshortcuts="x">Skip</button>
        <button class="plain" name="do" value="return">Give it back</button>
      </p>
    </form>
  );
}
