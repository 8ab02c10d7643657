// What people change at the console: each form does what its operation does, and shows what was refused.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import fc from "fast-check";
import { contentOf, keepUnchanged, readDraft, toDraft } from "../../src/console/prompts/draft.ts";
import { stringify } from "../../src/common/json-text.ts";
import { isApiKey, isToken } from "../../src/common/ids.ts";
import { listAuditEntries } from "../../src/management/events/audit.ts";
import { getDeployment } from "../../src/management/deployments/deployments.ts";
import { textsOf } from "../../src/management/prompts/prompt-text.ts";
import { getPrompt, toContent } from "../../src/management/prompts/versions.ts";
import { listApiKeys } from "../../src/management/access/api-keys.ts";
import { getWorkspace } from "../../src/management/kernel/workspaces.ts";
import { protectDeployment } from "../../src/management/deployments/deployment-changes.ts";
import { createToken } from "../../src/management/access/tokens.ts";
import { call, createDeployment, createPrompt, promoteDeployment, pushPrompt, updateWorkspace } from "../actions.ts";
import { bearer, promptFile, toPrompt } from "../helpers.ts";
import { createVisit, refusalIn, visit } from "./visitor.ts";

const test = suite("changes");

const { world, visitor } = await createVisit();
test.after(() => world.close());
const { admin, workspaceId } = world;

const makePrompt = async () => {
  const { id } = await createPrompt(admin, workspaceId, toPrompt(promptFile));
  return { id, path: `/prompts/${id}/edit` };
};

/** What the form of an edited prompt sends. */
const draftForm = (content: string, more: Record<string, string> = {}) => ({
  ...{ title: "Greeting", description: "Says hello", "role-0": "system", "content-0": content, "more-0": "" },
  ...{ llmConfig: JSON.stringify(promptFile.llmConfig, null, 2), note: "Kinder", latest: "1", do: "publish" },
  ...more,
});

test("publishing makes the next version, and text that was not changed stays as it was to the byte", async () => {
  const { id, path } = await makePrompt();
  const page = await visitor.see(path);
  assert.match(page, "Greet {{name}}");
  const same = await visitor.send(path, draftForm("Greet {{name}}"));
  assert.match(same.headers.get("Location")!, "done=same");
  const { status, headers } = await visitor.send(path, draftForm("Greet {{name}}\r\nkindly", { "value-name": "Ada" }));
  assert.equal([status, headers.get("Location")!.includes("done=published")], [303, true]);
  const { version, note, messages, llmConfig } = await call(getPrompt, admin, { id });
  assert.equal([version, note], [2, "Kinder"]);
  assert.is(messages.text, '[{"role":"system","content":"Greet {{name}}\\nkindly"}]');
  assert.is(llmConfig.text, JSON.stringify(promptFile.llmConfig));
});

test("the editor shows what a version declares, keeps it, and fills in its examples", async () => {
  const declarations = {
    name: { type: "text", example: "<Ada>", description: "Who is <i>greeted" },
    history: { type: "messages", required: false, example: [{ role: "user", content: "Good day" }] },
  };
  const messages = [...promptFile.messages, { role: "placeholder", content: "{{history}}" }];
  const { id } = await createPrompt(admin, workspaceId, toPrompt({ ...promptFile, messages, declarations }));
  const path = `/prompts/${id}/edit`, page = await visitor.see(path);
  assert.match(page, "Greet &lt;Ada&gt;");
  assert.match(page, "Good day");
  assert.match(await visitor.see(`/prompts/${id}`), /<code>history<\/code>.*messages.*No.*Good day/s);
  assert.match(await visitor.see(`/prompts/${id}`), "Who is &lt;i&gt;greeted");
  const form = draftForm("Greet {{name}}!", {
    ...{ "role-1": "placeholder", "content-1": "{{history}}", "more-1": "" },
    declarations: JSON.stringify(declarations, null, 2).replaceAll("\n", "\r\n"),
  });
  assert.is((await visitor.send(path, form)).status, 303);
  const made = await call(getPrompt, admin, { id });
  assert.equal([made.version, made.declarations?.text], [2, JSON.stringify(declarations)]);
  const other = { ...form, declarations: '{"nam": {"type": "text"}}', do: "preview", latest: "2" };
  const { text } = await visitor.send(path, other);
  assert.match(text, "Not declared: <code>name</code>, <code>history</code>. Declared and not used: <code>nam</code>.");
  for (
    const [wrong, fault] of [
      ['{"name": {"type": "date"}}', "Field declarations.name.type must be one of text, number, boolean, messages"],
      ['{"name": 1}', "Field declarations.name must be an object"],
      ["[", "Variables must be valid JSON"],
    ] as const
  ) {
    assert.match((await visitor.send(path, { ...other, declarations: wrong })).text, fault);
  }
});

