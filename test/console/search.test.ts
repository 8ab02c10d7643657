// The page that searches a workspace, which the script shows as a dialog.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { roles } from "../../src/management/kernel/operation.ts";
import { createToken } from "../../src/management/access/tokens.ts";
import { createPrompt } from "../../src/management/prompts/versions.ts";
import { call, createDeployment } from "../actions.ts";
import { createTenant, promptFile, toPrompt } from "../helpers.ts";
import { attacks } from "./attacks.ts";
import { createVisit, linksIn, titleOf, visit } from "./visitor.ts";

const test = suite("search");

const { world, visitor } = await createVisit();
test.after(() => world.close());
const { admin, workspaceId, promptId, deployId } = world;
const { json } = await world.submit({ sessionId: "order 4711/ü", status: 1, content: { output: "x" } });
const recordId = (json as { id: string }).id;

/** What is found, as `Prompt greeting`, and where each leads. */
async function find(text: string, { open } = visitor) {
  const { text: page } = await open(`${workspaceId}/search?q=${encodeURIComponent(text)}`);
  const [, results = ""] = page.split('<div id="results">');
  const list = results.split("</ul>")[0]!;
  const names = Array.from(
    list.matchAll(/<span class="kind">(\w+)<\/span><span>(.*?)<\/span>/gs),
    ([, kind, name]) => `${kind} ${name!.replace(/<[^>]+>/g, "")}`,
  );
  return { page, names, links: list === results ? [] : linksIn(list) };
}

test("prompts are found by a part of the name, the title or the text, those with it in the name first", async () => {
  const { id } = await call(createPrompt, admin, {
    workspaceId,
    ...toPrompt({ ...promptFile, messages: [{ role: "user", content: "A greeting for Ädä" }] }),
    name: "mail/other",
  });
  const { names, links } = await find("greet");
  assert.equal(names.filter((name) => name.startsWith("Prompt")), ["Prompt greeting", "Prompt mail/other"]);
  assert.ok(links.some((href) => href.endsWith(`prompts/${id}`)));
  assert.equal((await find("for äDÄ")).names, ["Prompt mail/other"]);
});

test("deployments are found by the words of their reference, in any order", async () => {
  await createDeployment(admin, workspaceId, { name: "staging", promptId });
  for (const text of ["greeting@stag", "stag greet", "STAGING"]) {
    assert.equal((await find(text)).names, ["Deployment greeting@staging"], text);
  }
});

test("prompts, deployments, records and sessions are found by their whole ids", async () => {
  const found = [
    [promptId, "Prompt greeting", `prompts/${promptId}`],
    [deployId, "Deployment greeting@production", `deployments/${deployId}`],
    [recordId, `Record …${recordId.slice(-10)}`, `records/${recordId}`],
    ["order 4711/ü", "Session order 4711/ü", "session?id=order+4711%2F%C3%BC"],
  ] as const;
  for (const [id, name, path] of found) {
    const { names, links } = await find(id);
    assert.equal([names, links], [[name], [path]]);
    assert.equal((await find(id.slice(0, -1))).names, []);
  }
});

test("pages are found by their names, and all of them without a text", async () => {
  assert.equal((await find("rec")).names, ["Page Records"]);
  assert.equal((await find("new")).names, ["Page New prompt"]);
  assert.ok((await find("")).names.length >= 13);
});

test("what another workspace has is not found, whatever the token", async () => {
  const other = await createTenant(admin, 10, "Other");
  const { json } = await world.submit(
    { sessionId: "theirs", status: 1, content: { output: "x" } },
    other.deployId,
    other.key,
  );
  const { token } = await call(createToken, admin, { name: "one", role: "viewer", workspaceId });
  for (const seeker of [visitor, await visit(world, token)]) {
    for (const text of [other.promptId, other.deployId, (json as { id: string }).id, "theirs"]) {
      const { names, page } = await find(text, seeker);
      assert.equal([names, titleOf(page).startsWith("Search")], [[], true], text);
    }
  }
});

test("every role finds what it may see, and no link to what it may not do", async () => {
  for (const role of roles) {
    const { token } = await call(createToken, admin, { name: role, role });
    const { names } = await find("", await visit(world, token));
    assert.is(names.includes("Page New prompt"), role !== "viewer", role);
  }
});

test("any text is searched for as it is, and one that is too long is refused with its reason", async () => {
  for (
    const text of [
      ...Object.values(attacks).slice(0, -1),
      "\0",
      "%",
      "_",
      "\\",
      "'",
      "{",
      "diag_",
      "a b ".repeat(50),
      "dep_" + "z".repeat(26),
    ]
  ) {
    const { page, names } = await find(text);
    assert.match(page, '<div id="results">', text);
    assert.equal(names.filter((name) => !name.startsWith("Prompt")), [], text);
  }
  const { text, status } = await visitor.open(`${workspaceId}/search?q=${"x".repeat(201)}`);
  assert.equal([status, text.includes("at most 200 characters")], [400, true]);
  assert.is((await visitor.send("/search", { q: "x" })).status, 405);
});

test.run();
