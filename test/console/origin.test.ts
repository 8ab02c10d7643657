// Where versions and changes come from, as pages show it.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Origin } from "../../src/management/kernel/origin.ts";
import { OriginLine } from "../../src/console/frame/origin.tsx";
import { toHtml } from "../../src/console/frame/html.ts";
import { promptFile } from "../helpers.ts";
import { taken } from "../management/management.ts";
import { createVisit } from "./visitor.ts";

const test = suite("origins in the console");

const hash = "0123456789abcdef0123456789abcdef01234567";
const shown = (origin: Partial<Origin>) => toHtml(OriginLine({ origin: { commit: hash, ...origin } }));
const hrefs = (html: string) => Array.from(html.matchAll(/href="([^"]*)"/g), ([, href]) => href);
const textOf = (html: string) => html.replace(/<[^>]*>/g, "");

test("a commit leads to its page where the host is known", () => {
  const pages: [repository: string, page: string][] = [
    ["https://github.com/acme/shop", `https://github.com/acme/shop/commit/${hash}`],
    ["https://github.com/acme/shop.git", `https://github.com/acme/shop/commit/${hash}`],
    ["https://github.acme.test/acme/shop/", `https://github.acme.test/acme/shop/commit/${hash}`],
    ["https://gitlab.com/a/b/shop.git", `https://gitlab.com/a/b/shop/-/commit/${hash}`],
    ["http://gitlab.acme.test:8080/a/shop", `http://gitlab.acme.test:8080/a/shop/-/commit/${hash}`],
    ["https://bitbucket.org/acme/shop", `https://bitbucket.org/acme/shop/commits/${hash}`],
    ["https://github.com/a/b?x=1#y", `https://github.com/a/b/commit/${hash}`],
  ];
  for (const [repository, page] of pages) assert.equal(hrefs(shown({ repository })), [page]);
});

test("elsewhere it is a text, and so is what is no hash", () => {
  const others = [
    ...["https://git.acme.test/shop", "https://bitbucket.acme.test/scm/a/shop", "https://notgithub.com/a/b"],
    ...["https://evil.test/github.com/a", "https://github.com:x@evil.test/a/b", "https://me:pass@github.com/a/b"],
    ...[
      "git@github.com:acme/shop.git",
      "ssh://git@github.com/a/b",
      "javascript:alert(1)//github.com",
      "github.com/a/b",
    ],
    ...["//github.com/a/b", "file:///github.com/a", "https://", ""],
  ];
  for (const repository of others) assert.equal(hrefs(shown({ repository })), [], repository);
  for (const commit of [`${hash}-dirty`, "none", "main", "../../x", "0123", hash.toUpperCase(), ""]) {
    assert.equal(hrefs(shown({ commit, repository: "https://github.com/a/b" })), [], commit);
  }
});

test("a hash is shortened, and the author and the pull request follow", () => {
  assert.is(textOf(shown({})), "0123456789ab");
  assert.is(textOf(shown({ commit: `${hash}-dirty` })), "0123456789ab-dirty");
  assert.is(textOf(shown({ author: "Ada", change: "!7" })), "0123456789ab by Ada · pull request 7");
  assert.is(textOf(shown({ change: "CHG-4711" })), "0123456789ab · CHG-4711");
  assert.is(toHtml(OriginLine({ origin: null })), "");
});

test("a pull request is a link if it is an address of the web", () => {
  const links = [
    "https://github.com/acme/shop/pull/7",
    "https://gitlab.acme.test/a/shop/-/merge_requests/7",
    "http://git.acme.test/shop/pulls/7/",
  ];
  for (const change of links) {
    assert.equal([hrefs(shown({ change })), textOf(shown({ change }))], [[change], "0123456789ab · pull request 7"]);
  }
  assert.equal(hrefs(shown({ change: "https://jira.test/CHG-4711" })), ["https://jira.test/CHG-4711"]);
  for (
    const change of ["7", "#7", "javascript:alert(1)/7", "data:text/html,7", "https://a:b@c.test/7", "https://[/7"]
  ) {
    assert.equal(hrefs(shown({ change })), [], change);
  }
});

test("the pages of a prompt, of a deployment and of the audit log show it", async () => {
  const { world, visitor } = await createVisit();
  const { workspaceId, promptId, deployId } = world;
  const origin = { commit: hash, author: "Ada", repository: "https://github.com/acme/shop", change: "#7" };
  const change = { name: "greeting", ifLatest: 1, deploy: [{ name: "production", ifRevision: 1 }] };
  const prompts = [{ ...promptFile, title: "From files", ...change }];
  const line = /<p class="hint">(<a [^>]*>)?<code>.*?<\/p>/;
  const before = await visitor.see(`/prompts/${promptId}`);
  assert.not.match(before, line);
  taken(await world.manage("POST", "/apply", { workspaceId, prompts, origin, note: "Shorter" }));
  for (const path of [`/prompts/${promptId}`, `/deployments/${deployId}`, "/audit"]) {
    const page = await visitor.see(path);
    const [found] = line.exec(page)!;
    assert.is(textOf(found), "0123456789ab by Ada · pull request 7", path);
    assert.ok(hrefs(found).includes(`https://github.com/acme/shop/commit/${hash}`));
  }
  await world.close();
});

test.run();
