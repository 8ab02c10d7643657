// A review, its progress, and the share of each reviewer.
import { notFound } from "../../common/errors.ts";
import type { DeploymentId, ReviewId, WorkspaceId } from "../../common/ids.ts";
import type { Statement } from "../../database/database.ts";
import { integer, readerOf } from "../../database/row.ts";
import { described, isObject, listOf, oneOf, orNull, predicate, shape } from "../../schema/struct.ts";
import type { Infer, Members } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import type { Store } from "../kernel/operation.ts";
import type { recordFilter } from "../records/record-filter.ts";

/** Filter of records, as in the request. */
export type ReviewFilter = Members<typeof recordFilter> & { deployId?: DeploymentId | undefined };

const filter = predicate<ReviewFilter>("an object", isObject, { type: "object" });

/** Progress of a review. Together with those that are gone, these are its records. */
const progress = {
  open: described(v.count, "How many of its records wait for a reviewer"),
  taken: described(v.count, "How many a reviewer has now"),
  done: v.count,
  skipped: v.count,
  gone: described(v.count, "How many were deleted since"),
};

const review = {
  id: v.textAs<ReviewId>(),
  workspaceId: v.textAs<WorkspaceId>(),
  title: v.text,
  filter: described(filter, "The filter of its records, as it was given"),
  withoutOwn: described(v.boolean, "Whether records that its author had given feedback were left out"),
  order: described(oneOf("newest", "random"), "Which records come first"),
  seed: orNull(v.count, "The seed of a random order. Null for another order"),
  names: described(listOf(v.text), "Under which names to give feedback. Empty if reviewers decide that"),
  records: described(v.count, "How many records it was created with"),
  createdAt: v.timestamp,
  createdBy: described(v.text, "Who created it"),
};
export const Review = shape("Review", { ...review, ...progress });
export type Review = Infer<typeof Review>;

const Reviewer = shape("Reviewer", {
  reviewer: described(v.text, "The name of their token"),
  taken: described(v.count, "How many records they have now"),
  done: v.count,
  skipped: v.count,
  lastAt: described(v.moment, "When they finished a record last, in Unix milliseconds. Null if they have not"),
});
export type Reviewer = Infer<typeof Reviewer>;

const shownReviewers = 1_000;
export const ReviewWithReviewers = shape("ReviewWithReviewers", {
  ...review,
  ...progress,
  reviewers: described(
    listOf(Reviewer),
    `Who has done how much, the most first. The ${shownReviewers} who have done the most`,
  ),
  otherReviewers: described(v.count, "How many other reviewers there are"),
});
export type ReviewWithReviewers = Infer<typeof ReviewWithReviewers>;

// A lease ends with the work on its record.
const isTaken = "leased_until > :now";

/** Counts in an index: 10,000 records take a fraction of a millisecond. */
const countOf = (condition: string) => `(select count(*) from review_records where review_id = r.id and ${condition})`;

const itself = `id, workspace_id, title, json_remove(filter, '$.withoutOwn') as filter,
  coalesce(filter ->> 'withoutOwn', 0) as without_own, sequence as "order", seed, names, records, created_at, created_by`;

/** A query for the reviews that another one finds, with their progress `:now`. */
export const withProgress = (reviews: string): string =>
  `select *, unfinished - taken as open, records - unfinished - done - skipped as gone from (
    select ${itself}, ${countOf(isTaken)} as taken, ${countOf("state = 'open'")} as unfinished,
      ${countOf("state = 'done'")} as done, ${countOf("state = 'skipped'")} as skipped
    from (${reviews}) r
  ) order by id desc`;

/** The reviews for which a condition holds, without their progress. */
export const findReviews = (condition: string, args: string[]): Statement => ({
  sql: `select ${itself}, 0 as open, 0 as taken, 0 as done, 0 as skipped, 0 as gone from reviews where ${condition}`,
  args,
});

export const toReview = readerOf(Review);

/** Finds a review. Throws if missing. */
export async function requireReview({ database, clock }: Store, id: ReviewId): Promise<Review> {
  const sql = withProgress("select * from reviews where id = :id");
  const [row] = await database.read({ sql, args: { id, now: clock() } });
  if (row === undefined) throw notFound("Review", id);
  return toReview(row);
}

/** A review with its reviewers. */
export async function readReview(store: Store, id: ReviewId): Promise<ReviewWithReviewers> {
  const found = await requireReview(store, id);
  const rows = await store.database.read({
    sql:
      `select reviewer, sum(coalesce(${isTaken}, false)) as taken, sum(state = 'done') as done, sum(state = 'skipped') as skipped,
        max(finished_at) as last_at, count(*) over () as reviewers
      from review_records where review_id = :id and reviewer is not null and (state <> 'open' or ${isTaken})
      group by reviewer order by done desc, skipped desc, reviewer limit ${shownReviewers}`,
    args: { id, now: store.clock() },
  });
  const [first] = rows, all = first === undefined ? 0 : integer(first, "reviewers");
  return { ...found, reviewers: rows.map(toReviewer), otherReviewers: all - rows.length };
}

const toReviewer = readerOf(Reviewer);
