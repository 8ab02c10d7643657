// Feedback on the page of a record, in sessions and in lists: who may give it, what is refused, and how it shows.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { RecordId } from "../../src/common/ids.ts";
import type { Statement } from "../../src/database/database.ts";
import { declareFeedback } from "../../src/management/terms/feedback-names.ts";
import { addFeedback, showFeedback } from "../../src/management/feedback/feedback.ts";
import { createReview } from "../../src/management/feedback/reviews.ts";
import { createToken } from "../../src/management/access/tokens.ts";
import type { EarlierFeedback, Feedback } from "../../src/schema/feedback.ts";
import { call } from "../actions.ts";
import { createTenant, goodBody, openMemory } from "../helpers.ts";
import { taken } from "../management/management.ts";
import { storeFeedback } from "../stored-feedback.ts";
import { assertHarmless, attacks, withoutFields } from "./attacks.ts";
import { createVisit, linksIn, origin, refusalIn, visit, weightOf } from "./visitor.ts";

const test = suite("feedback in the console");

const { world, visitor: operator } = await createVisit({ monthlyLimit: 10_000 });
test.after(() => world.close());
const { admin, workspaceId } = world;

const signIn = async (name: string, role: "viewer" | "editor") => {
  const { token } = await call(createToken, admin, { name, role, workspaceId });
  return await visit(world, token);
};
const ann = await signIn("ann", "editor"), vera = await signIn("vera", "viewer");

/** Stores a record, and returns its id. */
async function store(body: object = goodBody): Promise<RecordId> {
  const { json, status, text } = await world.submit(body);
  assert.is(status, 201, text);
  return (json as { id: RecordId }).id;
}

async function feedbackOn(id: RecordId): Promise<{ feedback: Feedback[]; earlier: EarlierFeedback[] }> {
  const { nextCursor, ...all } = await call(showFeedback, admin, { id });
  assert.is(nextCursor, null);
  return all;
}
const given = { do: "feedback", name: "thumb", value: "true", comment: "" };

test("the pages of a record read its document once", async () => {
  const database = await openMemory();
  let documents = 0;
  const read = (statement: Statement) => {
    if (/\bd\.document\b/.test(statement.sql)) documents++;
    return database.read(statement);
  };
  const { world, visitor } = await createVisit({ database: { ...database, read } });
  const { id } = taken<{ id: string }>(await world.submit(goodBody), 201);
  const { id: review } = await call(createReview, world.admin, { workspaceId: world.workspaceId, title: "All" });
  await visitor.send(`/reviews/${review}`, { do: "next" });
  for (const path of [`/records/${id}`, `/reviews/${review}/records/${id}`]) {
    documents = 0;
    assert.match(await visitor.see(path), "Hello");
    assert.is(documents, 1, path);
  }
  await world.close();
});

test("an editor gives, changes and withdraws, and returns to the record with its filter and a notice", async () => {
  const id = await store(), path = `/records/${id}?status=1`;
  const forms: [form: Record<string, string>, done: string, notice: string][] = [
    [{ ...given, comment: "  Kind\r\nand short " }, "given", "Feedback is saved."],
    [{ ...given, comment: "Kind\nand short" }, "same", "Nothing has changed"],
    [{ ...given, value: "no" }, "given", "Feedback is saved."],
    [{ do: "withdraw", name: "thumb" }, "withdrawn", "Feedback is withdrawn."],
    [{ do: "withdraw", name: "thumb" }, "same", "Nothing has changed"],
  ];
  for (const [form, done, notice] of forms) {
    world.now += 1_000;
    const { status, headers } = await ann.send(path, form);
    assert.equal([status, headers.get("Location")], [303, `../records/${id}?status=1&done=${done}#feedback`]);
    assert.match(await ann.see(`/records/${id}?status=1&done=${done}`), notice);
  }
  const { feedback, earlier } = await feedbackOn(id);
  assert.equal(feedback, []);
  const kept = earlier.map(({ name, author, value, comment, source }) => [name, author, value, comment, source]);
  assert.equal(kept, [
    ["thumb", "ann", true, "Kind\nand short", "reviewer"],
    ["thumb", "ann", false, "", "reviewer"],
  ]);
  const page = await ann.see(`/records/${id}?status=1&done=given`);
  assert.match(page.replace(/<[^>]*>/g, ""), "Replaced or withdrawn: 2 pieces");
  assert.not.match(page, /href="[^"]*done=/);
});

