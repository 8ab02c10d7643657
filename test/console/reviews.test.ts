// Reviews in the console: creating one of a filter, working through it without scripts, and who may.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { declareFeedback } from "../../src/management/terms/feedback-names.ts";
import { createReview } from "../../src/management/feedback/reviews.ts";
import { createToken } from "../../src/management/access/tokens.ts";
import { call } from "../actions.ts";
import { createTenant, goodBody } from "../helpers.ts";
import { taken } from "../management/management.ts";
import { assertHarmless, attacks, withoutFields } from "./attacks.ts";
import { createVisit, linksIn, locationIn, refusalIn, visit, weightOf } from "./visitor.ts";
import type { Visitor } from "./visitor.ts";

const test = suite("reviews in the console");

const { world, visitor: operator } = await createVisit({ monthlyLimit: 10_000 });
test.after(() => world.close());
const { admin, workspaceId } = world;

const signIn = async (name: string, role: "viewer" | "editor") => {
  const { token } = await call(createToken, admin, { name, role, workspaceId });
  return await visit(world, token);
};
const ann = await signIn("ann", "editor"), bob = await signIn("bob", "editor"), vera = await signIn("vera", "viewer");

async function store(body: object = goodBody): Promise<string> {
  return taken<{ id: string }>(await world.submit(body), 201).id;
}

/** Sends a form, and returns the page to which it leads. */
const follow = async (visitor: Visitor, path: string, form: Record<string, string>) =>
  locationIn(await visitor.send(path, form), path).replace(/\?.*/, "");

const idIn = (path: string) => path.split("/").at(-1)!;
const stateOf = async (path: string) => {
  const [, , id, , recordId] = path.split("/");
  return taken<{ state: string; reviewer: string | null }>(
    await world.manage("GET", `/reviews/${id}/records/${recordId}`),
  );
};

test("a filter of records becomes a review, which two people work through without scripts", async () => {
  assert.match(await ann.see("/reviews"), "No review yet");
  const [third, second, first] = [await store(), await store(), await store()];
  await store({ ...goodBody, status: 0 });
  const records = await ann.see("/records?status=ok&last=7d");
  const link = linksIn(records).find((href) => href.includes("reviews/new"))!;
  assert.is(link, "reviews/new?status=ok&last=7d");
  const form = await ann.see(`/${link}`);
  for (const shown of ["Status: <b><bdi>ok</bdi></b>", "From (UTC): <b><bdi>2026-11-08T12:00</bdi></b>"]) {
    assert.match(form, shown);
  }
  const made = { title: "Last week", records: "3", order: "newest", names: "thumb, score" };
  const review = await follow(ann, `/${link}`, made);
  assert.match(await ann.see(`${review}?done=created`), "The review is created.");
  assert.match(await ann.see("/reviews"), "0 of 3 finished");

  const annsFirst = await follow(ann, review, { do: "next" });
  assert.is(annsFirst, `${review}/records/${first}`);
  const bobsFirst = await follow(bob, review, { do: "next" });
  assert.is(idIn(bobsFirst), second);
  const page = await ann.see(annsFirst);
  for (
    const shown of ["Record 1 of 3", "0 of 3 finished", "Done, next", "Skip", "Give it back", "Hello", "Feedback thumb"]
  ) {
    if (shown !== "Feedback thumb") assert.match(page, shown);
  }
  assert.ok(weightOf(page) < 60_000, `${weightOf(page)}`);
  // Others see who has it, and cannot finish it.
  assert.match(await bob.see(annsFirst), "<bdi>ann</bdi> has this record until it is free again");
  // A form without a word that a page sends takes, finishes, skips and deletes nothing.
  for (const path of [review, annsFirst, `/records/${first}`]) {
    for (const form of [{ do: "nothing" }, {}]) assert.is((await operator.send(path, form)).status, 400, path);
    assert.is((await operator.open(workspaceId + path)).status, 200);
  }
  assert.not.match(await ann.see(review), "<bdi>Operator</bdi></th>");
  const refused = await bob.send(annsFirst, { do: "done" });
  assert.equal([refused.status, refusalIn(refused.text)], [
    409,
    `Record ${first} is not yours in this review. ann has it.`,
  ]);

  // Feedback under all names of the review finishes the record.
  const give = (name: string, value: string) => ({ do: "feedback", name, value, comment: "" });
  assert.is(await follow(ann, annsFirst, give("thumb", "true")), annsFirst);
  assert.is((await stateOf(annsFirst)).state, "open");
  const annsNext = await follow(ann, annsFirst, give("score", "0.5"));
  assert.equal([idIn(annsNext), await stateOf(annsFirst).then(({ state }) => state)], [third, "done"]);
  assert.match(await ann.see(annsFirst), "You have done this record");
  assert.match(await ann.see(annsNext), "Feedback thumb");
  // Feedback on one that is finished already does not finish it again.
  assert.is(await follow(ann, annsFirst, give("score", "0.7")), annsFirst);

  assert.is(await follow(bob, bobsFirst, { do: "skip" }), review);
  assert.match(await bob.see(`${review}?done=over`), "No record is free now.");
  assert.is(await follow(ann, annsNext, { do: "return" }), review);
  assert.is(await follow(bob, review, { do: "next" }), annsNext);
  // To confirm what one gave before the review finishes the record too.
  for (const form of [give("thumb", "true"), give("score", "0.5")]) await bob.send(`/records/${third}`, form);
  assert.is(await follow(bob, annsNext, give("thumb", "true")), review);
  const over = await ann.see(review);
  assert.match(over, "3 of 3 finished");
  assert.not.match(over, "Next record</button>");
  assert.match(over, /<bdi>bob<\/bdi><\/th>.*?<data value="1">.*?<data value="1">/s);

  taken(await world.manage("DELETE", `/diagnoses/${first}`));
  assert.match(await ann.see(review), "2 of 2 finished");
  assert.match(await ann.see(review), "Records that are gone were deleted since");
  assert.is((await ann.open(`${workspaceId}${annsFirst}`)).status, 410);

  assert.is(await follow(ann, review, { do: "delete" }), "/reviews");
  assert.is((await ann.open(`${workspaceId}${review}`)).status, 404);
});

