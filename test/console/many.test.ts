// Workspaces with more prompts and deployments than a page shows: pages show all of them, in parts, or say that they do not.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { DeploymentId } from "../../src/common/ids.ts";
import { createApiKey } from "../actions.ts";
import { createVisit, linksIn } from "./visitor.ts";

const test = suite("many items");

const { world, visitor } = await createVisit();
test.after(() => world.close());

const count = 5_003;

/** The id of the nth item. The first ones are the oldest. */
const idOf = (prefix: "prompt" | "dep", nth: number) => `${prefix}_${String(nth).padStart(26, "0")}`;
const idIn = (prefix: string) => `'${prefix}_' || printf('%026d', n)`;

const numbers = `with recursive i(n) as (select 1 union all select n + 1 from i where n < ${count})`;
await world.database.write([
  {
    sql: `insert into prompts (id, workspace_id, name, created_at)
      ${numbers} select ${idIn("prompt")}, '${world.workspaceId}', 'a/' || n, n from i`,
  },
  {
    sql: `insert into prompt_versions (prompt_id, version, title, description, messages, llm_config, note, created_at)
      ${numbers} select ${idIn("prompt")}, 1, 'An a', '', '[{"role":"user","content":"a"}]', '{}', '', n from i`,
  },
  {
    sql: `insert into deployments (id, workspace_id, name, prompt_id, current_version, is_active, revision, created_at)
      ${numbers} select ${idIn("dep")}, '${world.workspaceId}', 'production', ${idIn("prompt")}, 1, 1, 1, n from i`,
  },
]);
await world.database.write([{ sql: "update prompts set name = 'a' where name = 'a/1'" }]);

const oldest = { prompt: idOf("prompt", 1), deployment: idOf("dep", 1) };

/** The ids behind a part of the links of a page and of those after it. */
async function idsOf(path: string, pattern: RegExp): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let query = "", pages = 0; pages < 4; pages++) {
    const page = await visitor.see(`${path}${query}`);
    assert.match(page, 'At most <data value="5000">5,000</data> ');
    const links = linksIn(page);
    for (const link of links) {
      const [, id] = pattern.exec(link) ?? [];
      if (id !== undefined) ids.add(id);
    }
    const next = links.find((link) => link.includes("cursor="));
    if (next === undefined) return ids;
    query = next.slice(next.indexOf("?"));
  }
  throw new Error(`${path} does not end`);
}

test("each prompt is on a page of the list", async () => {
  const ids = await idsOf("/prompts", /\bprompts\/(prompt_\w+)$/);
  assert.is(ids.size, count + 1);
  assert.not.match(await visitor.see("/prompts"), "not deployed");
});

test("each deployment is on a page of the list", async () => {
  assert.is((await idsOf("/deployments", /\bdeployments\/(dep_\w+)$/)).size, count + 1);
});

test("the page of a prompt is there, however many have its name in their texts, with all of its deployments", async () => {
  const page = await visitor.see(`/prompts/${oldest.prompt}`);
  assert.match(page, new RegExp(`deployments/${oldest.deployment}`));
  assert.match(await visitor.see(`/prompts/${oldest.prompt}/compare?from=1&to=1`), "Version 1 and 1");
});

test("records are shown of any deployment, and the form takes its reference", async () => {
  for (const deployment of [oldest.deployment, "a@production"]) {
    const page = await visitor.see(`/records?deployment=${encodeURIComponent(deployment)}`);
    assert.match(page, /<input id="deployment" name="deployment" type="text" value="a@production"/);
    assert.not.match(page, "There is no deployment");
  }
  const { status, text } = await visitor.open(`${world.workspaceId}/records?deployment=dep_x`);
  assert.is(status, 400);
  assert.match(text, "There is no deployment dep_x in this workspace");
});

test("a key is for any deployment, and its pages name it", async () => {
  const { admin, workspaceId } = world;
  const deployId = oldest.deployment as DeploymentId;
  const { id } = await createApiKey(admin, workspaceId, { name: "narrow", deployId });
  assert.match(await visitor.see("/keys"), "a@production");
  const page = await visitor.see(`/keys/${id}`);
  assert.match(page, "a@production");
  assert.not.match(page, deployId);
  const made = await visitor.send("/keys", { name: "second", may: "", deployId: "a/2@production", expires: "" });
  assert.is(made.status, 200, made.text);
  assert.match(await visitor.see("/keys"), "a/2@production");
});

test("a search finds the oldest deployment by its whole reference", async () => {
  const links = linksIn(await visitor.see("/search?q=a%40production"));
  assert.ok(links.some((link) => link.endsWith(`deployments/${oldest.deployment}`)), links.join());
});

test.run();
