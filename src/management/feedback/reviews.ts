// Reviews: records that people judge one after the other. A review has the records that its filter found when it was created, so
// that its progress is exact. Records that are deleted later leave it.
import { bounds } from "../../support/bounds.ts";
import { conflict, feedbackUndeclared } from "../../common/errors.ts";
import { newId } from "../../common/ids.ts";
import type { ReviewId, WorkspaceId } from "../../common/ids.ts";
import type { Statement } from "../../database/database.ts";
import { readPage } from "../../database/page.ts";
import { findNewest, findRandom } from "../../log/sample.ts";
import { feedbackName } from "../../schema/feedback.ts";
import { described, listOf, oneOf, option, refined } from "../../schema/struct.ts";
import { reportRead, reportSearch } from "../kernel/progress.ts";
import * as v from "../kernel/values.ts";
import { authorOf } from "./feedback.ts";
import { readFeedbackNames } from "../terms/feedback-names.ts";
import { listOperation } from "../kernel/declare.ts";
import { changeInfo, operation, pageOf } from "../kernel/operation.ts";
import type { Store } from "../kernel/operation.ts";
import { inWorkspace, recordFilter, scopeOfWorkspace, toScan } from "../records/record-filter.ts";
import { readReview, requireReview, Review, ReviewWithReviewers, toReview, withProgress } from "./review-progress.ts";
import { requireRoom } from "../kernel/room.ts";
import { insertInto } from "../kernel/table.ts";

const { recordsOfReview: maxRecords, namesOfReview: maxNames } = bounds;
const defaultRecords = 100;

const names = refined(
  listOf(feedbackName),
  (names) => names.length <= maxNames && new Set(names).size === names.length,
  `an array of at most ${maxNames} different names`,
  { maxItems: maxNames, uniqueItems: true },
);

const count = v.integerIn(1, maxRecords, "", { default: defaultRecords });
const seed = v.integerIn(0, 2 ** 32 - 1);

export const createReview = operation({
  id: "createReview",
  summary: "Create a review of the records that match a filter now, for people to judge one after the other",
  method: "POST",
  path: "/workspaces/{workspaceId}/reviews",
  conflicts: true,
  role: "editor",
  command: "review create TITLE [--records N] [--order newest|random] [--seed N] [--name NAME]... [--without-own]",
  input: {
    ...inWorkspace,
    ...recordFilter,
    title: described(v.name, "What people call it"),
    withoutOwn: option(v.boolean, "Whether to leave out records with feedback of its author"),
    records: option(count, "How many records it has at most"),
    order: option(oneOf("newest", "random"), "Which records come first", { default: "newest" }),
    seed: option(seed, "The seed of a random order. Default: a new one each time"),
    names: option(names, "Under which names to give feedback. Default: reviewers decide that"),
    ...changeInfo,
  },
  output: Review,
  isLong: true,
  async run(management, { workspaceId, deployId, actor, note: _, title, withoutOwn = false, ...input }) {
    const { database, caller, clock } = management;
    const { records: most = defaultRecords, order = "newest", names = [], seed: given, ...filter } = input;
    const createdBy = authorOf(actor ?? caller.actor), now = clock(), id = newId("review", now);
    const seed = order === "random" ? given ?? crypto.getRandomValues(new Uint32Array(1))[0]! : null;
    await Promise.all([requireNames(management, workspaceId, names), requireRoom(management, "reviews", workspaceId)]);
    const scope = await scopeOfWorkspace(management, { workspaceId, deployId });
    const matching = await toScan(management, scope, filter);
    const withoutAuthor = withoutOwn ? createdBy : undefined;
    const wanted = { ...matching, filter: { ...matching.filter, withoutAuthor } };
    const positions = seed === null
      ? await findNewest(database, wanted, most, reportSearch(management))
      : await findRandom(database, wanted, most, seed, reportRead(management));
    if (positions.length === 0) throw conflict("No record matches the filter", "review_empty");
    const after = { title, filter: { deployId, ...filter }, withoutOwn, order, seed, names, createdBy };
    const [inserted] = await management.commit([{ action: "review.created", id, workspaceId, after }], [
      insertRecords(id, positions),
      insertInto("reviews", {
        ...{
          id,
          workspaceId,
          title,
          filter: JSON.stringify({ deployId, ...filter, withoutOwn }),
          sequence: order,
          seed,
          names: JSON.stringify(names),
        },
        ...{ records: positions.length, createdAt: now, createdBy },
      }),
      // Retention may have removed some since they were found.
      {
        sql: "update reviews set records = (select count(*) from review_records where review_id = :id) where id = :id",
        args: { id },
      },
    ]);
    const records = inserted!.length;
    const at = { id, workspaceId, records, createdAt: now, open: records, taken: 0, done: 0, skipped: 0, gone: 0 };
    return { ...after, ...at };
  },
});

const insertRecords = (id: ReviewId, positions: number[]): Statement => ({
  sql: `insert into review_records (review_id, ordinal, position, state)
    select :id, p.key, p.value, 'open' from json_each(:positions) p
    where exists (select 1 from diagnoses where position = p.value) returning 1`,
  args: { id, positions: JSON.stringify(positions) },
});

/** Throws if the workspace takes no feedback under one of the names. */
async function requireNames(store: Store, workspaceId: WorkspaceId, names: string[]): Promise<void> {
  const declared = (await readFeedbackNames(store, workspaceId)).filter(({ isDeclared }) => isDeclared);
  const other = names.find((name) => declared.every((rule) => rule.name !== name));
  if (declared.length > 0 && other !== undefined) throw feedbackUndeclared(other, "names");
}

export const listReviews = listOperation({
  id: "listReviews",
  summary: "List the reviews of a workspace with their progress, newest first",
  path: "/workspaces/{workspaceId}/reviews",
  command: "review list",
  input: { workspaceId: v.workspaceId, ...v.page },
  output: pageOf(Review),
  async run(management, { workspaceId, ...request }) {
    const { database, clock } = management;
    const sql = withProgress(`select * from reviews
      where workspace_id = :workspaceId and id < coalesce(:cursor, '~') order by id desc limit :rows`);
    const toStatement = (page: object) => ({ sql, args: { workspaceId, now: clock(), ...page } });
    return await readPage(database, request, toStatement, toReview, ({ id }) => id);
  },
});

export const showReview = operation({
  id: "showReview",
  summary: "Show a review: its progress, and who has done how much",
  method: "GET",
  path: "/reviews/{id}",
  command: "review show ID",
  input: { id: v.reviewId },
  output: ReviewWithReviewers,
  run: async (management, { id }) => await readReview(management, id),
});

export const deleteReview = operation({
  id: "deleteReview",
  summary: "Delete a review. Feedback that was given in it stays",
  method: "DELETE",
  path: "/reviews/{id}",
  role: "editor",
  command: "review delete ID",
  input: { id: v.reviewId, ...changeInfo },
  output: Review,
  async run(management, { id }) {
    const found = await requireReview(management, id);
    const { workspaceId, title, records, done, skipped } = found;
    const before = { title, records, done, skipped };
    await management.commit([{ action: "review.deleted", id, workspaceId, before }], [
      { sql: "delete from review_records where review_id = ?", args: [id] },
      { sql: "delete from reviews where id = ?", args: [id] },
    ]);
    return found;
  },
});

export const reviewOperations = [createReview, listReviews, showReview, deleteReview];