test("before publishing, a form shows the difference, the variables that come and go, and the messages filled in", async () => {
  const { id, path } = await makePrompt();
  const preview = draftForm("Greet {{who}}", { do: "preview", "value-who": "<Ada>" });
  const { status, text } = await visitor.send(path, preview);
  assert.is(status, 200);
  assert.match(text, /<del>.*Greet \{\{<b>name<\/b>\}\}.*<ins>.*Greet \{\{<b>who<\/b>\}\}/s);
  assert.match(text, "New variables: <code>who</code>");
  assert.match(text, "Variables that go: <code>name</code>");
  assert.match(text, "Greet &lt;Ada&gt;");
  assert.is((await call(getPrompt, admin, { id })).version, 1);
});

test("messages are added, moved and removed without scripts, and nothing that was written is lost", async () => {
  const { path } = await makePrompt();
  const two = { "role-1": "user", "content-1": "Second", "more-1": '{"name":"x"}' };
  const boxes = (page: string) =>
    Array.from(page.matchAll(/<textarea id="content-\d+"[^>]*>\n(.*?)<\/textarea>/gs), ([, text]) => text);
  const after = async (action: string) =>
    boxes((await visitor.send(path, draftForm("First", { ...two, do: action }))).text);
  assert.equal(await after("add"), ["First", "Second", ""]);
  assert.equal(await after("up-1"), ["Second", "First"]);
  assert.equal(await after("down-0"), ["Second", "First"]);
  assert.equal(await after("remove-0"), ["Second"]);
  assert.equal(await after("preview"), ["First", "Second"]);
});

test("who publishes on top of a version that is no longer the newest sees what the other one changed", async () => {
  const { id, path } = await makePrompt();
  await visitor.see(path);
  await pushPrompt(admin, id, { ...toPrompt({ ...promptFile, title: "Theirs" }), note: "Faster" });
  const { status, text } = await visitor.send(path, draftForm("Mine {{name}}"));
  assert.is(status, 412);
  assert.match(refusalIn(text)!, /Someone published version 2 while you were editing \(“Faster”\)/);
  assert.match(text, "Mine {{name}}");
  assert.match(text, "<b>Theirs</b>");
  assert.match(text, '<input type="hidden" name="latest" value="2">');
  assert.is((await call(getPrompt, admin, { id })).version, 2);
  await visitor.send(path, draftForm("Mine {{name}}", { latest: "2" }));
  assert.is((await call(getPrompt, admin, { id })).version, 3);
});

test("what is not valid is refused with its reason, and stays in the form", async () => {
  const { id, path } = await makePrompt();
  for (
    const [form, reason] of [
      [{ "more-0": "[]" }, "More fields of message 1 must be an object."],
      [{ "more-0": '{"role":"system"}' }, "Message 1 has a field for role: remove it from its more fields."],
      [{ "more-0": '{"x":1,"content":"y"}' }, "Message 1 has a field for content: remove it from its more fields."],
      [{ "role-0": "" }, "Field messages[0].role must be a non-empty string."],
      [{ title: "" }, "Field title must be a name of 1 to 200 characters without control characters."],
    ] as const
  ) {
    const { status, text } = await visitor.send(path, draftForm("Keep <this>", form));
    assert.equal([status, refusalIn(text)], [400, reason]);
    assert.match(text, "Keep &lt;this&gt;");
  }
  assert.is((await call(getPrompt, admin, { id })).version, 1);
});

