// Makes a screenshot of each page of a running console at three widths in both colour schemes:
// `node --import tsx test/console/screenshots.ts LINK FOLDER [PATTERN]`. LINK is the one that the demo prints.
import { mkdir } from "node:fs/promises";
import process from "node:process";
import { startBrowser } from "./browser.ts";
import { listPaths } from "./walk.ts";

const [link = "", folder = "", pattern = ""] = process.argv.slice(2);
if (folder === "") throw new Error("Give the link of the demo, and a folder outside of the repository");
await mkdir(folder, { recursive: true });

const browser = await startBrowser();
const context = await browser.newContext();
const page = await context.newPage();
await page.goto(link);
const paths = await listPaths(page);
for (const [name, url] of Object.entries(paths).filter(([name]) => name.includes(pattern))) {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of [360, 800, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      await page.goto(url);
      const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      if (Number(overflow) > 0) console.log(`${name} at ${width}: ${overflow} px too wide`);
      await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png`, fullPage: true });
    }
  }
}
await browser.close();
console.log(`${Object.keys(paths).length} pages in ${folder}`);
