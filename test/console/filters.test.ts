// The filters of records and statistics: those of the command line, and what a page says about a wrong one.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { readStats } from "../../src/management/records/stats.ts";
import { createToken } from "../../src/management/access/tokens.ts";
import { call, createApiKey, createDeployment, updateWorkspace } from "../actions.ts";
import { createVisit, linksIn, origin, tableIn } from "./visitor.ts";

const test = suite("filters");

const { world, visitor } = await createVisit();
test.after(() => world.close());
const { admin, workspaceId, deployId, promptId } = world;

const statuses = [{ status: 1, name: "ok" }, { status: 0, name: "failed", isFailure: true }, {
  status: 2,
  name: "cut",
}];
await updateWorkspace(admin, workspaceId, { statuses });
const { id: keyId, key } = await createApiKey(admin, workspaceId, { name: "nightly" });
for (const status of [0, 1, 2, 2]) {
  const additional_properties = { tier: "flex", nth: status, prompt_tokens: status, completion_tokens: 0 };
  await world.submit({ sessionId: "s", status, content: { output: "x" }, additional_properties });
}
await world.submit({ sessionId: "s", status: 1, content: { output: "x" } }, deployId, key);

/** Where a link of the page of records leads. */
const pathOf = (href: string): string =>
  new URL(href, `${origin}/console/${workspaceId}/records`).href.slice(`${origin}/console/`.length);

/** How many records the page and its export have with a filter. */
async function count(query: string): Promise<number> {
  const page = await visitor.see(`/records?deployment=${deployId}&${query}`);
  const found = tableIn(page, "Records").length;
  const exported = linksIn(page).find((href) => href.includes("format=ndjson"));
  if (found === 0) return 0;
  const { text } = await visitor.open(pathOf(exported!));
  assert.is(text.trim().split("\n").length, found, query);
  return found;
}

test("records are chosen by key, by several statuses and by several properties", async () => {
  assert.is(await count(`key=${keyId}`), 1);
  assert.is(await count("status=ok&status=failed"), 3);
  assert.is(await count("status=ok,cut"), 4);
  assert.is(await count(`where=${encodeURIComponent("tier=flex\r\nnth=2\r\n")}`), 2);
  assert.is(await count("tokens=0"), 3);
});

test("a span of time and moments beside it all apply", async () => {
  const at = (ms: number) => new Date(world.now + ms).toISOString().slice(0, 16);
  const [before, after] = [at(-60_000), at(60_000)];
  assert.is(await count(`last=24h&from=${before}&to=${after}`), 5);
  assert.is(await count(`last=24h&from=${after}`), 0);
  assert.is(await count(`last=24h&to=${before}`), 0);
  assert.is(await count(`last=1h&from=${at(-86_400_000)}`), 5);
});

test("the form keeps what was chosen", async () => {
  const page = await visitor.see(`/records?status=ok&status=cut&key=${keyId}&where=a%3D1%0D%0Ab%3D2`);
  const checked = Array.from(page.matchAll(/name="status" value="(\w+)" checked/g), ([, name]) => name);
  assert.equal(checked, ["ok", "cut"]);
  assert.match(page, new RegExp(`<option value="${keyId}"  ?selected>nightly<`));
  assert.match(page, ">\na=1\r\nb=2</textarea>");
});

test("records of all deployments show by default, and a chip takes each filter away", async () => {
  const staging = await createDeployment(admin, workspaceId, { name: "staging", promptId });
  await world.submit({ sessionId: "elsewhere", status: 0, content: { output: "x" } }, staging.id);
  assert.is(tableIn(await visitor.see("/records"), "Records").length, 6);
  const page = await visitor.see("/records?failures=yes&session=elsewhere&cursor=");
  assert.is(tableIn(page, "Records").length, 1);
  assert.match(page, "greeting@staging");
  const [, chips = ""] = /<ul class="chips set".*?>(.*?)<\/ul>/s.exec(page)!;
  assert.equal(linksIn(chips).map((href) => href.split("?")[1]), ["session=elsewhere", "failures=yes", undefined]);
  const sessions = await visitor.see("/sessions?failures=yes&contains=ELSE");
  assert.is(tableIn(sessions, "Sessions").length, 1);
});

