// A rollout in a browser, with scripts or without: started, raised, completed, and another one stopped, by keys alone.
import * as assert from "uvu/assert";
import type { Browser, Page } from "playwright-core";
import { enterByKeys } from "./by-keys.ts";
import type { Place } from "./week.ts";

/** Walks through rollouts in the staging deployment of the demo. `look` is called on each page. */
export async function walkThroughRollout(
  browser: Browser,
  place: Place,
  hasScripts: boolean,
  look: (page: Page) => Promise<void>,
): Promise<void> {
  const { page, press, enterOn, type, notice, facts, end } = await enterByKeys(browser, place, hasScripts);
  const overview = page.url();
  const start = async (percent: string) => {
    await page.goto(`${overview}/deployments`);
    await enterOn("link", /in support\/assistant@staging/);
    await enterOn("link", "Roll out to some");
    await look(page);
    await type("Note", "By keys");
    await type("Guard", "failures=+2%");
    await type("Percent", percent);
    await press("Enter");
    assert.match(await notice(), "The rollout has begun.");
  };

  await start("10");
  const version = /v(\d+) to 10 %/.exec(await facts())![1]!;
  assert.match(await facts(), "failures=+2% at 99 %");
  await look(page);
  // Enter in a field takes the first button, which is the one that changes.
  await type("Percent", "50");
  await type("Guard", "");
  await page.keyboard.press("Delete");
  await press("Enter");
  assert.match(await notice(), "The rollout is changed.");
  assert.match(await facts(), `v${version} to 50 %`);
  assert.match(await facts(), /Guard\s+none/);
  await enterOn("link", /^\d+ records?$/);
  assert.match(await page.locator("ul.set").innerText(), "Rollout: ro_");
  await look(page);
  await page.goBack();
  await enterOn("button", /^Complete: promote v/);
  assert.match(await notice(), `Version ${version} is live from now on`);
  await look(page);

  // Another version goes out to some, and is taken back.
  await page.goto(`${page.url().replace(/\?.*/, "")}/rollout?version=1`);
  await type("Percent", "5");
  await press("Enter");
  await enterOn("button", /^Stop: all get v/);
  assert.match(await notice(), `The rollout is stopped. All callers get version ${version}.`);
  await look(page);
  await end();
}
