// The page of src/client/README.md that gives thumbs with a token, in a real Chromium and on an origin of its own.
// Runs on Node alone.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createClient } from "../../src/client/index.ts";
import { blocksOf, documentAt, sectionOf } from "../documents.ts";
import { createWorld } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import { findViolations, openContext, startBrowser } from "./browser.ts";

const test = suite("thumbs in a browser");

const [source] = blocksOf(sectionOf(documentAt("src/client/README.md"), "Feedback"), "html");

// The browser is the same for every runtime.
if (currentRuntime === "Node") {
  test("the page gives a thumb, changes it, and says when its token does not work", async () => {
    const world = await createWorld();
    world.now = Date.now();
    const client = createClient({ apiKey: world.key, fetch: world.fetch });
    const call = (await client.prompt("greeting@production")).call();
    const token = await call.feedbackToken({ names: ["thumb"], expires: 60_000, author: "ann" });
    let html = "";

    // The name of the host is another one for the page, and so its origin.
    const server = createServer(getRequestListener(
      (request) =>
        request.url.includes("/v1/")
          ? world.fetch(request)
          : new Response(html, { headers: { "Content-Type": "text/html; charset=utf-8" } }),
      { overrideGlobalObjects: false },
    ));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/v1/diagnosis/${call.record}/feedback/thumb`;
    const pageWith = (token: string) => source!.replace("URL", url).replace("TOKEN", token);
    const browser = await startBrowser();
    try {
      assert.ok(source!.trim().split("\n").length <= 12);
      const page = await (await openContext(browser)).newPage();
      const press = async (name: string) => {
        await page.locator("output").evaluate((output) => output.textContent = "");
        await page.getByRole("button", { name }).press("Enter");
        await page.waitForFunction("document.querySelector('output').value !== ''");
        return await page.locator("output").textContent();
      };
      html = pageWith(token);
      await page.goto(`http://localhost:${port}/`);
      assert.is(await press("Yes"), "Thank you");
      assert.is(await press("No"), "Thank you");
      assert.equal(await findViolations(page, ["wcag2a"]), []);
      call.done({ status: 1 });
      await client.flush();
      const rows = await world.database.read({ sql: "select author, value from feedback" });
      assert.equal(rows.map(({ author, value }) => [author, value]), [["ann", 0]]);

      html = pageWith(`${token.slice(0, -1)}_`);
      await page.reload();
      assert.is(await press("Yes"), "Not saved, please try again");
    } finally {
      await browser.close();
      server.close();
      await client.close();
    }
  });
}

test.run();
