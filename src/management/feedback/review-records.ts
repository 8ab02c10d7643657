// Work of reviewers on a review. Taking a record leases it to one reviewer: two do not get the same one.
import { conflict, notFound } from "../../common/errors.ts";
import type { RecordId, ReviewId, TokenId } from "../../common/ids.ts";
import { readerOf } from "../../database/row.ts";
import { commitAt, idAt } from "../../ledger/blocks.ts";
import { described, oneOf, orNull, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { authorOf } from "./feedback.ts";
import { actorOf, operation } from "../kernel/operation.ts";
import type { Management } from "../kernel/operation.ts";
import { requirePlace, requireRecord } from "../records/records.ts";
import { requireReview, Review } from "./review-progress.ts";

/** Length of a lease. After it another reviewer may take the record. */
export const leaseMs = 900_000;

const states = ["open", "done", "skipped"] as const;
type State = (typeof states)[number];

const ReviewRecord = shape("ReviewRecord", {
  recordId: v.textAs<RecordId>(),
  ordinal: described(v.count, "Its place in the review, from 0"),
  state: described(oneOf(...states), "What became of it"),
  reviewer: orNull(v.text, "Who took it last. Null if nobody has it"),
  tokenId: orNull(v.textAs<TokenId>(), "Their token. Null if they have none"),
  leasedUntil: described(v.moment, "Until when nobody else gets it, in Unix milliseconds"),
  finishedAt: described(v.moment, "When it was done or skipped, in Unix milliseconds"),
});
export type ReviewRecord = Infer<typeof ReviewRecord>;

const TakenRecord = shape("TakenRecord", {
  record: orNull(ReviewRecord, "The record to judge, or null if none is free"),
  review: Review,
});

const columns = `ordinal, state, reviewer, token_id, leased_until, finished_at, (
    select ${idAt("diag", "review_records.position")}
    from (select 1) cross join ${commitAt("review_records.position")}
  ) as record_id`;

const toRecord = readerOf(ReviewRecord);

const actor = actorOf("Who reviews. Default: the name of the token");

/** A reviewer as in rows. Two tokens of one name are two reviewers. */
const reviewerOf = ({ caller }: Management, actor: string | undefined) => ({
  reviewer: authorOf(actor ?? caller.actor),
  tokenId: caller.tokenId ?? null,
});
const isOwn = "reviewer = :reviewer and token_id is :tokenId";

export const takeReviewRecord = operation({
  id: "takeReviewRecord",
  summary: "Take the next record of a review: the one that the reviewer still has, or the first that is free. For 15 " +
    "minutes nobody else gets it",
  method: "POST",
  path: "/reviews/{id}/next",
  role: "editor",
  command: "review next ID",
  input: { id: v.reviewId, actor },
  output: TakenRecord,
  async run(management, { id, actor }) {
    const { database, clock } = management;
    const now = clock();
    await requireReview(management, id);
    // Nothing is free twice, because one statement finds the record and takes it.
    const [rows] = await database.write([{
      sql: `update review_records set reviewer = :reviewer, token_id = :tokenId, leased_until = :until
        where review_id = :id and ordinal = coalesce(
          (select ordinal from review_records
            where review_id = :id and leased_until > :now and ${isOwn} order by ordinal limit 1),
          (select ordinal from review_records
            where review_id = :id and state = 'open' and coalesce(leased_until, 0) <= :now order by ordinal limit 1)
        ) returning ${columns}`,
      args: { id, ...reviewerOf(management, actor), now, until: now + leaseMs },
    }]);
    const [taken] = rows!.map(toRecord);
    return { record: taken ?? null, review: await requireReview(management, id) };
  },
});

export const showReviewRecord = operation({
  id: "showReviewRecord",
  summary: "Show what became of a record in a review, and who has it",
  method: "GET",
  path: "/reviews/{id}/records/{recordId}",
  input: { id: v.reviewId, recordId: v.recordId },
  output: ReviewRecord,
  refusals: ["gone"],
  async run(management, { id, recordId }) {
    await requireReview(management, id);
    return await requireInReview(management, id, recordId);
  },
});

/** Finds a record in a review. Throws if it is not in it, or was deleted. */
async function requireInReview(management: Management, id: ReviewId, recordId: RecordId): Promise<ReviewRecord> {
  const { position } = await requireRecord(management, recordId);
  const sql = `select ${columns} from review_records where review_id = ? and position = ?`;
  const [row] = await management.database.read({ sql, args: [id, position] });
  if (row === undefined) throw notFound("Record", recordId);
  return toRecord(row);
}

/** Ends the work on a record, by the reviewer who took it last. Repeating it changes nothing. */
async function finish(
  management: Management,
  { id, recordId, actor }: { id: ReviewId; recordId: RecordId; actor?: string | undefined },
  state: State,
): Promise<ReviewRecord> {
  const { database, clock } = management;
  await requireReview(management, id);
  const { position } = await requirePlace(management, recordId);
  const [rows] = await database.write([{
    sql: state === "open"
      ? `update review_records set state = 'open', reviewer = null, token_id = null, leased_until = null, finished_at = null
        where review_id = :id and position = :position and ${isOwn} returning ${columns}`
      : `update review_records set finished_at = iif(state = :state, finished_at, :now), state = :state, leased_until = null
        where review_id = :id and position = :position and ${isOwn} returning ${columns}`,
    args: {
      ...{ id, position, ...reviewerOf(management, actor) },
      ...state === "open" ? {} : { state, now: clock() },
    },
  }]);
  const [finished] = rows!.map(toRecord);
  if (finished !== undefined) return finished;
  const found = await requireInReview(management, id, recordId);
  if (state === "open" && found.reviewer === null) return found;
  const words = found.reviewer === null ? "Take it first" : `${found.reviewer || "Another reviewer"} has it`;
  throw conflict(`Record ${recordId} is not yours in this review. ${words}`, "review_record_not_taken");
}

/** An operation that ends the work on a record. `word` ends its path. */
const ending = (id: string, word: string, state: State, summary: string) =>
  operation({
    id,
    summary,
    method: "POST",
    path: `/reviews/{id}/records/{recordId}/${word}`,
    role: "editor",
    command: `review ${word} ID RECORD`,
    input: { id: v.reviewId, recordId: v.recordId, actor },
    output: ReviewRecord,
    conflicts: true,
    refusals: ["gone"],
    run: (management, input) => finish(management, input, state),
  });

export const finishReviewRecord = ending(
  "finishReviewRecord",
  "done",
  "done",
  "Mark a record of a review as done, by the reviewer who has it",
);

export const skipReviewRecord = ending(
  "skipReviewRecord",
  "skip",
  "skipped",
  "Skip a record of a review, by the reviewer who has it. Nobody gets it again",
);

export const returnReviewRecord = ending(
  "returnReviewRecord",
  "return",
  "open",
  "Return a record of a review, even a done or skipped one, so that the next reviewer gets it",
);

export const reviewRecordOperations = [
  takeReviewRecord,
  showReviewRecord,
  finishReviewRecord,
  skipReviewRecord,
  returnReviewRecord,
];
