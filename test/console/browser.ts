// A real Chromium, which comes from npm and runs without anything installed beside it.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { promisify } from "node:util";
import chromium from "@sparticuz/chromium";
import { chromium as playwright } from "playwright-core";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import axe from "axe-core";
import { makeOnce } from "../packages.ts";
import { pathOf } from "../runtimes.ts";

/** Starts the browser. Whoever starts it closes it. */
export async function startBrowser(): Promise<Browser> {
  chromium.setGraphicsMode = false;
  const executablePath = `${await unpack()}/chromium`;
  const args = chromium.args.filter((arg) => !unlikePeople.test(arg));
  return await playwright.launch({ executablePath, args, timeout: patience });
}

/**
 * Unpacks the browser where nothing else cleans up. The package unpacks to the folder for temporary files, and takes what it finds
 * there: what another test is still writing, or what somebody has removed a part of.
 */
async function unpack(): Promise<string> {
  const manifest = await readFile(pathOf("node_modules/@sparticuz/chromium/package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  const folder = pathOf(`.cache/chromium-${version}`);
  const code = 'import chromium from "@sparticuz/chromium"; await chromium.executablePath();';
  await makeOnce(folder, (TMPDIR) =>
    promisify(execFile)(process.execPath, ["--input-type=module", "-e", code], {
      cwd: pathOf("."),
      env: { ...process.env, TMPDIR },
    }));
  return folder;
}

const patience = 120_000; // ms: it only ends what hangs

/** Opens a context of its own, in which everything may take as long as it does. */
export async function openContext(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(patience);
  return context;
}

/** Opens a page in a context of its own. What its scripts and its console complain of is collected in `errors`. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions,
): Promise<{ context: BrowserContext; page: Page; errors: string[] }> {
  const context = await openContext(browser, options);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  return { context, page, errors };
}

/** Its own flags for functions in a cloud: some keep all pages in one process, and give up what separates sites. */
const unlikePeople =
  /^--(single-process|headless.*|disable-web-security|disable-site-isolation-trials|allow-running-insecure-content)$/;

/** The violations of accessibility that axe-core finds on a page, each with the elements that have it. It knows all rules, or applies only those. */
export async function findViolations(page: Page, rules?: string[]): Promise<string[]> {
  // A page's policy forbids scripts of others, but not what a debugger evaluates.
  if (!await page.evaluate("'axe' in globalThis")) await page.evaluate(axe.source);
  // To collect the elements that violate nothing takes most of the time.
  const options: axe.RunOptions = { resultTypes: ["violations"], ...rules && { runOnly: rules } };
  return await page.evaluate(
    `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations.map(({ id, nodes }) =>
      id + ": " + nodes.map(({ html }) => html.slice(0, 160)).join(" ")))`,
  );
}
