// A review in a browser, with scripts or without: created of a filter, worked through and looked at, by keys alone.
import * as assert from "uvu/assert";
import type { Browser, Page } from "playwright-core";
import { enterByKeys } from "./by-keys.ts";
import type { Place } from "./week.ts";

/** Works through a review of three records of a place whose workspace has declared `thumb`. `look` is called on each page. */
export async function workThroughReview(
  browser: Browser,
  place: Place,
  hasScripts: boolean,
  look: (page: Page) => Promise<void>,
): Promise<void> {
  const { page, press, enterOn, type, end } = await enterByKeys(browser, place, hasScripts), { keyboard } = page;
  const button = (name: string) => page.getByRole("button", { name });
  /** Presses a button that a key leads to, or without scripts the browser's own keys. */
  const pressButton = async (name: string, key: string) => {
    if (hasScripts) await keyboard.press(key);
    else await button(name).focus();
    assert.is(await page.evaluate("document.activeElement.textContent"), name);
    await press("Enter");
  };
  const heading = () => page.locator("h1:visible").innerText();

  await page.goto(`${page.url()}/records?last=30d`);
  await enterOn("link", "Review these");
  assert.is(await heading(), "New review");
  await look(page);
  const title = `By keys, with${hasScripts ? "" : "out"} scripts`;
  await type("Title", title);
  await page.getByLabel("Records at most").fill("3");
  await type("Feedback to give", "thumb");
  await press("Enter");
  assert.is(await heading(), title);
  await look(page);

  await enterOn("button", "Next record");
  assert.is(await heading(), "Record 1 of 3");
  await look(page);
  // Feedback under the name of the review finishes the record.
  await pressButton("Yes", "f");
  assert.is(await heading(), "Record 2 of 3");
  await pressButton("Skip", "x");
  assert.is(await heading(), "Record 3 of 3");
  await enterOn("button", "Give it back");
  assert.match(await page.locator(".notice").first().innerText(), "The record is given back.");
  await enterOn("button", "Next record");
  await pressButton("Done, next", "d");
  assert.match(await page.locator(".notice").first().innerText(), "No record is free now.");
  assert.match(await page.locator("main").innerText(), "3 of 3 finished");
  const [reviewer] = await page.getByRole("table", { name: "Reviewers" }).locator("tbody tr").allInnerTexts();
  assert.match(reviewer!.replace(/\s+/g, " "), "Ada 2 1 0 ");
  await look(page);
  await end();
}