test("the form has the value and the comment that the person gave, and others keep theirs", async () => {
  const id = await store();
  await call(addFeedback, admin, { id, name: "thumb", value: true, author: "bob", comment: "Bob's own" });
  await ann.send(`/records/${id}`, { ...given, value: "false", comment: "Wrong price" });
  const page = await ann.see(`/records/${id}`);
  assert.match(page, /value="false" aria-pressed="true"/);
  assert.match(page, /value="true" aria-pressed="false"/);
  assert.match(page, /<textarea[^>]*id="comment-thumb"[^>]*>\nWrong price<\/textarea>/);
  assert.is(page.match(/aria-label="Withdraw thumb"/g)?.length, 1);
  assert.match(await vera.see(`/records/${id}`), "Bob&#39;s own");
});

test("the operator, who has no name, does not speak with the application's voice without one", async () => {
  const id = await store();
  await call(addFeedback, admin, { id, name: "thumb", value: true, author: "", source: "user" });
  await operator.send(`/records/${id}`, { ...given, value: "false" });
  const { feedback } = await feedbackOn(id);
  assert.equal(feedback.map(({ author, value }) => [author, value]), [["", true], ["Operator", false]]);
});

test("a viewer sees feedback and no form, and a form that is sent nevertheless is refused", async () => {
  const id = await store();
  await ann.send(`/records/${id}`, { ...given, comment: "Seen" });
  const page = await vera.see(`/records/${id}`);
  assert.match(page, "Seen");
  assert.match(page, "This needs the role editor. You are signed in as viewer.");
  assert.not.match(page, /name="do" value="(feedback|withdraw)"/);
  for (const form of [given, { do: "withdraw", name: "thumb" }]) {
    const { status, text } = await vera.send(`/records/${id}`, form);
    assert.is(status, 403);
    assert.match(text, "This needs the role editor");
  }
  assert.is((await feedbackOn(id)).feedback.length, 1);
});

test("another workspace's record is an unknown one", async () => {
  const other = await createTenant(admin, 10, "Other");
  const { json } = await world.submit(goodBody, other.deployId, other.key);
  const { id } = json as { id: RecordId };
  for (const form of [given, { do: "withdraw", name: "thumb" }]) {
    for (const person of [ann, operator]) assert.is((await person.send(`/records/${id}`, form)).status, 404);
  }
  assert.equal((await feedbackOn(id)).feedback, []);
});

test("what is refused shows beside its field, keeps what was typed, and stores nothing", async () => {
  const id = await store();
  await call(addFeedback, admin, { id: await store(), name: "correctness", value: 0.5 });
  await call(addFeedback, admin, { id: await store(), name: "tone", value: "kind" });
  const long = "x".repeat(5_000);
  const cases: [name: string, value: string, comment: string, field: string, reason: string][] = [
    ["correctness", "NaN", "", "value-correctness", "Field value must be a number"],
    ["correctness", "1e999", "", "value-correctness", "Field value must be true, false, a number from -1e+15 to 1e+15"],
    ["correctness", "true", "", "value-correctness", "Field value must be a number"],
    ["correctness", "", "", "value-correctness", "Field value must be a number"],
    ["tone", long, "", "value-tone", "or a label of 1 to 200 characters"],
    ["tone", "kind", "c".repeat(8_193), "comment-tone", "Field comment must be at most 8192 bytes"],
    ["no name", "1", "why", "other-name", "Field name must be a name of 1 to 64 letters"],
    ["brand-new", "", "why", "other-value", "or a label of 1 to 200 characters"],
    ["brand-new", long, "why", "other-value", "or a label of 1 to 200 characters"],
    ["brand-new", "1", "é".repeat(4_097), "other-comment", "Field comment must be at most 8192 bytes"],
  ];
  for (const [name, value, comment, field, reason] of cases) {
    const { status, text } = await ann.send(`/records/${id}`, { ...given, name, value, comment });
    const what = `${name} ${value.slice(0, 9)}`;
    assert.is(status, 400, what);
    assert.match(refusalIn(text)!.replace("1000000000000000", "1e+15"), "must be", what);
    const [, fault] = new RegExp(`id="fault-${field}"[^>]*>([^<]*)<`).exec(text) ?? [];
    assert.ok(fault?.replaceAll("1000000000000000", "1e+15").includes(reason), `${what}: ${fault}`);
    assert.is(text.match(/class="fault"/g)?.length, 1, what);
    assert.match(text, `value="${value}"`, what);
    if (comment !== "") assert.match(text, `>\n${comment}</textarea>`, what);
  }
  const { status, text } = await ann.send(`/records/${id}?done=given`, { ...given, value: "maybe" });
  assert.equal([status, refusalIn(text)], [400, "Field value must be yes or no."]);
  assert.not.match(text, "Feedback is saved.");
  assert.equal(await feedbackOn(id), { feedback: [], earlier: [] });
});

test("under a new name a word is a label, also one that every object has", async () => {
  const id = await store();
  for (const [name, value] of [["odd", "constructor"], ["odder", "__proto__"]] as const) {
    assert.is((await ann.send(`/records/${id}`, { ...given, name, value })).status, 303);
  }
  assert.equal((await feedbackOn(id)).feedback.map(({ value }) => value), ["constructor", "__proto__"]);
});

