// An hour of a reviewer at the console, in a browser with scripts or without: gives, changes and withdraws feedback by keys alone.
import * as assert from "uvu/assert";
import type { Browser } from "playwright-core";
import { openPage } from "./browser.ts";
import { enter, go } from "./week.ts";
import type { Place } from "./week.ts";

/** Lives through the hour. `look` is called where a page has forms, feedback and what was said before. */
export async function reviewForAnHour(
  browser: Browser,
  place: Place,
  hasScripts: boolean,
  look: (page: Parameters<typeof enter>[0]) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const { context, page, errors } = await openPage(browser, { javaScriptEnabled: hasScripts, reducedMotion: "reduce" });
  const { keyboard } = page;
  const press = (key: string) => go(page, () => keyboard.press(key));
  const noticed = async (words: string) => assert.match(await page.locator("#feedback .notice").innerText(), words);
  const feedback = page.getByRole("table", { name: "Feedback", exact: true });
  const rows = async () =>
    (await feedback.locator("tbody tr").allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
  /** Puts the focus into the nth form: by its key, or without scripts as the browser's own keys do. */
  const reach = (nth: number) =>
    hasScripts
      ? keyboard.press(nth === 0 ? "f" : String(nth + 1))
      : page.locator(".judgements form").nth(nth).locator("input:not([type=hidden]), button").first().focus();

  await enter(page, place);
  await page.goto(`${page.url()}/records?last=30d`);
  await page.locator("tbody th a").first().focus();
  await press("Enter");

  // Names that the workspace does not have yet, one of them as long as it may be.
  const tone = "tone".padEnd(64, "e");
  for (const [nth, [name, value]] of [["thumb", "yes"], ["correctness", "0.5"], [tone, "kind"]].entries()) {
    await reach(nth);
    await keyboard.type(name!);
    await keyboard.press("Tab");
    await keyboard.type(value!);
    await press("Enter");
    await noticed("Feedback is saved.");
  }
  assert.match((await rows()).join(), /correctness 0\.5 .*thumb yes .*tonee+ kind /);

  // The next record: a number that is refused, and one with a reason.
  if (hasScripts) await press("j");
  else await page.locator("a[rel=next]").focus().then(() => press("Enter"));
  assert.match(page.url(), /last=30d$/);
  assert.equal(await rows(), []);
  await reach(0);
  await keyboard.type("NaN");
  await press("Enter");
  assert.is(await page.locator(".fault").innerText(), "Field value must be a number.");
  assert.is(await page.getByLabel("correctness", { exact: true }).inputValue(), "NaN");
  errors.length = 0; // The browser reports the 400
  await page.getByLabel("correctness", { exact: true }).fill("0.25");
  await keyboard.press("Tab");
  await keyboard.press("Enter");
  await keyboard.press("Tab");
  await keyboard.type("Wrong price\nfor the lamp");
  await keyboard.press("Tab");
  await press("Enter");
  assert.match((await rows()).join(), /correctness 0\.25 .*Wrong price for the lamp/);

  // A thumb, changed and withdrawn.
  await reach(1);
  await press("Enter");
  assert.match((await rows()).join(), "thumb yes");
  await reach(1);
  await keyboard.press("Tab");
  await press("Enter");
  assert.match((await rows()).join(), "thumb no");
  await page.locator("#feedback summary", { hasText: "Replaced or withdrawn" }).press("Enter");
  await look(page);
  await page.getByRole("button", { name: "Withdraw thumb" }).focus();
  await press("Enter");
  await noticed("Feedback is withdrawn.");
  assert.not.match((await rows()).join(), "thumb");

  if (hasScripts) {
    await press("k");
    assert.match((await rows()).join(), "thumb yes");
    await keyboard.press("?");
    const keys = page.getByRole("dialog").locator("dt");
    assert.equal(
      (await keys.allInnerTexts()).slice(-5).map((text) => text.trim()),
      ["j", "f 1", "2", "3", "4"].slice(-6),
    );
  }
  assert.equal(errors, []);
  await context.close();
}