test("a fault of JSON stands at its field with its line and column, and before the preview a list leads to each", async () => {
  const { path } = await makePrompt();
  const faulty = {
    llmConfig: '{\r\n  "model": "a",\r\n}',
    ...{ "more-0": "{'x'}", "json-0": "yes", "content-0": "[1,]" },
    ...{ "role-1": "user", "content-1": "{{a}}", "more-1": '{"fine":1}' },
  };
  const faults = {
    "content-0":
      "Content of message 1 must be valid JSON: line 1, column 4: expected a value, found ]: remove the comma before it",
    "more-0":
      "More fields of message 1 must be valid JSON: line 1, column 2: expected a name in double quotes, found '",
    "more-1": "",
    llmConfig:
      "Model settings must be valid JSON: line 3, column 1: expected a name in double quotes, found }: remove the comma before it",
    declarations: "",
  };
  for (const action of ["preview", "publish"]) {
    const { status, text } = await visitor.send(path, draftForm("", { ...faulty, do: action }));
    assert.is(status, action === "preview" ? 200 : 400);
    const shown = Array.from(
      text.matchAll(/<p class="fault" id="fault-([^"]+)"[^>]*>(.*?)<\/p>/g),
      ([, name, fault]) => [
        name,
        fault!.replaceAll("&#39;", "'"),
      ],
    );
    assert.equal(Object.fromEntries(shown), faults);
    const marked = Array.from(text.matchAll(/<textarea id="([^"]+)"[^>]* aria-invalid="true"/g), ([, name]) => name);
    assert.equal(marked, ["content-0", "more-0", "llmConfig"]);
    const links = Array.from(text.matchAll(/<a href="#([^"]+)">[^<]* must be valid JSON/g), ([, name]) => name);
    // The reason of the refusal is such a link too.
    assert.equal(links, action === "preview" ? marked : [marked[0], ...marked]);
  }
});

test("a variable that is not closed is warned of under its text, with its line and column, and can be published", async () => {
  const { id, path } = await makePrompt();
  const open = { "content-0": "Hi {{name}},\r\nyou of {{shop}.", "role-1": "user", "content-1": "{{a} ".repeat(5) };
  const { status, text } = await visitor.send(path, draftForm("", { ...open, do: "preview" }));
  assert.is(status, 200);
  const warnings = Array.from(
    text.matchAll(/<p class="warned" id="warning-([^"]+)"[^>]*>(.*?)<\/p>/g),
    ([, ...all]) => all,
  );
  assert.equal(warnings, [
    ["content-0", "Warning: {{ without }} in line 2, column 8. Write a variable as {{name}}."],
    [
      "content-1",
      "Warning: {{ without }} in line 1, column 1; line 1, column 6; line 1, column 11 and 2 more. " +
      "Write a variable as {{name}}.",
    ],
  ]);
  assert.not.match(text, /<textarea[^>]* aria-invalid="true"/);
  assert.is((await visitor.send(path, draftForm("", open))).status, 303);
  assert.is((await call(getPrompt, admin, { id })).version, 2);
});

test("who may not publish gets the reason, and no form", async () => {
  const { path } = await makePrompt();
  const { token } = await call(createToken, admin, { name: "Vera", role: "viewer" });
  for (const each of [path, "/prompts/new"]) {
    const page = await (await visit(world, token)).see(each);
    assert.match(page, "This needs the role editor. You are signed in as viewer.");
    assert.not.match(page, /<form method="post" id="draft"|editor\.js|<textarea/);
  }
});

test("a new prompt is version 1, and a name that is taken is refused", async () => {
  const form = draftForm("Hi", { name: "support/new" });
  const { headers } = await visitor.send("/prompts/new", form);
  assert.match(headers.get("Location")!, /prompts\/prompt_\w+\?done=published$/);
  const again = await visitor.send("/prompts/new", form);
  assert.equal([again.status, refusalIn(again.text)], [409, "The workspace has another prompt named support/new."]);
});

const json = fc.jsonValue({ maxDepth: 2 });
const message = fc.record({
  role: fc.constantFrom("system", "user", "x y"),
  content: fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.constantFrom("a\r\nb", "\n\nx", "\u0000", "\u0085", " pad ", "{{a}}"),
    fc.array(fc.record({ type: fc.constant("text"), text: fc.string() }), { minLength: 1 }),
  ),
  ...{ name: fc.oneof(fc.constant(undefined), fc.string()), extra: fc.oneof(fc.constant(undefined), json) },
});