test("a workspace that declares names has a form for each of them, with what it takes, and no other", async () => {
  const { world, visitor } = await createVisit();
  const { admin, workspaceId } = world;
  const { json } = await world.submit(goodBody), { id } = json as { id: RecordId };
  await call(addFeedback, admin, { id, name: "loose", value: true });
  const declare = (rule: Omit<Parameters<typeof declareFeedback.run>[1], "workspaceId">) =>
    call(declareFeedback, admin, { workspaceId, ...rule });
  await declare({ name: "thumb", kind: "boolean", better: "higher" });
  await declare({ name: "correctness", kind: "number", minimum: 0, maximum: 1, better: "higher" });
  await declare({ name: "tone", kind: "label", labels: ["kind", "rude & loud"] });
  const page = await visitor.see(`/records/${id}`);
  const forms = Array.from(
    page.matchAll(/aria-label="(?:Feedback |(Other))([^"]*)"/g),
    ([, other, name]) => other ?? name,
  );
  assert.equal(forms, ["correctness", "thumb", "tone"]);
  assert.match(page, "0 to 1. Higher is better.");
  assert.match(page, '<option value="rude &amp; loud">rude &amp; loud</option>');
  const refused: [form: object, reason: string][] = [
    [{ name: "correctness", value: "1.5" }, "Feedback correctness must be from 0 to 1."],
    [{ name: "tone", value: "odd" }, "Feedback tone must be one of kind, rude &amp; loud."],
    [{ name: "loose", value: "no" }, "The workspace has declared which feedback it takes, and not loose."],
  ];
  for (const [form, reason] of refused) {
    const { status, text } = await visitor.send(`/records/${id}`, { ...given, ...form, comment: "as typed" });
    assert.equal([status, refusalIn(text)], [400, reason]);
    assert.match(text, /class="fault"/);
    assert.match(text, ">\nas typed</textarea>");
  }
  const { status } = await visitor.send(`/records/${id}`, { ...given, name: "tone", value: "rude & loud" });
  assert.is(status, 303);
  await world.close();
});

test("a turn of a session and a row of a list show the feedback on their records, and lists without any have no column", async () => {
  const { world, visitor } = await createVisit();
  const { admin, workspaceId } = world;
  const stored = async () => (await world.submit({ ...goodBody, sessionId: "talk" })).json as { id: RecordId };
  const [{ id }, { id: other }] = [await stored(), await stored()];
  assert.not.match(await visitor.see("/records"), ">Feedback</th>");
  for (const author of ["a", "b", "c"]) await call(addFeedback, admin, { id, name: "thumb", value: true, author });
  const list = await visitor.see("/records");
  assert.match(list, ">Feedback</th>");
  assert.match(list, "<bdi>thumb yes, thumb yes, thum…</bdi>");
  const session = await visitor.see("/session?id=talk");
  assert.is(session.match(/<bdi>thumb<\/bdi> <b><bdi>yes<\/bdi><\/b>/g)?.length, 3);
  for (const each of [id, other]) assert.ok(linksIn(session).includes(`records/${each}#feedback`));
  const { token } = await call(createToken, admin, { name: "vera", role: "viewer", workspaceId });
  assert.not.match(await (await visit(world, token)).see("/session?id=talk"), "Give feedback");
  await world.close();
});

test("records are found by feedback and by the lack of it, with chips, and export with a column for each name", async () => {
  const { world, visitor } = await createVisit();
  const { admin } = world;
  const stored = async () => ((await world.submit(goodBody)).json as { id: RecordId }).id;
  const [good, bad, plain] = [await stored(), await stored(), await stored()];
  await call(addFeedback, admin, { id: good, name: "thumb", value: true });
  await call(addFeedback, admin, { id: bad, name: "thumb", value: false });
  await call(addFeedback, admin, { id: bad, name: "correctness", value: 0.25 });
  const cases: [query: object, found: RecordId[], chip: string][] = [
    [{ feedback: "thumb=false" }, [bad], "Feedback: thumb=false"],
    [{ feedback: "thumb=false\r\ncorrectness<0.5" }, [bad], "Feedback: thumb=false correctness&lt;0.5"],
    [{ without: "*" }, [plain], "Without feedback"],
    [{ without: "correctness" }, [plain, good], "Without feedback: correctness"],
  ];
  for (const [query, found, chip] of cases) {
    const list = `/records?${new URLSearchParams({ ...query })}`, page = await visitor.see(list);
    const rows = linksIn(page).filter((href) => href.startsWith("records/diag_"));
    assert.equal(rows.map((href) => href.split(/[/?]/)[1]), found);
    assert.match(page.replace(/<[^>]*>/g, ""), `Remove the filter ${chip}`);
    const csv = linksIn(page).find((href) => href.includes("format=csv"))!;
    const { text } = await visitor.open(`${world.workspaceId}/${csv}`);
    const [head, ...lines] = text.trim().split("\r\n");
    assert.is(lines.length, found.length);
    assert.match(head!, /feedback\.correctness.*feedback\.thumb/);
    const { status, headers } = await visitor.send(`/${rows[0]}`, { ...given, value: "true", name: "seen" });
    const after = new URL(headers.get("Location")!, `${origin}/console/${world.workspaceId}/${rows[0]}`);
    const { done: _, ...kept } = Object.fromEntries(after.searchParams);
    assert.equal([status, kept], [303, query]);
    await visitor.send(`/${rows[0]}`, { do: "withdraw", name: "seen" });
  }
  const { status, text } = await visitor.open(`${world.workspaceId}/records?feedback=thumb`);
  assert.is(status, 400);
  assert.match(refusalIn(text)!, "Feedback must be a name, one of");
  await world.close();
});

