// A real Chromium, which comes from npm and runs without anything installed beside it.
import chromium from "@sparticuz/chromium";
import { chromium as playwright } from "playwright-core";
import type { Browser } from "playwright-core";

/** Starts the browser. Whoever starts it closes it. */
export async function startBrowser(): Promise<Browser> {
  chromium.setGraphicsMode = false;
  const executablePath = await chromium.executablePath();
  // Its own flags are for functions in a cloud, one of which keeps all pages in one process.
  const args = chromium.args.filter((arg) => arg !== "--single-process" && !arg.startsWith("--headless"));
  return await playwright.launch({ executablePath, args });
}