/** What a browser sends of a form with this draft: text areas have CRLF, and lose what HTML cannot hold. */
function sendDraft(draft: ReturnType<typeof toDraft>): URLSearchParams {
  const form = new URLSearchParams();
  const crlf = (text: string) => text.replace(/\r\n?|\n/g, "\r\n");
  for (const name of ["name", "title", "description", "note", "llmConfig", "declarations"] as const) {
    form.set(name, crlf(draft[name]));
  }
  for (const [index, { role, content, isJson, more }] of draft.messages.entries()) {
    form.set(`role-${index}`, role);
    form.set(`content-${index}`, crlf(content));
    form.set(`more-${index}`, crlf(more));
    if (isJson) form.set(`json-${index}`, "yes");
  }
  return form;
}

const box = fc.oneof(fc.string(), fc.constantFrom("role", "content", "{{a}}"));
const more = fc.dictionary(fc.oneof(fc.constantFrom("role", "content", "name", "__proto__"), fc.string()), json);
const draftMessage = fc.record({
  role: box,
  content: box,
  isJson: fc.constant(false),
  more: fc.oneof(fc.constant(""), more.map((members) => JSON.stringify(members))),
});

test("any draft that is accepted gives messages with the roles and the texts of its boxes", () => {
  const property = fc.property(fc.array(draftMessage, { maxLength: 3 }), (messages) => {
    const draft = { ...toDraft(toContent(toPrompt(promptFile))), messages };
    let content;
    try {
      content = contentOf(draft);
    } catch (error) {
      assert.match((error as Error).message, /has a field for (role|content): remove it from its more fields/);
      return;
    }
    const parsed = JSON.parse(content.messages.text) as { role: string; content: string }[];
    assert.equal(
      parsed.map(({ role, content }) => [role, content]),
      messages.map(({ role, content }) => [role, content]),
    );
  });
  fc.assert(property, { numRuns: 300 });
});

test("any prompt comes back from its form as it was, to the byte", () => {
  const example = fc.oneof(fc.constant(undefined), fc.string({ unit: "grapheme" }));
  const property = fc.property(fc.array(message, { maxLength: 4 }), json, example, (messages, setting, example) => {
    const declarations = example === undefined ? undefined : { a: { type: "text", example } };
    const before = toContent(toPrompt({ ...promptFile, messages, llmConfig: { setting }, declarations }));
    const after = keepUnchanged(contentOf(readDraft(sendDraft(toDraft(before)))), before);
    assert.equal(textsOf(after), textsOf(before));
  });
  fc.assert(property, { numRuns: 300 });
});

test("each version can be promoted and deployed, also where a choice of all would be too long", async () => {
  const { world, visitor } = await createVisit();
  const { admin, deployId, promptId, database } = world;
  const path = `/deployments/${deployId}/promote`;
  assert.match(await visitor.see(`${path}?version=1`), '<select id="version"');
  for (let nth = 2; nth <= 105; nth++) await pushPrompt(admin, promptId, toPrompt({ ...promptFile, title: `T${nth}` }));
  const page = await visitor.see(`${path}?version=3`);
  assert.match(page, /<input id="version" name="version" type="number" value="3"[^>]* list="version-list"/);
  assert.match(page, "1 to 105. The newest 100 are suggested.");
  assert.match(page, '<option value="6">v6</option></datalist>');
  assert.match(page, "<strong>v1 → v3</strong>");
  assert.is((await visitor.send(path, { version: "3" })).status, 303);
  const { currentVersion } = await call(getDeployment, admin, { id: deployId });
  assert.is(currentVersion, 3);
  assert.match(
    await visitor.see(`/prompts/${promptId}?version=2`),
    /<input id="version" name="version" type="number" value="2"/,
  );
  database.close();
});

