// The programs that pages show to copy: they work as they are, at the address that the browser reaches, with the key.
// Runs on Node alone.
import { execFile } from "node:child_process";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { serveDatabase } from "../../src/service/service.ts";
import { createToken } from "../../src/management/access/tokens.ts";
import { call, createWorkspace, readUsage } from "../actions.ts";
import { findListen } from "../runtime/listen.ts";
import { pathOf } from "../runtimes.ts";
import { adminToken, createWorld, withManagement } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { createVisit, linksIn, origin, ownPage, visit } from "./visitor.ts";

const test = suite("use it");

const entities: Record<string, string> = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };

/** The programs of a page, as a browser copies them, by language. */
function programsIn(page: string): Record<string, string> {
  const all = page.matchAll(
    /<summary>(curl|TypeScript|Python)<\/summary><pre tabindex="0">(.*?)<\/pre>/gs,
  );
  const textOf = (html: string) =>
    html.replace(/<[^>]*>/g, "").replace(/&(#39|\w+);/g, (_, name: string) => entities[name]!);
  return Object.fromEntries(Array.from(all, ([, language, html]) => [language!, textOf(html!)]));
}

const run = promisify(execFile);
const has = (program: string) => run(program, ["--version"]).then(() => true, () => false);

/** Runs a program as somebody who pasted it. */
const runners: Record<string, (program: string) => Promise<unknown>> = {
  curl: (program) => run("sh", ["-ec", program.replaceAll("curl ", "curl --fail --silent --show-error ")]),
  Python: (program) => run("python3", ["-c", program], { env: { ...process.env, PYTHONPATH: pythonClient } }),
  TypeScript: (program) => {
    const text = program.replace('"promptledger/client"', JSON.stringify(clientUrl));
    return run(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", text]);
  },
};
const clientUrl = pathToFileURL(pathOf("src/client/index.ts")).href;
const pythonClient = pathOf("src/client/python/src");

/** The world's service on a port of its own, and the page that answers the creation of a key there. */
async function listen(world: World) {
  const service = serveDatabase(world.database, {
    ...{ basePath: "/llm", clock: () => world.now, faces: withManagement },
  });
  const { port, stop } = await (await findListen())(service.handle, { host: "127.0.0.1", port: 0 }, () => {});
  const url = `http://127.0.0.1:${port}/llm`;
  const send = async (path: string, form: Record<string, string>, headers: Record<string, string>) => {
    const init = { method: "POST", headers: { ...ownPage, ...headers }, body: String(new URLSearchParams(form)) };
    const response = await fetch(`${url}/console/${path}`, { ...init, redirect: "manual" });
    return { text: await response.text(), headers: response.headers };
  };
  const { headers } = await send("sign-in", { token: adminToken }, {});
  const Cookie = headers.get("Set-Cookie")!.split(";")[0]!;
  return {
    url,
    createKey: async (form: Record<string, string>) => (await send(`${world.workspaceId}/keys`, form, { Cookie })).text,
    end: () => stop(service.refuseNew),
  };
}

const needs: Record<string, string> = { curl: "curl", Python: "python3", TypeScript: "node" };

for (const [language, program] of Object.entries(needs)) {
  if (!await has(program)) {
    console.log(`skipped: the program in ${language}: ${program} is not installed`);
    continue;
  }
  for (const [may, reads, submits] of [["", 1, 1], ["read", 1, 0], ["submit", 0, 1]] as const) {
    test(`the program in ${language} of a key that may ${may || "read and submit"} does so`, async () => {
      const world = await createWorld();
      const { url, createKey, end } = await listen(world);
      const { [language]: text } = programsIn(await createKey({ name: "App", may }));
      assert.match(text!, url);
      await runners[language]!(text!);
      const usage = await readUsage(world.admin, world.workspaceId);
      assert.equal([usage.reads, usage.submits], [reads, submits]);
      await end();
      await world.close();
    });
  }
}

test("the address is that of the browser, also behind a proxy, and a header that is none changes nothing", async () => {
  const { world, visitor: { cookie } } = await createVisit();
  const addressAt = async (headers: Record<string, string>) => {
    const path = `/console/${world.workspaceId}/deployments/${world.deployId}`;
    const { text } = await world.send(path, { headers: { Cookie: cookie, ...headers } });
    const { curl } = programsIn(text);
    // The script replaces it with the address of this relative path.
    const [, relative] = /<span data-address="([^"]*)">/.exec(text)!;
    assert.is(new URL(relative!, origin + path).href, `${origin}/`);
    return /curl '(.*)\/v1\/prompts/.exec(curl!)![1];
  };
  assert.is(await addressAt({}), origin);
  const proxied = { "X-Forwarded-Proto": "https", "X-Forwarded-Host": "prompts.example:8443, inner" };
  assert.is(await addressAt(proxied), "https://prompts.example:8443");
  for (const host of ["a b", "<b>", "", "[", "x:99999999"]) {
    assert.is(await addressAt({ "X-Forwarded-Host": host }), origin, host);
  }
  assert.is(await addressAt({ "X-Forwarded-Host": "a'b;c/d?e#f" }), "http://a%27b;c");
  await world.close();
});

test("a deployment shows its programs, the first one at once after it was created", async () => {
  const { world, visitor } = await createVisit();
  const path = `/deployments/${world.deployId}`, openIn = /<details class="copy" name="use" open>/;
  const { curl, TypeScript, Python } = programsIn(await visitor.see(path));
  assert.match(curl!, "deployId=greeting@production' \\\n  -H 'Authorization: Bearer YOUR_API_KEY'");
  assert.match(TypeScript!, 'prompt.fill({ "name": "…" });');
  assert.match(Python!, 'prompt.fill({ "name": "…" })');
  assert.not.match(await visitor.see(path), openIn);
  assert.match(await visitor.see(`${path}?done=created`), openIn);
  await world.close();
});

test("a new token comes with the address of the console", async () => {
  const { world, visitor } = await createVisit();
  const { text } = await visitor.send("/tokens", { name: "Ada", role: "viewer", where: "here" });
  assert.match(text, `<code><span data-address="../../console">${origin}/console</span></code>`);
  await world.close();
});

test("first steps end with the first request of an application", async () => {
  const { world, visitor } = await createVisit();
  const { id } = await createWorkspace(world.admin, { name: "Empty" });
  const { text: empty } = await visitor.open(id);
  assert.match(empty, "First steps");
  assert.equal(programsIn(empty), {});
  const before = await visitor.see("");
  assert.match(before, /<s>Create a key for your application<\/s>/);
  assert.match(programsIn(before).curl!, "greeting@production");
  await world.read();
  assert.not.match(await visitor.see(""), "First steps");
  await world.close();
});

test("no page shows a form, or a link to one, that the role may not send, and each says once who may", async () => {
  const { world, visitor } = await createVisit();
  const { id: emptyId } = await createWorkspace(world.admin, { name: "Empty" });
  const tokens = await Promise.all(
    (["viewer", "owner"] as const).map((role) => call(createToken, world.admin, { name: role, role })),
  );
  const viewer = await visit(world, tokens[0]!.token);
  const keys = linksIn(await visitor.see("/keys")).find((href) => href.includes("keys/key_"))!;
  const at = `${world.workspaceId}/deployments/${world.deployId}`;
  const pages = [emptyId, `${emptyId}/deployments`, `${emptyId}/prompts`, at, `${world.workspaceId}/keys`];
  const others = ["settings", "tokens", `tokens/${tokens[1]!.id}`, `keys/${keys.split("/").at(-1)}`];
  for (const path of [...pages, ...others.map((each) => `${world.workspaceId}/${each}`)]) {
    const { status, text } = await viewer.open(path);
    assert.is(status, 200, path);
    assert.equal(text.match(/<form method="post"(?! action="[./]*sign-out")/g), null, path);
    assert.is(text.match(/You are signed in as viewer\./g)?.length, 1, path);
    assert.not.match(linksIn(text).join("\n"), /promote|rollback|deactivate|archive(?!d)|protect|prompts\/new/, path);
  }
  const lack = (page: string) => /<p class="lack">(.*?)<\/p>/.exec(page)?.[1];
  assert.is(
    lack((await viewer.open(at)).text),
    "Deactivate and Archive need the role publisher, and Protect needs the role admin. You are signed in as viewer.",
  );
  const editor = await visit(world, (await call(createToken, world.admin, { name: "E", role: "editor" })).token);
  assert.is(
    lack((await editor.open(emptyId)).text),
    "“Create a key for your application” needs the role admin. You are signed in as editor.",
  );
  // An admin changes no token that may do more.
  const admin = await visit(world, (await call(createToken, world.admin, { name: "A", role: "admin" })).token);
  assert.is(
    lack((await admin.open(`${world.workspaceId}/tokens/${tokens[1]!.id}`)).text),
    "This needs the role owner. You are signed in as admin.",
  );
  await world.close();
});

test.run();
