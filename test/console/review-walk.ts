// A review in a browser, with scripts or without: created of a filter, worked through and looked at, by keys alone.
import * as assert from "uvu/assert";
import type { Browser, Page } from "playwright-core";
import { openPage } from "./browser.ts";
import { enter, go } from "./week.ts";
import type { Place } from "./week.ts";

/** Works through a review of three records of a place whose workspace has declared `thumb`. `look` is called on each page. */
export async function workThroughReview(
  browser: Browser,
  place: Place,
  hasScripts: boolean,
  look: (page: Page) => Promise<void>,
): Promise<void> {
  const { context, page, errors } = await openPage(browser, { javaScriptEnabled: hasScripts, reducedMotion: "reduce" });
  const { keyboard } = page;
  const press = (key: string) => go(page, () => keyboard.press(key));
  const button = (name: string) => page.getByRole("button", { name });
  /** Presses a button that a key leads to, or without scripts the browser's own keys. */
  const pressButton = async (name: string, key: string) => {
    if (hasScripts) await keyboard.press(key);
    else await button(name).focus();
    assert.is(await page.evaluate("document.activeElement.textContent"), name);
    await press("Enter");
  };
  const heading = () => page.locator("h1:visible").innerText();

  await enter(page, place);
  await page.goto(`${page.url()}/records?last=30d`);
  await page.getByRole("link", { name: "Review these" }).focus();
  await press("Enter");
  assert.is(await heading(), "New review");
  await look(page);
  const title = `By keys, with${hasScripts ? "" : "out"} scripts`;
  await page.getByLabel("Title").focus();
  await keyboard.type(title);
  await page.getByLabel("Records at most").fill("3");
  await page.getByLabel("Feedback to give").focus();
  await keyboard.type("thumb");
  await press("Enter");
  assert.is(await heading(), title);
  await look(page);

  await button("Next record").focus();
  await press("Enter");
  assert.is(await heading(), "Record 1 of 3");
  await look(page);
  // Feedback under the name of the review finishes the record.
  await pressButton("Yes", "f");
  assert.is(await heading(), "Record 2 of 3");
  await pressButton("Skip", "x");
  assert.is(await heading(), "Record 3 of 3");
  await button("Give it back").focus();
  await press("Enter");
  assert.match(await page.locator(".notice").first().innerText(), "The record is given back.");
  await button("Next record").focus();
  await press("Enter");
  await pressButton("Done, next", "d");
  assert.match(await page.locator(".notice").first().innerText(), "No record is free now.");
  assert.match(await page.locator("main").innerText(), "3 of 3 finished");
  const [reviewer] = await page.getByRole("table", { name: "Reviewers" }).locator("tbody tr").allInnerTexts();
  assert.match(reviewer!.replace(/\s+/g, " "), "Ada 2 1 0 ");
  await look(page);
  assert.equal(errors, []);
  await context.close();
}