test("a deployment is promoted, rolled back, switched off and on, each with its note in the history", async () => {
  const { id } = await makePrompt();
  await pushPrompt(admin, id, toPrompt({ ...promptFile, title: "Second" }));
  const made = await visitor.send(`/prompts/${id}`, { do: "deploy", name: "live", version: "1", note: "" });
  const [, deployId] = /deployments\/(dep_\w+)/.exec(made.headers.get("Location")!)!;
  const path = `/deployments/${deployId}`;
  const state = async () => {
    const { currentVersion, isActive, revision } = await call(getDeployment, admin, { id: deployId as never });
    return [currentVersion, isActive, revision];
  };
  const asking = await visitor.see(`${path}/promote?version=2`);
  assert.match(asking, "<strong>v1 → v2</strong>");
  assert.match(asking, "<b>Second</b>");
  // The difference begins with the first line.
  assert.not.match(asking, "⋯");
  assert.equal(await state(), [1, true, 1]);
  const revision = () => state().then(([, , revision]) => String(revision));
  for (
    const [change, form, after] of [
      ["promote", { version: "2" }, [2, true, 2]],
      ["rollback", { version: "1" }, [1, true, 3]],
      ["deactivate", {}, [1, false, 4]],
      ["activate", {}, [1, true, 5]],
    ] as const
  ) {
    const sent = { ...form, revision: await revision(), note: `why ${change}` };
    const { headers } = await visitor.send(`${path}/${change}`, sent);
    assert.match(headers.get("Location")!, `done=${change}`);
    assert.equal(await state(), after);
  }
  const history = await visitor.see(path);
  for (const change of ["promote", "rollback", "deactivate", "activate"]) assert.match(history, `why ${change}`);

  const stale = await visitor.send(`${path}/promote`, { version: "2", revision: "1" });
  assert.equal([stale.status, refusalIn(stale.text)], [
    412,
    `Deployment ${deployId} has changed: read it again and repeat.`,
  ]);
  assert.equal(await state(), [1, true, 5]);
});

test("an editor does not change a protected deployment, and is told why", async () => {
  const { deployId, promptId } = world;
  await pushPrompt(admin, promptId, toPrompt({ ...promptFile, title: "Second" }));
  await call(protectDeployment, admin, { id: deployId });
  const { token } = await call(createToken, admin, { name: "Eddie", role: "editor" });
  const editor = await visit(world, token);
  const page = await editor.see(`/deployments/${deployId}/promote?version=2`);
  assert.match(page, "This needs the role publisher because the deployment is protected. You are signed in as editor.");
  assert.is((await editor.send(`/deployments/${deployId}/promote`, { version: "2" })).status, 403);
});

test("secrets of keys and tokens are shown once, and rotation and revocation do what they say", async () => {
  const secretIn = (page: string) => /<code class="secret">(\w+)<\/code>/.exec(page)?.[1] ?? "";
  const created = await visitor.send("/keys", { name: "App", may: "read", expiresAt: "2027-01-01T00:00" });
  const key = secretIn(created.text);
  assert.ok(isApiKey(key));
  const { items } = await call(listApiKeys, admin, { workspaceId });
  const stored = items.find(({ name }) => name === "App");
  assert.equal([stored!.name, stored!.readOnly, stored!.expiresAt], ["App", true, Date.UTC(2027, 0, 1)]);
  assert.not.match(await visitor.see("/keys"), key);
  const read = (secret: string) =>
    world.send(`/v1/prompts?deployId=${world.deployId}`, { headers: bearer(secret) }).then(({ status }) => status);
  assert.is(await read(key), 200);
  const rotated = await visitor.send(`/keys/${stored!.id}`, { do: "rotate", overlap: "0" });
  const next = secretIn(rotated.text);
  assert.equal([await read(key), await read(next)], [401, 200]);
  await visitor.send(`/keys/${stored!.id}`, { do: "revoke" });
  assert.is(await read(next), 401);

  const token = secretIn((await visitor.send("/tokens", { name: "Vera", role: "viewer", where: "here" })).text);
  assert.ok(isToken(token));
  const viewer = await visit(world, token);
  assert.match(await viewer.see(""), "Vera");
});