test("50 names of 20 authors with comments of 8 kB show in part, on a page that stays light, and whole as text", async () => {
  const { world, visitor } = await createVisit();
  const { database, workspaceId } = world;
  const { json } = await world.submit({ ...goodBody, sessionId: "full" }), { id } = json as { id: RecordId };
  const comments = ["Words & signs ".repeat(585), '"<b>&'.repeat(1_638)];
  const pieces = [...Array(50).keys()].flatMap((name) =>
    [...Array(20).keys()].map((author) => ({
      name: `name${name}`,
      author: author === 0 ? "Operator" : `person ${author}`,
      value: `${author}`,
      comment: `again ${comments[Math.sign(author)]!.slice(0, 8_000)}`,
    }))
  );
  const [row] = await database.read({ sql: "select max(position) as position from diagnoses" });
  await storeFeedback(database, workspaceId, [Number(row!.position)], pieces, 2);
  const page = await visitor.see(`/records/${id}`);
  assert.ok(weightOf(page) < 60_000, `${weightOf(page)} bytes`);
  const words = page.replace(/<[^>]*>/g, "");
  assert.match(words, "988 more pieces not shown.");
  assert.match(words, "Replaced or withdrawn: 1,000 pieces");
  const href = linksIn(page).find((href) => href.endsWith("part=feedback"))!;
  const { text } = await visitor.open(`${workspaceId}/${href}`.replace("/../", "/"));
  assert.equal(
    Object.values(JSON.parse(text) as object).map((all: unknown[]) => all.length),
    [1_000, 1_000],
  );
  for (const path of ["/records", "/session?id=full"]) {
    const list = await visitor.see(path);
    assert.ok(weightOf(list) < 60_000, `${path}: ${weightOf(list)} bytes`);
  }
  // The form that is asked for has the whole comment beside that, so that saving it again cuts nothing.
  assert.match(page, 'href="?rate=name0#value-name0"');
  const rated = await visitor.see(`/records/${id}?rate=name49`);
  const [comment = ""] = /(?<=id="comment-name49"[^>]*>\n)again [^<]{8000,}(?=<\/textarea>)/.exec(rated) ?? [];
  assert.is(comment.replaceAll("&amp;", "&"), `again ${comments[0]!.slice(0, 8_000)}`);
  assert.ok(weightOf(rated) - comment.length < 60_000, `${weightOf(rated)} bytes`);
  await world.close();
});

for (const [kind, attack] of Object.entries(attacks)) {
  test(`${kind} is harmless as a comment, a label, an author and a name that is refused`, async () => {
    const id = await store({ ...goodBody, sessionId: kind });
    const line = attack.replace(/\p{Cc}/gu, "").slice(0, 120), comment = attack.replaceAll("\0", "").slice(0, 2_000);
    await call(addFeedback, admin, { id, name: "hostile", value: line, author: line, comment });
    await ann.send(`/records/${id}`, { ...given, name: "hostile", value: line, comment });
    const { feedback } = await feedbackOn(id);
    assert.equal(
      feedback.map(({ value, comment }) => [String(value).trim(), comment.trim()]),
      Array(2).fill([line.trim(), comment.trim()]),
    );
    for (const path of [`/records/${id}`, `/records?session=${encodeURIComponent(kind)}`, `/session?id=${kind}`]) {
      assertHarmless(withoutFields(await ann.see(path)), path);
    }
    const { status, text } = await ann.send(`/records/${id}`, {
      ...given,
      name: attack,
      value: attack,
      comment: attack,
    });
    assert.is(status, 400);
    assertHarmless(withoutFields(text), "refused");
    await ann.send(`/records/${id}`, { do: "withdraw", name: "hostile" });
    assertHarmless(withoutFields(await ann.see(`/records/${id}`)), "earlier");
  });
}

test.run();
