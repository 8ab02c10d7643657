// Reviews: who gets which record, what becomes of it, and what a review counts, compared with a plain model.
// Runs on every runtime in CI.
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { leaseMs } from "../../src/management/feedback/review-records.ts";
import type { ReviewRecord } from "../../src/management/feedback/review-records.ts";
import type { Review, ReviewWithReviewers } from "../../src/management/feedback/review-progress.ts";
import { createTenant, createWorld, goodBody, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { readAll, refused, refusedAs, taken } from "./management.ts";

const test = suite("reviews");

type Taken = { record: ReviewRecord | null; review: Review };

async function submitAll(world: World, count: number, body: object = {}): Promise<string[]> {
  const ids: string[] = [];
  for (let nth = 0; nth < count; nth++) {
    ids.push(taken<{ id: string }>(await world.submit({ ...goodBody, ...body }), 201).id);
  }
  return ids;
}

const createFor = (world: World, body: object) =>
  world.manage("POST", `/workspaces/${world.workspaceId}/reviews`, { title: "Weekly", ...body });
const create = async (world: World, body: object = {}) => taken<Review>(await createFor(world, body));
const showReview = async (world: World, id: string) =>
  taken<ReviewWithReviewers>(await world.manage("GET", `/reviews/${id}`));

type Reviewer = {
  tokenId: string;
  next(id: string): Promise<Taken>;
  end(id: string, recordId: string, how: string): ReturnType<World["manage"]>;
};

/** Makes a reviewer with a token of their own. */
async function hire(world: World, name: string, workspaceId = world.workspaceId): Promise<Reviewer> {
  const { id: tokenId, token } = taken<{ id: string; token: string }>(
    await world.manage("POST", "/tokens", { name, role: "editor", workspaceId }),
    201,
  );
  const headers = { Authorization: `Bearer ${token}` };
  return {
    tokenId,
    next: async (id) => taken<Taken>(await world.manage("POST", `/reviews/${id}/next`, {}, headers)),
    end: (id, recordId, how) => world.manage("POST", `/reviews/${id}/records/${recordId}/${how}`, {}, headers),
  };
}

const countsOf = ({ records, open, taken, done, skipped, gone }: Review) =>
  [records, open, taken, done, skipped, gone].join(" ");

test("reviewers get the records one after the other, the newest first, and no two the same one", async () => {
  const world = await createWorld();
  const [oldest, middle, newest] = await submitAll(world, 3);
  const { id, ...made } = await create(world, { names: ["thumb"] });
  assert.equal([countsOf({ id, ...made }), made.order, made.seed, made.names], ["3 3 0 0 0 0", "newest", null, [
    "thumb",
  ]]);
  const ann = await hire(world, "Ann"), bob = await hire(world, "Bob");
  const first = await ann.next(id);
  assert.equal(first.record, {
    ...{ recordId: newest, ordinal: 0, state: "open", reviewer: "Ann" },
    ...{ tokenId: ann.tokenId, leasedUntil: world.now + leaseMs, finishedAt: null },
  });
  assert.is(countsOf(first.review), "3 2 1 0 0 0");
  assert.is((await bob.next(id)).record?.recordId, middle);
  // Who asks again still has it, for a new lease.
  world.now += 1_000;
  const again = await ann.next(id);
  assert.equal([again.record?.recordId, again.record?.leasedUntil], [newest, world.now + leaseMs]);
  const done = taken<ReviewRecord>(await ann.end(id, newest!, "done"));
  assert.equal([done.state, done.reviewer, done.finishedAt, done.leasedUntil], ["done", "Ann", world.now, null]);
  // A lost reply does no harm.
  world.now += 1_000;
  assert.equal(taken(await ann.end(id, newest!, "done")), done);
  taken(await bob.end(id, middle!, "skip"));
  assert.is((await bob.next(id)).record?.recordId, oldest);
  const { record, review } = await ann.next(id);
  assert.equal([record, countsOf(review)], [null, "3 0 1 1 1 0"]);
  const { reviewers } = await showReview(world, id);
  assert.equal(reviewers, [
    { reviewer: "Ann", taken: 0, done: 1, skipped: 0, lastAt: done.finishedAt },
    { reviewer: "Bob", taken: 1, done: 0, skipped: 1, lastAt: world.now },
  ]);
});

test("a record that nobody finished in time is free again, and stays with who had it until another one takes it", async () => {
  const world = await createWorld();
  const [recordId] = await submitAll(world, 1);
  const { id } = await create(world);
  const ann = await hire(world, "Ann"), bob = await hire(world, "Bob");
  await ann.next(id);
  world.now += leaseMs - 1;
  assert.is((await bob.next(id)).record, null);
  refusedAs(409, "review_record_not_taken", await bob.end(id, recordId!, "done"));
  world.now += 1;
  assert.is(countsOf(await showReview(world, id)), "1 1 0 0 0 0");
  assert.equal((await showReview(world, id)).reviewers, []);
  taken(await ann.end(id, recordId!, "done"));
  taken(await ann.end(id, recordId!, "return"));
  taken(await ann.end(id, recordId!, "return"));
  assert.is((await ann.next(id)).record?.recordId, recordId);
  world.now += leaseMs;
  assert.is((await bob.next(id)).record?.recordId, recordId);
  refused(await ann.end(id, recordId!, "done"), 409, `Record ${recordId} is not yours in this review. Bob has it`);
});

test("two tokens of one name are two reviewers", async () => {
  const world = await createWorld();
  await submitAll(world, 2);
  const { id } = await create(world);
  const [one, other] = [await hire(world, "Ann"), await hire(world, "Ann")];
  const { record } = await one.next(id);
  assert.is.not((await other.next(id)).record?.recordId, record!.recordId);
  refusedAs(409, "review_record_not_taken", await other.end(id, record!.recordId, "done"));
  assert.equal((await showReview(world, id)).reviewers.map(({ reviewer, taken }) => [reviewer, taken]), [["Ann", 2]]);
});

test("a review has the records of its filter, without those that its author had judged", async () => {
  const world = await createWorld();
  const { promptId } = world;
  const { id: other } = taken<{ id: string }>(
    await world.manage("POST", `/workspaces/${world.workspaceId}/deployments`, { promptId, name: "other" }),
    201,
  );
  const before = await submitAll(world, 2);
  world.now += 60_000;
  const from = world.now;
  const [good, judged, failed, byOther] = [
    ...await submitAll(world, 2),
    ...await submitAll(world, 1, { status: 0 }),
    ...await submitAll(world, 1),
  ];
  taken(await world.submit(undefined, other), 201);
  const give = (id: string, author: string) =>
    world.manage("POST", `/diagnoses/${id}/feedback`, { name: "thumb", value: true, author });
  taken(await give(judged!, "Eve"));
  taken(await give(byOther!, "Bob"));
  const listed = async (body: object) => {
    const { id } = await create(world, body);
    const rows = await world.database.read({
      sql: "select position from review_records where review_id = ? order by ordinal",
      args: [id],
    });
    return rows.length;
  };
  const filter = { deployId: "greeting@production", from };
  assert.is(await listed({}), 7);
  assert.is(await listed({ from }), 5);
  assert.is(await listed(filter), 4);
  assert.is(await listed({ ...filter, status: "1" }), 3);
  assert.is(await listed({ ...filter, withoutFeedback: "*" }), 2);
  assert.is(await listed({ ...filter, feedback: "thumb=true" }), 2);
  assert.is(await listed({ ...filter, withoutOwn: true, actor: "Eve" }), 3);
  assert.is(await listed({ ...filter, withoutOwn: true, actor: "Nobody" }), 4);
  assert.is(await listed({ records: 2 }), 2);
  const made = await create(world, { ...filter, status: "1", withoutOwn: true, actor: "Eve" });
  assert.equal([made.filter, made.withoutOwn, made.createdBy], [
    { deployId: world.deployId, status: "1", from },
    true,
    "Eve",
  ]);
  assert.equal([before.length, good === failed], [2, false]);
  const { reviewers: _, otherReviewers: _others, ...shown } = await showReview(world, made.id);
  const reviews = await readAll<Review>(world, `/workspaces/${world.workspaceId}/reviews?limit=3`);
  assert.equal([reviews.length, reviews.find(({ id }) => id === made.id)], [10, shown]);
});

test("a random order follows from its seed, and finds every record about as often", async () => {
  const world = await createWorld();
  const ids = await submitAll(world, 12);
  const ann = await hire(world, "Ann");
  const firstOf = async (seed: number) => {
    const { id } = await create(world, { order: "random", seed, records: 1 });
    return (await ann.next(id)).record!.recordId;
  };
  assert.is(await firstOf(7), await firstOf(7));
  const found = new Set<string>();
  for (let seed = 0; seed < 60; seed++) found.add(await firstOf(seed));
  assert.ok(found.size >= 11, `${found.size} of ${ids.length}`);
  const { seed, order } = await create(world, { order: "random" });
  assert.ok(order === "random" && seed !== null && seed >= 0);
});

test("records leave a review when they are deleted, and it says how many", async () => {
  const world = await createWorld();
  const [, second, third] = await submitAll(world, 3);
  const { id } = await create(world);
  const ann = await hire(world, "Ann");
  await ann.next(id);
  taken(await ann.end(id, third!, "done"));
  taken(await world.manage("DELETE", `/diagnoses/${third}`));
  assert.is(countsOf(await showReview(world, id)), "3 2 0 0 0 1");
  assert.is((await ann.next(id)).record?.recordId, second);
  taken(await world.manage("DELETE", `/diagnoses/${second}`));
  refusedAs(410, "diagnosis_deleted", await ann.end(id, second!, "done"));
  world.now += 3 * 86_400_000;
  taken(await world.submit(), 201);
  taken(await world.manage("POST", "/prune", { olderThanMs: 86_400_000 }));
  const review = await showReview(world, id);
  assert.equal([countsOf(review), review.reviewers], ["3 0 0 0 0 3", []]);
  assert.is((await ann.next(id)).record, null);
  // Another record takes no place of one that is gone.
  assert.is(countsOf(await create(world)), "1 1 0 0 0 0");
  assert.is(taken<{ balanced: boolean }>(await world.manage("GET", "/verify")).balanced, true);
});

test("deleting a review keeps feedback, and deleting a workspace removes its reviews", async () => {
  const world = await createWorld();
  const [recordId] = await submitAll(world, 1);
  const [one, other] = [await create(world), await create(world)];
  taken(await world.manage("POST", `/diagnoses/${recordId}/feedback`, { name: "thumb", value: true }));
  taken(await world.manage("DELETE", `/reviews/${one.id}?actor=Eve&note=Over`));
  refused(await world.manage("GET", `/reviews/${one.id}`), 404, `Review ${one.id} not found`);
  const { feedback } = taken<{ feedback: unknown[] }>(await world.manage("GET", `/diagnoses/${recordId}/feedback`));
  assert.is(feedback.length, 1);
  const { items } = taken<{ items: Record<string, unknown>[] }>(await world.manage("GET", "/audit?limit=3"));
  assert.equal(items.map(({ action, targetId, actor, note }) => [action, targetId, actor, note]), [
    ["review.deleted", one.id, "Eve", "Over"],
    ["review.created", other.id, "", ""],
    ["review.created", one.id, "", ""],
  ]);
  taken(await world.manage("DELETE", `/workspaces/${world.workspaceId}?confirm=Acme`));
  for (const table of ["reviews", "review_records"]) {
    assert.equal(await world.database.read({ sql: `select * from ${table}` }), [], table);
  }
});

test("verify finds a review that was changed, added or removed by hand", async () => {
  const world = await createWorld();
  await submitAll(world, 2);
  const [changed, removed, kept] = [
    await create(world, { order: "random", withoutOwn: true, status: "ok", names: ["thumb"], from: 1 }),
    await create(world),
    await create(world, { deployId: world.deployId, title: `With pl_${"x".repeat(20)} and ${world.key}` }),
  ];
  const ann = await hire(world, "Ann");
  await ann.next(kept.id);
  const verified = async () => {
    const { audit } = taken<{ audit: { differences: number; rows: Record<string, unknown>[] } }>(
      await world.manage("GET", "/verify"),
    );
    return audit.rows.map(({ what, noun, id, members }) => [what, noun, id, members]);
  };
  assert.equal(await verified(), []);
  for (
    const sql of [
      `update reviews set names = '["tone"]', filter = json_set(filter, '$.status', '0') where id = '${changed.id}'`,
      `delete from reviews where id = '${removed.id}'`,
      `insert into reviews select 'review_x', workspace_id, title, filter, sequence, seed, names, records, created_at, created_by
      from reviews where id = '${kept.id}'`,
    ]
  ) await world.database.write([{ sql }]);
  const all = await verified();
  assert.equal(all.sort(), [
    ["added", "review", "review_x", []],
    ["changed", "review", changed.id, ["filter", "names"]],
    ["removed", "review", removed.id, []],
  ]);
});

test("what cannot be reviewed is refused", async () => {
  const world = await createWorld();
  const [recordId] = await submitAll(world, 1);
  const { id } = await create(world);
  const stranger = await createTenant(world.admin, 1000, "Other");
  const theirs = taken<{ id: string }>(await world.submit(undefined, stranger.deployId, stranger.key), 201);
  const ann = await hire(world, "Ann"), eve = await hire(world, "Eve", stranger.workspaceId);
  refused(await createFor(world, { model: "none" }), 409, "No record matches the filter");
  for (
    const body of [
      ...[{ title: "" }, { title: "a\nb" }, { records: 0 }, { records: 10_001 }, { seed: -1 }, { seed: 2 ** 32 }],
      ...[{ seed: 0.5 }, { names: ["a", "a"] }, { names: ["a b"] }, { names: "a" }, { order: "oldest" }, { from: -1 }],
      ...[{ cursor: "x" }, { where: "x" }, { feedback: "x" }, {
        names: Array.from({ length: 21 }, (_, nth) => `n${nth}`),
      }],
    ]
  ) {
    assert.is((await createFor(world, body)).status, 400, JSON.stringify(body));
  }
  refusedAs(404, "deployment_not_found", await createFor(world, { deployId: stranger.deployId }));
  refusedAs(404, "review_not_found", await eve.end(id, theirs.id, "done"));
  refusedAs(404, "diagnosis_not_found", await ann.end(id, theirs.id, "done"));
  const path = `/reviews/${id}/records/${theirs.id}/done`;
  refused(await world.manage("POST", path, {}), 404, `Record ${theirs.id} not found`);
  refused(await ann.end(id, recordId!, "done"), 409, `Record ${recordId} is not yours in this review. Take it first`);
  const names = `/workspaces/${world.workspaceId}/feedback-names`;
  taken(await world.manage("POST", names, { name: "thumb", kind: "boolean" }));
  refusedAs(400, "feedback_undeclared", await createFor(world, { names: ["thumb", "tone"] }));
  await create(world, { names: ["thumb"] });
  assert.is((await world.manage("POST", `/reviews/${id}/next`, { actor: "a\nb" })).status, 400);
  assert.is(promptFile.title, "Greeting");
});

/** What happens at random: each names a reviewer and a record by numbers. */
const step = fc.record({
  what: fc.constantFrom("next", "next", "next", "done", "done", "skip", "return", "wait", "delete"),
  who: fc.nat(2),
  which: fc.nat(7),
  ms: fc.constantFrom(1, leaseMs / 2, leaseMs),
});

test("over random histories nobody gets a record that another one has, and the counts are those of a plain model", async () => {
  for (
    const steps of fc.sample(fc.array(step, { minLength: 30, maxLength: 60 }), {
      numRuns: isFull ? 24 : 6,
    })
  ) {
    const world = await createWorld();
    const ids = (await submitAll(world, 8)).reverse();
    const { id } = await create(world);
    const reviewers = [await hire(world, "Ann"), await hire(world, "Bob"), await hire(world, "Cid")];
    const names = ["Ann", "Bob", "Cid"];
    const model = new Map(ids.map((id) => [id, { state: "open", who: -1, until: 0 }]));
    for (const { what, who, which, ms } of steps) {
      const reviewer = reviewers[who]!, recordId = ids[which]!, known = model.get(recordId);
      if (what === "wait") world.now += ms;
      else if (what === "delete") {
        if (which > 1) continue;
        taken(await world.manage("DELETE", `/diagnoses/${recordId}`));
        model.delete(recordId);
      } else if (what === "next") {
        const { record } = await reviewer.next(id);
        const all = [...model].filter(([, { state }]) => state === "open");
        const own = all.find(([, each]) => each.who === who && each.until > world.now);
        const [wanted] = own ?? all.find(([, { until }]) => until <= world.now) ?? [null];
        assert.is(record?.recordId ?? null, wanted);
        if (wanted !== null) model.set(wanted, { state: "open", who, until: world.now + leaseMs });
      } else {
        const { status } = await reviewer.end(id, recordId, what);
        const isFree = what === "return" && known?.who === -1;
        assert.is(status, known === undefined ? 410 : known.who === who || isFree ? 200 : 409, what);
        if (known?.who !== who) continue;
        const state = what === "done" ? "done" : what === "skip" ? "skipped" : "open";
        model.set(recordId, { state, who: what === "return" ? -1 : who, until: 0 });
      }
      const all = [...model.values()], has = (wanted: string) => all.filter(({ state }) => state === wanted).length;
      const isTaken = ({ state, until }: { state: string; until: number }) => state === "open" && until > world.now;
      const leased = all.filter(isTaken).length;
      const review = await showReview(world, id);
      assert.is(
        countsOf(review),
        [8, has("open") - leased, leased, has("done"), has("skipped"), 8 - all.length].join(" "),
      );
      const expected = names.flatMap((name, who) => {
        const own = all.filter((each) => each.who === who),
          count = (state: string) => own.filter((each) => each.state === state).length;
        const [taken, done, skipped] = [own.filter(isTaken).length, count("done"), count("skipped")];
        return taken + done + skipped === 0 ? [] : [`${name} ${taken} ${done} ${skipped}`];
      });
      assert.equal(
        review.reviewers.map(({ reviewer, taken, done, skipped }) => `${reviewer} ${taken} ${done} ${skipped}`).sort(),
        expected,
      );
    }
  }
});

test.run();
