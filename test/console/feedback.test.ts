// Feedback on the page of a record, in sessions and in lists: who may give it, what is refused, and how it shows.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { RecordId } from "../../src/common/ids.ts";
import { declareFeedback } from "../../src/management/feedback-names.ts";
import { addFeedback, showFeedback } from "../../src/management/feedback.ts";
import { createToken } from "../../src/management/tokens.ts";
import type { EarlierFeedback, Feedback } from "../../src/schema/feedback.ts";
import { call } from "../actions.ts";
import { createTenant, goodBody } from "../helpers.ts";
import { createVisit, refusalIn, visit } from "./visitor.ts";

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

const feedbackOn = async (id: RecordId): Promise<{ feedback: Feedback[]; earlier: EarlierFeedback[] }> =>
  await call(showFeedback, admin, { id });
const given = { do: "feedback", name: "thumb", value: "true", comment: "" };

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
  const { status, text } = await ann.send(`/records/${id}`, { ...given, value: "maybe" });
  assert.equal([status, refusalIn(text)], [400, "Field value must be yes or no."]);
  assert.equal(await feedbackOn(id), { feedback: [], earlier: [] });
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

test.run();
