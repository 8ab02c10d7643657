// A week of a person at the console, in a browser with scripts or without: from signing in to what a reader may not do.
import * as assert from "uvu/assert";
import type { Browser, Locator, Page } from "playwright-core";
import { openPage } from "./browser.ts";

/** Where the console is, and the token of who signs in: an owner. The workspace has the history of the demo. */
export type Place = { url: string; token: string };

// A page that took long has another heading before its own, which is not shown any more.
const heading = (page: Page) => page.locator("h1:visible").innerText();
const clickLink = (page: Page, name: string | RegExp) => follow(page, page.getByRole("link", { name }));
const clickButton = (page: Page, name: string | RegExp) => follow(page, page.getByRole("button", { name }));
const noticeOn = (page: Page) => page.locator(".notice.done").first().innerText();

/** Clicks the first of what leads to another page, and waits for that page: until it comes, the old one is there to be read. */
export const follow = (page: Page, target: Locator) => go(page, () => target.first().click());

/** Does what leads to another page, and waits for that page. */
export const go = (page: Page, act: () => Promise<void>) => Promise.all([page.waitForEvent("domcontentloaded"), act()]);

/** Signs in with a token, and ends on the overview. */
export async function enter(page: Page, { url, token }: Place): Promise<void> {
  await page.goto(url);
  await page.getByLabel("Token").fill(token);
  await clickButton(page, "Sign in");
  await page.getByRole("heading", { level: 1 }).waitFor();
}

/** Lives through the week. Every step is one that only links, forms and buttons lead to. */
export async function liveThroughWeek(browser: Browser, place: Place, hasScripts: boolean): Promise<void> {
  const { context, page, errors } = await openPage(browser, { javaScriptEnabled: hasScripts });

  /** Fills in a field of a filter, which scripts apply once it is left. */
  async function filter(label: string, text: string): Promise<void> {
    const field = page.getByLabel(label);
    await field.fill(text);
    if (hasScripts) await go(page, () => field.blur());
    else await clickButton(page, "Apply");
  }

  await page.goto(place.url);
  await page.getByLabel("Token").fill("wrong");
  await clickButton(page, "Sign in");
  assert.match(await page.locator(".notice.error").innerText(), "This token is not valid");
  errors.length = 0; // The browser reports the 401
  await enter(page, place);
  assert.is(await heading(page), "Lamp & Shoe");

  // Monday: a better prompt.
  await clickLink(page, "Prompts");
  await filter("Search", "promise a refund");
  await clickLink(page, /assistant/);
  await clickLink(page, "Edit");
  const content = page.getByLabel("Content").first();
  const before = await content.inputValue();
  await content.fill(`${before}\nEnd with {{farewell}}.`);
  if (!hasScripts) await clickButton(page, "Preview");
  await page.locator("#preview ins", { hasText: "End with {{farewell}}." }).waitFor();
  assert.match(await page.locator("#preview .notice").innerText(), "New variables: farewell");
  await page.getByLabel("farewell").fill("Yours, the shop");
  if (!hasScripts) await clickButton(page, "Preview");
  await page.locator("#preview .message", { hasText: "End with Yours, the shop." }).waitFor();
  await page.getByLabel("Note").fill("A farewell");
  await clickButton(page, "Publish version");
  const published = await noticeOn(page);
  const [, version] = /Version (\d+) is published/.exec(published)!;

  // Tuesday: staging, then production.
  for (const name of ["staging", "production"]) {
    await clickLink(page, `Promote to ${name}`);
    assert.match(await page.locator(".diff ins").allInnerTexts().then((all) => all.join()), "{{farewell}}");
    await page.getByLabel("Note").fill(`To ${name}`);
    await clickButton(page, `Promote v${version}`);
    assert.match(await noticeOn(page), `Version ${version} is live from now on`);
    await clickLink(page, `v${version}`);
  }

  // Wednesday: back again.
  await clickLink(page, "Deployments");
  await clickLink(page, /in support\/assistant@production/);
  await clickLink(page, /^Roll back to v/);
  await page.getByLabel("Note").fill("Too long");
  await clickButton(page, /^Roll back to v/);
  assert.match(await noticeOn(page), "is live again");
  assert.match(await page.getByRole("table", { name: "History" }).innerText(), "Too long");

  // Thursday: a bad record, found by its text, its session, and two versions beside each other.
  await clickLink(page, "Records");
  await filter("Text", "refunded 249");
  await page.getByText("More filters").click();
  await page.getByLabel("More tokens than").fill("1");
  await page.getByLabel("Slower than (ms)").fill("1");
  await clickButton(page, "Apply");
  assert.match(page.url(), /slower=1/);
  assert.match(page.url(), /tokens=1/);
  await follow(page, page.locator("tbody th a"));
  assert.match(await page.locator("main:visible").innerText(), "you may keep the lamp");
  await follow(page, page.locator(".facts a[href*='session']"));
  assert.match(await heading(page), /^Session order-\d+/);
  await clickLink(page, "Prompts");
  await clickLink(page, /assistant/);
  await clickLink(page, "compare with v");
  assert.match(await heading(page), /^Version \d+ and \d+/);
  assert.ok(await page.locator(".diff").isVisible());

  // Friday: a new secret, and a token for a reader.
  await clickLink(page, "Keys");
  await clickLink(page, "Shop backend");
  await clickButton(page, "Make a new secret");
  assert.match(await page.locator(".secret").innerText(), /^pl_\w{49}$/);
  await clickLink(page, "Tokens");
  await page.getByLabel("Name").fill("Vera");
  await clickButton(page, "Create token");
  const token = await page.locator(".secret").innerText();
  assert.match(token, /^plm_\w{49}$/);
  await clickButton(page, "Sign out");

  await enter(page, { ...place, token });
  await clickLink(page, "Keys");
  assert.match(await page.locator(".lack").innerText(), "This needs the role admin. You are signed in as viewer.");
  await clickLink(page, "Prompts");
  await clickLink(page, /assistant/);
  assert.is(await page.getByRole("link", { name: "Edit" }).count(), 0);
  await clickLink(page, "Audit log");
  assert.match(await page.locator("tbody").first().innerText(), "token created");
  assert.equal(errors, []);
  await context.close();
}
