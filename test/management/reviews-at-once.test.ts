// Several processes whose reviewers take records of one review at the same moment.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { finishReviewRecord, takeReviewRecord } from "../../src/management/feedback/review-records.ts";
import { createReview, showReview } from "../../src/management/feedback/reviews.ts";
import { migrate } from "../../src/migrate.ts";
import { call } from "../actions.ts";
import { createFolder, startSqld } from "../conformance/processes.ts";
import { findSqld } from "../conformance/sqld.ts";
import { createWorld, managementOf } from "../helpers.ts";

const test = suite("reviews at once");

const sqld = await findSqld();
const records = 24;

const reviewerOn = (database: Database, actor: string) => {
  const session = managementOf(database);
  return { ...session, caller: { ...session.caller, actor } };
};

for (const kind of ["a file", "a server"] as const) {
  test(`each record of a review on ${kind} goes to one reviewer`, async () => {
    if (kind === "a server" && "missing" in sqld) return;
    const folder = await createFolder();
    const server = kind === "a server" ? await startSqld((sqld as { binary: string }).binary, folder.path) : undefined;
    const url = server?.url ?? `file:${folder.path}/ledger.db`;
    await migrate(url);
    const databases = Array.from({ length: 3 }, () => openDatabase(url, "manage"));
    try {
      const world = await createWorld({ database: databases[0]! });
      await Promise.all(Array.from({ length: records }, () => world.submit()));
      const { workspaceId } = world;
      const { id } = await call(createReview, world.admin, { workspaceId, title: "Together" });
      const reviewers = ["Ann", "Bob", "Cid", "Dan", "Eve", "Flo"].map((actor, nth) =>
        reviewerOn(databases[nth % databases.length]!, actor)
      );
      const done: string[] = [];
      await Promise.all(reviewers.map(async (reviewer) => {
        for (let nth = 0; nth <= records; nth++) {
          const { record } = await call(takeReviewRecord, reviewer, { id });
          if (record === null) return;
          done.push(record.recordId);
          await call(finishReviewRecord, reviewer, { id, recordId: record.recordId });
        }
      }));
      assert.equal([done.length, new Set(done).size], [records, records]);
      const review = await call(showReview, reviewers[1]!, { id });
      assert.equal([review.done, review.open, review.taken], [records, 0, 0]);
      assert.is(review.reviewers.reduce((sum, { done }) => sum + done, 0), records);
      await world.close();
    } finally {
      for (const database of databases) database.close();
      await server?.stop("SIGKILL");
      await folder.remove();
    }
  });
}

test.run();