test("settings are stored as they are entered, and what is wrong with them is said", async () => {
  const form = { name: "Acme", monthlyLimit: "2,000", upgradeUrl: "https://acme.example/more", keepRecords: "30" };
  const asking = await visitor.send("/settings", { ...form, keepCalls: "" });
  assert.is(asking.status, 409);
  assert.match(refusalIn(asking.text)!, "This removes records older than 30 days.");
  assert.match(asking.text, 'name="consent"');
  await visitor.send("/settings", { ...form, keepCalls: "", consent: "yes" });
  const { monthlyLimit, upgradeUrl, keepRecordsMs, keepCallsMs } = await call(getWorkspace, admin, { id: workspaceId });
  assert.equal([monthlyLimit, upgradeUrl, keepRecordsMs, keepCallsMs], [2000, form.upgradeUrl, 30 * 86_400_000, null]);
  const { status, text } = await visitor.send("/settings", { ...form, upgradeUrl: "javascript:alert(1)" });
  assert.is(status, 400);
  assert.match(refusalIn(text)!, "Upgrade URL must be");
  const without = await visitor.send("/settings", { ...form, keepRecords: "0" });
  assert.equal([without.status, refusalIn(without.text)], [
    400,
    "Keep records for days must be from 1 to 3660, or empty.",
  ]);
  const unnamed = await visitor.send("/settings", { do: "statuses", "code-0": "7", "name-0": "" });
  assert.match(refusalIn(unnamed.text)!, /^The name of status 7 must be /);
});

test("settings that are stored untouched leave a retention that is no whole number of days", async () => {
  const keepRecordsMs = 36 * 3_600_000;
  await updateWorkspace(admin, workspaceId, { keepRecordsMs });
  assert.match(await visitor.see("/settings"), 'name="keepRecords" type="number" value="2"');
  const stored = async (keepRecords: string) => {
    await visitor.send("/settings", { name: "Acme", monthlyLimit: "2000", keepRecords });
    return (await call(getWorkspace, admin, { id: workspaceId })).keepRecordsMs;
  };
  assert.equal([await stored("2"), await stored("3"), await stored("")], [keepRecordsMs, 3 * 86_400_000, null]);
});

test("the command that deletes a workspace quotes its name for a shell", async () => {
  await updateWorkspace(admin, workspaceId, { name: "Ann's & Co" });
  assert.match(
    await visitor.see("/settings"),
    `${workspaceId} --confirm &#39;Ann&#39;\\&#39;&#39;s &amp; Co&#39;</code>`,
  );
  await updateWorkspace(admin, workspaceId, { name: "Acme" });
});

test("a time of expiry that is refused stays in its form, under its label", async () => {
  for (const path of ["/keys", "/tokens"]) {
    const { status, text } = await visitor.send(path, {
      name: "Past",
      role: "viewer",
      expiresAt: "9999-12-31T00:00:99",
    });
    assert.is(status, 400);
    assert.match(text, 'value="9999-12-31T00:00:99"');
  }
});

test("a refused name stays in its form, which is open", async () => {
  const { id } = await makePrompt();
  const deployment = `/deployments/${world.deployId}`;
  for (
    const [path, form] of [
      [deployment, { name: "Bad Name!" }],
      [`/prompts/${id}`, { do: "rename", name: "Bad Name!" }],
      [`/prompts/${id}`, { do: "deploy", name: "Bad Name!", version: "1" }],
    ] as const
  ) {
    const { status, text } = await visitor.send(path, form);
    assert.is(status, 400);
    const opened = Array.from(text.matchAll(/<details open>.*?<\/details>/gs), ([part]) => part);
    assert.is(opened.filter((part) => part.includes('value="Bad Name!"')).length, 1, JSON.stringify(form));
  }
});

test("a price is removed below what its removal changes", async () => {
  await visitor.send("/prices", { model: "gpt-4o", input: "1", output: "2" });
  const [, form] = /<details><summary>Remove(.*?)<\/details>/s.exec(await visitor.see("/prices"))!;
  assert.match(form!, "in all workspaces");
  const [, id] = /name="remove" value="([^"]+)"/.exec(form!)!;
  const { headers } = await visitor.send("/prices", { remove: id! });
  assert.match(await visitor.see(`/${headers.get("Location")!.split("/").at(-1)}`), "The price is removed.");
});