test("a record leads to those beside it, in the order and with the filter of the list", async () => {
  const links = (page: string, pattern: RegExp) =>
    Array.from(page.matchAll(pattern), ([, href]) => /records\/(diag_.*)/.exec(href!)![1]!.replaceAll("&amp;", "&"));
  for (const query of ["status=cut", "status=cut&order=oldest", "failures=yes", ""]) {
    const paths = links(await visitor.see(`/records?${query}`), /<th scope="row"><a href="([^"]*)"/g);
    assert.ok(paths.length >= 2, query);
    for (const [nth, path] of paths.entries()) {
      const page = await visitor.see(`/records/${path}`);
      const [previous] = links(page, /rel="prev" href="([^"]*)"/g), [next] = links(page, /rel="next" href="([^"]*)"/g);
      assert.equal([previous, next], [paths[nth - 1], paths[nth + 1]], path);
    }
  }
});

test("a record has its tokens, its cost and its model", async () => {
  const additional_properties = { prompt_tokens: 1_200, completion_tokens: 34 };
  const body = {
    sessionId: "s",
    status: 1,
    content: { output: "x" },
    additional_properties,
    cost: "0.5",
    model: "m-1",
  };
  const { json } = await world.submit(body);
  const page = await visitor.see(`/records/${(json as { id: string }).id}`);
  assert.match(page.replace(/<[^>]*>/g, ""), "Tokens1,200 in, 34 outCost$0.50named by the recordModelm-1");
  assert.match(await visitor.see("/records?model=m-1"), /<data value="1234">1,234<.*<data value="0.5">/s);
});

test("statistics take the same filter", async () => {
  const page = await visitor.see(`/deployments/${deployId}/stats?status=ok&key=${keyId}`);
  const stats = await call(readStats, admin, { deployId, status: "ok", keyId });
  assert.equal(tableIn(page, "Statistics")[0], [[String(stats.records)]]);
  assert.is(stats.records, 1);
});

const wrong: [query: string, sentence: string][] = [
  ["slower=1.5", "Slower than (ms) must be an integer of milliseconds"],
  ["slower=-3", "Slower than (ms) must be an integer of milliseconds"],
  ["slower=fast", "Slower than (ms) must be a number."],
  ["version=abc", "Version must be a number."],
  ["version=0", "Version must be an integer from 1"],
  ["costlier=abc", "Costlier than (USD) must be a decimal text"],
  ["where=xx", "Properties must be a path and a value"],
  ["status=nope", "The workspace has no status named nope. Its names: "],
  ["from=bad", "A time must look like 2026-11-15T12:00."],
  ["from=2026-11-15T12:00&to=2026-11-14T12:00", "From (UTC) must be no later than the end of the range."],
  ["last=9y", "Time must be one of 1h, 24h, 7d, 30d."],
  ["failures=1", "Only failures must be yes."],
];

test("a wrong filter is refused with its reason, and its form stays", async () => {
  for (const path of [`${workspaceId}/records?`, `${workspaceId}/deployments/${deployId}/stats?`]) {
    for (const [query, sentence] of wrong) {
      const { status, text } = await visitor.open(path + query);
      assert.is(status, 400, query);
      assert.ok(text.includes(sentence), `${query}: ${sentence}`);
      const [, value] = query.split("&")[0]!.split("=");
      if (!/^(last|failures)/.test(query)) {
        assert.ok(text.includes(`value="${value}"`) || text.includes(`\n${query.slice(6)}</`), query);
      }
      assert.equal(tableIn(text, "Records"), []);
    }
  }
});

test("an unknown deployment does not show the records of another one", async () => {
  const { status, text } = await visitor.open(`${workspaceId}/records?deployment=dep_nope`);
  assert.is(status, 400);
  assert.match(text, "There is no deployment dep_nope in this workspace.");
  assert.equal(tableIn(text, "Records"), []);
});

