// What strangers write: in records, and in names, notes and prompts. It shows as text, whatever is in it.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createPrompt, pushPrompt } from "../actions.ts";
import { promptFile, toPrompt } from "../helpers.ts";
import { assertHarmless, attacks, withoutFields } from "./attacks.ts";
import { createVisit } from "./visitor.ts";

const test = suite("hostile text");

const { world, visitor } = await createVisit();
test.after(() => world.close());
const { admin, workspaceId, deployId } = world;

/** Stores a record, and returns the path of its page. */
async function store(body: object): Promise<string> {
  const { json, status } = await world.submit(body);
  assert.is(status, 201);
  return `/records/${(json as { id: string }).id}?deployment=${deployId}`;
}

let latest = 0; // version of the prompt that comes from files

for (const [kind, attack] of Object.entries(attacks)) {
  test(`${kind} is harmless in a record, in lists, in a session and in an export`, async () => {
    const message = JSON.stringify([{ role: attack, content: attack, name: attack }]);
    const path = await store({
      ...{ sessionId: attack.slice(0, 500), status: 1, content: { input: message, output: attack, extra: attack } },
      additional_properties: { [attack]: attack },
      [attack]: attack,
    });
    const session = `/session?${new URLSearchParams({ id: attack.slice(0, 500), deployment: deployId })}`;
    for (
      const each of [
        path,
        `/records?deployment=${deployId}`,
        session,
        `/records?text=${encodeURIComponent(attack.slice(0, 50))}`,
      ]
    ) {
      assertHarmless(withoutFields(await visitor.see(each)), each);
    }
    for (const part of ["input", "output", "all"]) {
      const { headers, status } = await visitor.open(`${workspaceId}${path.replace("?", `/text?part=${part}&`)}`);
      assert.equal([status, headers.get("Content-Type")], [200, "text/plain; charset=utf-8"]);
      assert.match(headers.get("Content-Security-Policy")!, "sandbox");
    }
  });

  test(`${kind} is harmless in a prompt, in its notes, and in the log of changes`, async () => {
    const text = attack.replaceAll("\0", "").slice(0, 3_000), title = text.replace(/\s|\p{Cc}/gu, " ").slice(0, 150);
    const { id } = await createPrompt(admin, workspaceId, {
      ...toPrompt({ ...promptFile, title, messages: [{ role: "user", content: text }] }),
      note: text.slice(0, 1_000),
    });
    await pushPrompt(admin, id, toPrompt({ ...promptFile, title, description: text }));
    const pages = [
      "/prompts",
      `/prompts/${id}`,
      `/prompts/${id}?version=1`,
      `/prompts/${id}/compare?from=1&to=2`,
      "/audit",
    ];
    const found = `/search?q=${encodeURIComponent(title.slice(0, 50))}`;
    for (const path of [...pages, ""]) assertHarmless(await visitor.see(path), path);
    for (const path of [`/prompts/${id}/edit?base=1`, found]) {
      assertHarmless(withoutFields(await visitor.see(path)), path);
    }
  });

  test(`${kind} is harmless as the commit, author, repository or pull request of a change`, async () => {
    const text = attack.replace(/[\p{Cc}\u2028\u2029]/gu, "");
    for (const before of ["", "https://github.com/", "javascript:", "https://github.com/a?"]) {
      const said = `${before}${text}`.slice(0, 200);
      const origin = { commit: said, author: said, repository: said, change: said };
      const deploy = [{ name: `d${latest}`, ifRevision: null }];
      const prompt = {
        ...promptFile,
        title: `${kind} ${before}`,
        name: "from-files",
        ifLatest: latest++ || null,
        deploy,
      };
      const set = { workspaceId, prompts: [prompt], origin };
      const { status, text: answer } = await world.manage("POST", "/apply", set);
      assert.is(status, 200, answer);
      const { prompts: [applied] } = JSON.parse(answer) as { prompts: { id: string; deployments: { id: string }[] }[] };
      const { id, deployments } = applied!;
      for (const path of [`/prompts/${id}`, `/deployments/${deployments[0]!.id}`, "/audit", ""]) {
        assertHarmless(await visitor.see(path), path);
      }
    }
  });

  test(`${kind} is harmless in a query`, async () => {
    const value = encodeURIComponent(attack.slice(0, 500));
    for (
      const path of [
        `/prompts?q=${value}`,
        `/records?session=${value}&text=${value}&status=${value}`,
        `/audit?actor=${value}`,
        `/search?q=${value}`,
      ]
    ) {
      const { text } = await visitor.open(workspaceId + path);
      assertHarmless(withoutFields(text), path);
    }
    assertHarmless((await visitor.open(value)).text, "path");
  });
}

test("of 20,000 messages a page shows 100, says how many more there are, and leads to all of them", async () => {
  const messages = JSON.stringify(
    Array.from({ length: 20_000 }, (_, nth) => ({ role: "user", content: `${nth % 10}` })),
  );
  const path = await store({
    sessionId: "many",
    status: 1,
    content: { input: messages, output: `{"messages":${messages}}` },
  });
  const page = await visitor.see(path);
  assert.ok(page.length < 60_000, `${page.length}`);
  assert.is(page.match(/<article class="message user">/g)?.length, 200);
  const more = /<data value="19900">19,900<\/data> more messages are not shown\. <a href="([^"]+)">Show all/g;
  const [, href] = [...page.matchAll(more)][0]!;
  const whole = await visitor.open(new URL(href!, `http://ledger.test/console/${workspaceId}${path}`).href.slice(27));
  assert.is(whole.text, messages);
  for (const list of [`/records?deployment=${deployId}`, "/session?id=many"]) {
    assert.ok((await visitor.see(list)).length < 60_000, list);
  }
});

test("of a prompt with thousands of messages and variables a page shows some, and names the command that shows all", async () => {
  const messages = Array.from({ length: 5_000 }, (_, nth) => ({ role: "user", content: `{{v${nth}}}` }));
  const llmConfig = { stop: Array.from({ length: 20_000 }, (_, nth) => `${nth}`) };
  const { id } = await createPrompt(admin, workspaceId, toPrompt({ ...promptFile, messages, llmConfig }));
  const page = await visitor.see(`/prompts/${id}`);
  assert.ok(page.length < 250_000, `${page.length}`);
  const command =
    /more (\w+) are not shown\. <code>promptledger prompt show greeting-2 --version 1<\/code> shows all\./g;
  assert.equal(Array.from(page.matchAll(command), ([, noun]) => noun), ["messages", "variables", "characters"]);
});

test("a text of 5 MB is cut after 64 kB, with a link to the whole of it", async () => {
  const text = "lorem ipsum ".repeat(440_000);
  const path = await store({
    sessionId: "long",
    status: 1,
    content: { input: text, output: JSON.stringify([{ role: "user", content: text.slice(0, 2_000_000) }]) },
  });
  const page = await visitor.see(path);
  assert.ok(page.length < 200_000, `${page.length}`);
  assert.match(page, "Cut after 64 kB.");
  const [, href] = /<a href="([^"]+part=input)">Show all 5.3 million characters/.exec(page)!;
  const whole = await visitor.open(
    new URL(href!, `http://ledger.test/console/${workspaceId}${path}`).pathname.slice(9) + "?part=input",
  );
  assert.is(whole.text, text);
});

test.run();
