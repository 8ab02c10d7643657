// What tells people that something happens, in a browser, with scripts or without: a webhook with its deliveries, an alert and a
// budget, by keys alone.
import * as assert from "uvu/assert";
import type { Browser, Page } from "playwright-core";
import { enterByKeys } from "./by-keys.ts";
import type { Place } from "./week.ts";

/** Walks through webhooks, alerts and budgets. `look` is called on each page, and `deliver` sends what is due. */
export async function walkThroughEvents(
  browser: Browser,
  place: Place & { deliver(status: number, text: string): Promise<void> },
  hasScripts: boolean,
  look: (page: Page) => Promise<void>,
): Promise<void> {
  const { page, press, enterOn, type, notice, facts, end } = await enterByKeys(browser, place, hasScripts);
  const overview = page.url(), open = (path: string) => page.goto(`${overview}/${path}`);
  const unfold = async (name: string) => {
    await page.locator("summary", { hasText: name }).last().focus();
    await page.keyboard.press("Enter");
  };

  await open("webhooks");
  await look(page);
  await enterOn("link", "Types");
  await look(page);
  await page.goBack();
  await type("Events", "webhook.*,deployment.promoted");
  await type("URL", "https://hooks.example.com/secret-path");
  await press("Enter");
  assert.match(await page.locator(".secret").innerText(), /^whsec_/);
  await look(page);
  await enterOn("link", "I have copied it");
  assert.match(await facts(), "webhook.*, deployment.promoted");
  await enterOn("button", "Send a test");
  assert.match(await notice(), "The test is sent within seconds.");
  await place.deliver(500, "<b>No</b> ".repeat(100));
  await page.goto(page.url().replace(/\?.*/, ""));
  assert.match(await facts(), "retrying 500");
  assert.match(await page.locator("pre").innerText(), /^<b>No<\/b> <b>/);
  await look(page);
  await enterOn("button", "Send again");
  await place.deliver(204, "");
  await enterOn("link", "https://hooks.example.com");
  assert.match(await page.getByRole("table", { name: "Deliveries" }).innerText(), "delivered 204");
  await look(page);
  await page.getByLabel("Failed only").first().focus();
  if (hasScripts) await press(" ");
  else {
    await page.keyboard.press(" ");
    await enterOn("button", "Apply");
  }
  assert.match(await page.locator("main").innerText(), "No delivery failed");
  await unfold("Switch off");
  await enterOn("button", "Switch off");
  assert.match(await notice(), "The webhook is off.");
  await look(page);
  await unfold("Delete");
  await enterOn("button", "Delete this webhook");
  assert.match(await notice(), "The webhook is deleted.");

  await open("alerts");
  await look(page);
  await type("Condition", "failures>5%");
  await press("Enter");
  assert.match(await notice(), "The alert is created.");
  await look(page);
  await enterOn("button", "Mute");
  assert.match(await facts(), "muted, ends in");
  await look(page);

  await open("usage");
  await enterOn("link", "All budgets");
  await look(page);
  await type("Amount", "50");
  await press("Enter");
  assert.match(await notice(), "The budget is created.");
  await look(page);
  await type("Amount", "60");
  await press("Enter");
  assert.match(await page.locator("h1").innerText(), "$60.00 per month");
  await open("usage");
  await look(page);
  await end();
}
