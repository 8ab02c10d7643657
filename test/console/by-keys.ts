// A person in a browser, with scripts or without, who uses keys alone.
import * as assert from "uvu/assert";
import type { Browser } from "playwright-core";
import { openPage } from "./browser.ts";
import { enter, go } from "./week.ts";
import type { Place } from "./week.ts";

/** Signs in to a place. `end` fails if a script of a page has complained. */
export async function enterByKeys(browser: Browser, place: Place, hasScripts: boolean) {
  const { context, page, errors } = await openPage(browser, { javaScriptEnabled: hasScripts, reducedMotion: "reduce" });
  await enter(page, place);
  /** Presses a key that leads to another page. */
  const press = (key: string) => go(page, () => page.keyboard.press(key));
  return {
    page,
    press,
    /** Follows a link, or presses a button. */
    async enterOn(role: "link" | "button", name: string | RegExp) {
      await page.getByRole(role, { name }).first().focus();
      await press("Enter");
    },
    /** Types in the place of what a field has. */
    async type(label: string, text: string) {
      await page.getByLabel(label, { exact: true }).focus();
      await page.keyboard.press("Control+a");
      await page.keyboard.type(text);
    },
    notice: () => page.locator(".notice.done").first().innerText(),
    facts: () => page.locator(".facts").first().innerText(),
    async end() {
      assert.equal(errors, []);
      await context.close();
    },
  };
}
