// Signing in with the company's account in a real Chromium: at a real identity provider on another site, and by a header.
// Runs on Node alone.
// Runs in CI alone.
import type { Page } from "playwright-core";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { managementWith } from "../../src/faces/management.ts";
import { peopleOf } from "../../src/faces/sign-in/people.ts";
import { readRoleRules } from "../../src/support/roles.ts";
import { createKeyServer, createSigner } from "../http/identity.ts";
import { adminToken, openMemory, wholePages } from "../helpers.ts";
import { serveDatabase } from "../../src/service/service.ts";
import { findViolations, openPage, startBrowser } from "./browser.ts";
import { listen, stageProvider } from "./provider.ts";
import { getRequestListener } from "@hono/node-server";

const test = suite("the company's account in a browser");

const stage = await stageProvider();
const browser = await startBrowser();
test.after(async () => {
  await browser.close();
  await stage.end();
});

const consoleUrl = `${stage.url}/console`;
const company = "Sign in with the company's account";

/** Enters a name at the provider. */
async function enter(page: Page, login: string): Promise<void> {
  await page.fill("input[name=login]", login);
  await page.fill("input[name=password]", "any");
  await page.click("button[type=submit]");
}

/** Opens a page of the console, and goes to the provider. */
async function openForm(path = "/workspaces") {
  const opened = await openPage(browser, {});
  await opened.page.goto(consoleUrl + path);
  await opened.page.click(`text=${company}`);
  await opened.page.waitForSelector("input[name=login]");
  assert.is(new URL(opened.page.url()).origin, stage.issuer);
  return opened;
}

const textOf = (page: Page) => page.innerText("main");

test("a person signs in on another site, works, follows a link from there, and signs out in both places", async () => {
  const { page, context, errors } = await openForm(`/${stage.workspaceId}/keys`);
  await enter(page, "ann");
  await page.waitForURL(`${consoleUrl}/${stage.workspaceId}/keys`);
  assert.match(await page.innerText(".account"), /ann@acme\.com[^]*admin/);
  const [session] = (await context.cookies(`${consoleUrl}/workspaces`)).filter(({ name }) => name === "pl_session");
  assert.equal([session?.httpOnly, session?.sameSite], [true, "Strict"]);

  await page.fill("input[name=name]", "Hers");
  await page.click("text=Create key");
  await page.waitForSelector("text=pl_");

  // A page of the provider's site links here.
  await page.goto(`${stage.issuer}/.well-known/openid-configuration`);
  await page.evaluate(`document.body.innerHTML = '<a id="x" href="${consoleUrl}/workspaces">here</a>'`);
  await page.click("#x");
  await page.waitForURL(`${consoleUrl}/workspaces`);
  assert.match(await page.innerText(".account"), "ann@acme.com");

  await page.click("text=Sign out");
  await page.waitForURL(`${stage.issuer}/session/end**`);
  await page.click("button[value=yes]");
  await page.waitForURL(`${consoleUrl}/sign-in**`);
  assert.equal(await findViolations(page), []);
  await page.goto(`${consoleUrl}/workspaces`);
  assert.match(page.url(), "/sign-in");
  await page.click(`text=${company}`);
  await page.waitForSelector("input[name=login]");
  // The provider's own pages want fonts.
  assert.equal(errors.filter((error) => !/ERR_NAME_NOT_RESOLVED|ERR_INTERNET|404/.test(error)), []);
  await context.close();
});

test("a person without a group, and one who turns back, see why they are not in, and may try again", async () => {
  const { page, context } = await openForm();
  await enter(page, "joe");
  await page.waitForURL(`${consoleUrl}/callback**`);
  assert.match(await textOf(page), "joe@else.com has no role here");
  assert.equal(await findViolations(page), []);
  await context.close();

  const other = await openForm();
  await other.page.click("text=Cancel");
  await other.page.waitForURL(`${consoleUrl}/callback**`);
  assert.match(await textOf(other.page), "the identity provider answered with access_denied");
  await other.page.click(`text=${company}`);
  await enter(other.page, "bob");
  await other.page.waitForURL(`${consoleUrl}/**`);
  assert.match(await other.page.innerText(".account"), /bob@acme\.com[^]*viewer/);
  await other.context.close();
});