test("a price has cache writes, tiers and media that it is not for", async () => {
  const form = {
    ...{
      model: "tiered",
      input: "2",
      output: "10",
      cacheWrite: "2.5",
      cacheWriteHour: "4",
      unpricedMedia: "audio, image",
    },
    tiers: "above=200000 input=4 output=15\n\nhours=01:00-04:00 input=1 cached-input=0.1 output=5\n",
  };
  await visitor.send("/prices", form);
  const text = (await visitor.see("/prices")).replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
  assert.match(
    text,
    "tiered above=200000 input=4 output=15 hours=01:00-04:00 input=1 cached-input=0.1 output=5 Not for audio, image " +
      "Any provider $2.00 Same as input $2.50 $4.00 $10.00",
  );
  const wrong = await visitor.send("/prices", { ...form, tiers: "over=9 input=4 output=15" });
  assert.is(wrong.status, 400);
  assert.match(wrong.text, "Unknown over in a tier. Allowed: above, hours, input");
});

test("settings say where the cost of records is from", async () => {
  assert.match(await visitor.see("/settings"), "what the provider reports, or else by the prices");
  await visitor.send("/settings", { name: "Acme", monthlyLimit: "1000000", costSource: "prices" });
  assert.match(await visitor.see("/settings"), /<dd>by the prices, or else what the provider reports</);
  await visitor.send("/settings", { name: "Acme", monthlyLimit: "1000000", costSource: "provider" });
});

test("a way back without a version leads to the version before, if there is one", async () => {
  const { id } = await makePrompt();
  await pushPrompt(admin, id, toPrompt({ ...promptFile, title: "Second" }));
  const made = await createDeployment(admin, workspaceId, { name: "live", promptId: id, version: 1 });
  const path = `/deployments/${made.id}/rollback`;
  assert.match(await visitor.see(path), "No earlier version");
  await promoteDeployment(admin, made.id, { version: 2 });
  assert.match(await visitor.see(path), "Roll back to v1");
});

test("a record that is deleted is gone, and its page says so", async () => {
  const { json } = await world.submit();
  const { id } = json as { id: string };
  const path = `/records/${id}?deployment=${world.deployId}`;
  assert.match(await visitor.see(path), "Hello");
  await visitor.send(path, { do: "delete" });
  const { status, text } = await visitor.open(workspaceId + path);
  assert.is(status, 410);
  assert.match(text, "<h1>Deleted</h1>");
});

test("the audit log names who was signed in, and the console", async () => {
  const { token } = await call(createToken, admin, { name: "Olga", role: "owner" });
  const owner = await visit(world, token);
  await owner.send("/settings", { name: "Acme 2", monthlyLimit: "10" });
  const { items: [entry] } = await call(listAuditEntries, admin, { workspaceId, limit: 1 });
  assert.equal([entry!.source, entry!.actor, entry!.action], ["console", "Olga", "workspace.updated"]);
  assert.match(await owner.see("/audit?actor=Olga"), "workspace updated");
});

test("exports are those of the command line, as a file", async () => {
  await world.submit({ sessionId: "e", status: 1, content: { input: "=1+1", output: "b" } });
  const csv = await visitor.open(`${workspaceId}/records/export?deployment=${world.deployId}&session=e&format=csv`);
  assert.equal([csv.status, csv.headers.get("Content-Disposition")], [200, 'attachment; filename="records.csv"']);
  assert.match(csv.text, "'=1+1");
  const audit = await visitor.open(`${workspaceId}/audit/export`);
  assert.is(audit.headers.get("Content-Disposition"), 'attachment; filename="audit.ndjson"');
  for (const line of audit.text.trim().split("\n")) assert.ok(stringify(JSON.parse(line)).includes("action"));
});

test("prompts are found by their names and by the texts of their newest version", async () => {
  await createPrompt(
    admin,
    workspaceId,
    toPrompt({ ...promptFile, title: "Zebra", messages: [{ role: "user", content: 'Say "quagga"\nnow' }] }),
  );
  for (const text of ["zebra", "QUAGGA", '"quagga"\nnow']) {
    const page = await visitor.see(`/prompts?q=${encodeURIComponent(text)}`);
    assert.match(page, "Zebra");
    assert.not.match(page, "Greeting");
  }
  assert.match(await visitor.see("/prompts?q=nothing-like-it"), "No prompt has this text");
});

test.run();