test("the audit log keeps its form too", async () => {
  const { status, text } = await visitor.open(`${workspaceId}/audit?action=Nope!&actor=ann`);
  assert.is(status, 400);
  assert.match(text, "Field action must be actions such as deployment.promoted");
  assert.match(text, /name="actor" type="text" value="ann"/);
});

test("a choice that no filter offers is refused, and its form stays", async () => {
  const paths = {
    "sessions?last=9y": "Time must be one of 1h, 24h, 7d, 30d.",
    "records?order=up": "Order must be one of newest, oldest.",
    "audit?last=9y": "Time must be one of 1h, 24h, 7d, 30d.",
    "audit?everywhere=1": "Field everywhere must be yes.",
    [`deployments/${deployId}/stats?interval=year`]: "Interval must be one of hour, day, week.",
  };
  for (const [path, sentence] of Object.entries(paths)) {
    const { status, text } = await visitor.open(`${workspaceId}/${path}`);
    assert.is(status, 400, path);
    assert.match(text, `<strong>Error</strong> ${sentence}`, path);
    assert.match(text, 'class="filters"', path);
  }
});

test("a query that no form of a page sends is refused in place of the page", async () => {
  const wrongVersions = ["0", "-1", "1.5", "two", "1e3"];
  const paths = {
    ...Object.fromEntries(wrongVersions.flatMap((value) => [
      [`prompts/${promptId}?version=${value}`, "Field version must be an integer from 1"],
      [`prompts/${promptId}/edit?base=${value}`, "Field base must be an integer from 1"],
      [`prompts/${promptId}/compare?from=${value}`, "Field from must be an integer from 1"],
      [`prompts/${promptId}/compare?to=${value}`, "Field to must be an integer from 1"],
      [`deployments/${deployId}/promote?version=${value}`, "Field version must be an integer from 1"],
      [`deployments/${deployId}/rollback?version=${value}`, "Field version must be an integer from 1"],
    ])),
    [`prompts/${promptId}/compare?last=9y`]: "Field last must be one of 1h, 24h, 7d, 30d",
    [`prompts/${promptId}/compare?deployment=dep_nope`]: "This prompt has no deployment dep_nope",
    [`prompts/${promptId}/compare?other=dep_nope`]: "This prompt has no deployment dep_nope",
    "prompts?archived=1": "Field archived must be yes",
    "deployments?archived=1": "Field archived must be yes",
    [`records/export?deployment=${deployId}&format=xml`]: "Field format must be one of ndjson, csv, promptfoo",
    [`records/export?deployment=${deployId}&order=up`]: "Field order must be one of newest, oldest",
  };
  for (const [path, sentence] of Object.entries(paths)) {
    const { status, text } = await visitor.open(`${workspaceId}/${path}`);
    assert.is(status, 400, path);
    assert.match(text, `<h1>Page unavailable</h1><p>${sentence}.</p>`, path);
  }
});

test("so is the word for a change that no page makes", async () => {
  const { id: tokenId } = await call(createToken, admin, { name: "Ada", role: "viewer" });
  const paths: Record<string, string> = {
    [`prompts/${promptId}`]: "rename",
    [`deployments/${deployId}`]: "promote",
    [`keys/${keyId}`]: "revoke",
    [`tokens/${tokenId}`]: "revoke",
    settings: "stored",
    prices: "removed",
  };
  for (const [path, word] of Object.entries(paths)) {
    const said = await visitor.open(`${workspaceId}/${path}?done=${word}`);
    assert.match(said.text, '<div class="notice done" role="status">', path);
    for (const wrong of ["nothing", "toString", "__proto__"]) {
      const { status, text } = await visitor.open(`${workspaceId}/${path}?done=${wrong}`);
      assert.equal([status, text.includes("<p>Field done must be ")], [400, true], path);
    }
  }
  const { status } = await visitor.send(`/prompts/${promptId}`, { do: "nothing" });
  assert.is(status, 400);
});

test("an unknown month is refused, and the page shows the current one", async () => {
  const { status, text } = await visitor.open(`${workspaceId}/usage?month=2026-99`);
  assert.is(status, 400);
  assert.match(text, "Month must be a month such as 2026-11. This is the current one.");
});

test.run();