test("the operator leaves out what they had judged in the console", async () => {
  await store();
  const judged = await store();
  await operator.send(`/records/${judged}`, { do: "feedback", name: "thumb", value: "true", comment: "" });
  const from = "/reviews/new?status=ok";
  const review = await follow(operator, from, { title: "Mine", order: "random", records: "500", withoutOwn: "yes" });
  const page = await operator.see(review);
  assert.match(page, "Without those that <bdi>Operator</bdi> had given feedback.");
  const next = await follow(operator, review, { do: "next" });
  assert.match(await operator.see(next), "Done, next");
  const rows = await world.database.read({
    sql: "select 1 from review_records where review_id = ?",
    args: [idIn(review)],
  });
  const all = await world.database.read({ sql: "select 1 from diagnoses where status = 1" });
  assert.is(rows.length, all.length - 1);
});

test("a viewer reads reviews, and may not take part", async () => {
  const { id } = await call(createReview, admin, { workspaceId, title: "Look" });
  const path = `/reviews/${id}`;
  assert.not.match(await vera.see("/records"), "Review these");
  assert.match(await vera.see("/reviews/new"), "This needs the role editor");
  const record = await follow(ann, path, { do: "next" });
  for (const each of [path, record]) {
    const page = await vera.see(each);
    assert.match(page, "This needs the role editor. You are signed in as viewer.");
    assert.not.match(page, /<button[^>]*name="do"/);
  }
  for (
    const [to, form] of [
      [path, { do: "next" }],
      [path, { do: "delete" }],
      [record, { do: "done" }],
      [record, { do: "skip" }],
      [record, { do: "feedback", name: "thumb", value: "true" }],
      ["/reviews/new", { title: "x" }],
    ] as [string, Record<string, string>][]
  ) {
    assert.is((await vera.send(to, form)).status, 403, to);
  }
  assert.equal(await stateOf(record).then(({ state, reviewer }) => [state, reviewer]), ["open", "ann"]);
});

test("what cannot be shows the form again, and what is not of the workspace is not there", async () => {
  const other = await createTenant(admin, 1000, "Other");
  await world.submit(goodBody, other.deployId, other.key);
  const { id } = await call(createReview, admin, { workspaceId: other.workspaceId, title: "Theirs" });
  const { id: own } = await call(createReview, admin, { workspaceId, title: "Ours" });
  const outside = await store();
  for (const path of [`/reviews/${id}`, "/reviews/review_x", `/reviews/${own}/records/${outside}`]) {
    assert.is((await operator.open(`${workspaceId}${path}`)).status, 404, path);
    assert.is((await operator.send(path, { do: path.includes("records") ? "done" : "next" })).status, 404, path);
  }
  const tries: [form: Record<string, string>, status: number, refusal: RegExp][] = [
    [{ title: "" }, 400, /title must be a name/],
    [{ title: "x", records: "0" }, 400, /records must be /],
    [{ title: "x", records: "many" }, 400, /records must be a whole number/],
    [{ title: "x", order: "oldest" }, 400, /order must be one of newest, random/],
    [{ title: "x", names: "a, a" }, 400, /names must be an array of at most 20 different names/],
  ];
  for (const [form, status, refusal] of tries) {
    const answer = await ann.send("/reviews/new?status=ok", form);
    assert.is(answer.status, status);
    assert.match(refusalIn(answer.text)!, refusal);
    assert.match(answer.text, `value="${form.names ?? form.title}"`);
  }
  const none = await ann.send("/reviews/new?model=none", { title: "x" });
  assert.equal([none.status, refusalIn(none.text)], [409, "No record matches the filter."]);
  for (const refused of ["slower=x", "status=odd", "feedback=thumb", "deployment=none@here"]) {
    const { status, text } = await ann.open(`${workspaceId}/reviews/new?${refused}`);
    assert.is(status, 400, refused);
    assert.match(text, `role="alert"`);
  }
  await call(declareFeedback, admin, { workspaceId, name: "thumb", kind: "boolean" });
  assert.is((await ann.send("/reviews/new", { title: "x", names: "tone" })).status, 400);
});

for (const [kind, attack] of Object.entries(attacks)) {
  test(`${kind} is harmless as the title, the filter and the author of a review`, async () => {
    const text = attack.replace(/[\p{Cc}\u2028\u2029]/gu, "").slice(0, 150).trim() || "x",
      session = attack.slice(0, 500);
    await store({ ...goodBody, sessionId: session, content: { input: attack, output: attack } });
    const filter = { sessionId: session };
    const { id } = await call(createReview, { ...admin, caller: { ...admin.caller, actor: text } }, {
      workspaceId,
      title: text,
      ...filter,
    });
    const review = `/reviews/${id}`, record = await follow(operator, review, { do: "next" });
    for (const path of ["/reviews", review, record, `/reviews/new?${new URLSearchParams({ session })}`]) {
      assertHarmless(withoutFields(await operator.see(path)), path);
    }
  });
}

test.run();
