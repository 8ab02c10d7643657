// Finds a page of each kind by following links, as a person does.
import type { Page } from "playwright-core";
import { go } from "./week.ts";

/** The URL of a page of each kind, by name. The browser is signed in, and shows the overview of a workspace. */
export async function listPaths(page: Page): Promise<Record<string, string>> {
  const overview = page.url();
  const at = (path: string) => `${overview}/${path}`;
  const follow = async (from: string, selector: string): Promise<string> => {
    await page.goto(from);
    const href = await page.locator(selector).first().getAttribute("href");
    return new URL(href!, from).href;
  };
  const prompt = await follow(at("prompts"), "main a:has-text('assistant')");
  const deployment = await follow(`${prompt}?version=1`, "main .chip:has-text('production')");
  const staging = await follow(`${prompt}?version=1`, "main .chip:has-text('staging')");
  const records = at(`records?deployment=${deployment.split("/").at(-1)}`);
  const record = await follow(records, "tbody th a");
  await page.goto(at("reviews/new?last=30d"));
  await page.getByLabel("Title").fill("Weekly");
  const press = async (name: string) => {
    await go(page, () => page.getByRole("button", { name }).click());
    return page.url();
  };
  const review = await press("Create review"), reviewed = await press("Next record");
  const create = async (path: string, label: string, text: string, button: string) => {
    await page.goto(at(path));
    await page.getByLabel(label, { exact: true }).fill(text);
    return await press(button);
  };
  await create("webhooks", "URL", "https://hooks.example.com/", "Create webhook");
  await go(page, () => page.getByRole("link", { name: "I have copied it" }).click());
  const webhook = page.url(), delivery = await press("Send a test");
  return {
    workspaces: new URL("workspaces", overview).href,
    overview,
    prompts: at("prompts"),
    prompt,
    "prompt-new": at("prompts/new"),
    edit: `${prompt}/edit`,
    compare: `${prompt}/compare?from=1&to=3`,
    deployments: at("deployments"),
    deployment,
    promote: `${deployment}/promote?version=2`,
    rollout: `${deployment}/rollout`,
    "rollout-new": `${staging}/rollout?version=2`,
    stats: `${deployment}/stats`,
    feedback: `${deployment}/feedback`,
    agreement: at("agreement?name=thumb&first=ann&second=bob"),
    "feedback-names": at("settings/feedback?name=thumb"),
    deactivate: `${deployment}/deactivate`,
    records,
    record,
    reviews: at("reviews"),
    "review-new": at("reviews/new?last=7d&failures=yes"),
    review,
    "review-record": reviewed,
    session: await follow(record, ".facts a[href*='session']"),
    sessions: at("sessions"),
    search: at("search?q=a"),
    usage: at("usage"),
    prices: at("prices"),
    budgets: at("usage/budgets"),
    budget: await create("usage/budgets", "Amount", "50", "Create budget"),
    alerts: at("alerts"),
    alert: await create("alerts", "Condition", "failures>5%", "Create alert"),
    webhooks: at("webhooks"),
    webhook,
    delivery,
    keys: at("keys"),
    key: await follow(at("keys"), "tbody th a"),
    tokens: at("tokens"),
    token: await follow(at("tokens"), "tbody th a"),
    settings: at("settings"),
    audit: at("audit"),
    "event-types": at("audit/types"),
  };
}