test("of two windows the later one signs in, and the other says so", async () => {
  const { page, context } = await openForm();
  const second = await context.newPage();
  await second.goto(`${consoleUrl}/workspaces`);
  await second.click(`text=${company}`);
  await second.waitForSelector("input[name=login]");
  await enter(page, "ann");
  await page.waitForURL(`${consoleUrl}/callback**`);
  assert.match(await textOf(page), "it began in another window");
  await context.close();
});

test("an answer that is sent again shows the page that signs in, and the session goes on", async () => {
  const { page, context } = await openForm();
  let answer = "";
  page.on("request", (request) => void (request.url().includes("/callback?") && (answer = request.url())));
  await enter(page, "ann");
  await page.waitForURL(`${consoleUrl}/workspaces`);
  await page.goto(answer);
  assert.match(await textOf(page), "did not begin in this browser");
  await page.goto(`${consoleUrl}/workspaces`);
  assert.match(await page.innerText(".account"), "ann@acme.com");
  await context.close();
});

test("a header signs in without a session, and forms and links work", async () => {
  const signer = await createSigner("ES256", "key");
  const header = {
    name: "authorization",
    keysUrl: "https://id.example/keys",
    issuer: "id",
    audience: "us",
    isForApi: true,
  };
  const people = peopleOf(
    { header, provider: undefined, ...readRoleRules("email:*@acme.com=owner") },
    createKeyServer([signer.jwk]).fetch,
  );
  const faces = [managementWith({ adminToken }, undefined, { people }), wholePages()];
  const service = serveDatabase(await openMemory(), { faces });
  const proxied = await listen(getRequestListener(service.fetch, { overrideGlobalObjects: false }));
  const elsewhere = await listen((_, response) =>
    response.writeHead(200, { "Content-Type": "text/html" }).end(
      `<a href="${proxied.url}/console/workspaces">here</a><form method="post" action="${proxied.url}/console/workspaces">` +
        `<input name="name" value="Forged"><button>send</button></form>`,
    ), "localhost");
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const token = await signer.sign({}, { iss: "id", aud: "us", exp, email: "ann@acme.com" });
  const { page, context } = await openPage(browser, { extraHTTPHeaders: { Authorization: `Bearer ${token}` } });
  await page.goto(`${proxied.url}/console/workspaces`);
  assert.match(await page.innerText(".account"), /ann@acme\.com[^]*owner/);
  assert.is(await page.locator("text=Sign out").count(), 0);
  await page.fill("input[name=name]", "Hers");
  await page.click("main button[type=submit], main form button");
  await page.waitForSelector("text=Hers");
  await page.goto(elsewhere.url);
  await page.click("text=here");
  await page.waitForURL(`${proxied.url}/console/workspaces`);
  assert.match(await textOf(page), "Hers");
  await page.goto(elsewhere.url);
  await page.click("text=send");
  await page.waitForLoadState();
  assert.match(await page.innerText("body"), "did not come from a page of this console");
  await page.goto(`${proxied.url}/console/workspaces`);
  assert.not.match(await textOf(page), "Forged");
  // A page of another site has the API called with the header, and gets nothing.
  await page.goto(elsewhere.url);
  const status = await page.evaluate(
    `fetch("${proxied.url}/admin/v1/workspaces", { method: "POST", mode: "no-cors", body: '{"name":"Forged"}' }).then(({ type }) => type)`,
  );
  assert.is(status, "opaque");
  await page.goto(`${proxied.url}/console/workspaces`);
  assert.not.match(await textOf(page), "Forged");
  await context.close();
  proxied.close();
  elsewhere.close();
  await service.close();
});

test.run();
