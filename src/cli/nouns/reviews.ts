// Shows reviews on the command line, and works through them.
import { getDiagnosis } from "../../management/records/records.ts";
import {
  finishReviewRecord,
  returnReviewRecord,
  skipReviewRecord,
  takeReviewRecord,
} from "../../management/feedback/review-records.ts";
import type { ReviewRecord } from "../../management/feedback/review-records.ts";
import type { Review, ReviewWithReviewers } from "../../management/feedback/review-progress.ts";
import { createReview, listReviews, showReview } from "../../management/feedback/reviews.ts";
import { show } from "../frame/command.ts";
import type { Outcome } from "../frame/command.ts";
import { format, stripControls } from "../frame/format.ts";
import { readAll } from "../frame/lists.ts";
import { present } from "../frame/operation-commands.ts";
import { recordText } from "./record-text.ts";

const toRow = ({ title, records, open, taken, done, skipped, gone, createdBy, createdAt, id }: Review) => ({
  createdAt,
  title,
  records,
  open,
  taken,
  done,
  skipped,
  gone,
  createdBy,
  id,
});

/** `12 of 100 done, 3 skipped, 2 taken, 83 open` */
function describeProgress({ records, open, taken, done, skipped, gone }: Review): string {
  const others = Object.entries({ skipped, taken, open, gone }).filter(([, count]) => count > 0);
  return [`${done} of ${records} done`, ...others.map(([name, count]) => `${count} ${name}`)].join(", ");
}

function showWhole(data: Review & Partial<Pick<ReviewWithReviewers, "reviewers" | "otherReviewers">>): Outcome {
  const { reviewers = [], otherReviewers = 0, ...review } = data;
  const { open: _open, taken: _taken, done: _done, skipped: _skipped, gone: _gone, ...rest } = review;
  const shown = {
    ...{ ...rest, progress: describeProgress(data) },
    ...reviewers.length > 0 && { reviewers },
    ...otherReviewers > 0 && { otherReviewers },
  };
  return { data, text: () => format(shown) };
}

const showRecord = (data: ReviewRecord): Outcome => show(data);

export const reviewPresentations = [
  present(createReview, {
    explanations: { name: "A name under which to give feedback. Default: reviewers decide that" },
    async run({ args, call }, input) {
      const names = args.texts("name");
      return showWhole(await call(createReview, names.length === 0 ? input : { ...input, names }));
    },
  }),
  present(listReviews, {
    async run({ call }, input) {
      const data = await readAll(call, listReviews, input);
      return { data, rows: data.map(toRow), note: data.length === 0 ? "No reviews" : undefined };
    },
  }),
  present(showReview, { show: (data) => showWhole(data) }),
  present(takeReviewRecord, {
    async run({ call, args }, input) {
      const data = await call(takeReviewRecord, input);
      const note = describeProgress(data.review);
      if (data.record === null) return { data, text: () => "", note: `No record is free: ${note}` };
      if (args.json) return { data };
      const record = await call(getDiagnosis, { id: data.record.recordId });
      return { data, text: () => stripControls(recordText(record)), note };
    },
  }),
  present(finishReviewRecord, { show: showRecord }),
  present(skipReviewRecord, { show: showRecord }),
  present(returnReviewRecord, { show: showRecord }),
];
