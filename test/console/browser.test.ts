// The console in a real Chromium: accessibility, the keyboard, what other sites and strangers may not do, and pages that take
// long.
// Runs on Node alone.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import type { Page } from "playwright-core";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { consolePagesWith } from "../../src/console/face.ts";
import { serveDatabase } from "../../src/service/service.ts";
import { management } from "../../src/management.ts";
import { toNodeHandler } from "../../src/node.ts";
import { writeHistory } from "../../src/runtime/demo/demo-history.ts";
import { adminToken, bearer, captureLog, createWorld, openMemory, wholePages } from "../helpers.ts";
import { moveCommits } from "../management/filled-log.ts";
import { deliverer } from "../management/deliverer.ts";
import { currentRuntime } from "../runtimes.ts";
import { attacks } from "./attacks.ts";
import { findViolations, openContext, startBrowser } from "./browser.ts";
import { holding } from "./holding.ts";
import { walkThroughEvents } from "./events-walk.ts";
import { reviewForAnHour } from "./hour.ts";
import { workThroughReview } from "./review-walk.ts";
import { walkThroughRollout } from "./rollout-walk.ts";
import { listPaths } from "./walk.ts";
import { enter, follow, go } from "./week.ts";

const test = suite("in a browser");

/** Serves a handler on a port of its own. */
async function listen(fetch: (request: Request) => Response | Promise<Response>) {
  const server = createServer(getRequestListener(fetch, { overrideGlobalObjects: false }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { port, close: () => void server.close() };
}

/** A service with the history of the demo. */
async function stage() {
  const database = await openMemory();
  const demo = await writeHistory(database, Date.now());
  const { log } = captureLog("error");
  const faces = [management({ adminToken, tokens: true }), wholePages()];
  const service = serveDatabase(database, { faces, log });
  const { port, close } = await listen(service.fetch);
  const end = async () => {
    close();
    await service.close();
  };
  const deliver = async (status: number, text: string) =>
    void await deliverer({ database, now: Date.now() }, () => ({ status, text })).run();
  const origin = `http://127.0.0.1:${port}`;
  return { ...demo, origin, url: `${origin}/console`, service, deliver, end };
}

/** A service mounted in Express, whose pages show their progress at once, and whose reads can be held. `sent` is what it has sent. */
async function holdingStage() {
  const memory = await openMemory();
  const world = await createWorld({ database: memory });
  for (let nth = 0; nth < 3; nth++) await world.submit();
  await moveCommits(world, (position, index) => position + 40_000 * index);
  const held = holding(memory);
  const faces = [management({ adminToken }), consolePagesWith({ pace: { quietMs: 1, stepMs: 1 } })];
  const service = serveDatabase(held.database, { faces, basePath: "/llm", log: captureLog("error").log });
  let sent = "";
  const decoder = new TextDecoder();
  const note = () =>
    new TransformStream<Uint8Array, Uint8Array>({
      transform(part, controller) {
        sent += decoder.decode(part, { stream: true });
        controller.enqueue(part);
      },
    });
  const fetch = async (request: Request) => {
    const response = await service.fetch(request);
    return response.body === null ? response : new Response(response.body.pipeThrough(note()), response);
  };
  const server = express().use("/llm", toNodeHandler({ fetch })).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/llm/console`;
  const end = () => service.close().then(() => server.close());
  return {
    ...held,
    sent: () => sent,
    url,
    token: adminToken,
    statistics: `${url}/${world.workspaceId}/deployments/${world.deployId}/stats?last=all`,
    end,
  };
}

/** Stores a record, and returns its id. */
async function submitTo({ origin, deployId, key, service }: Awaited<ReturnType<typeof stage>>, record: object) {
  const request = { method: "POST", headers: bearer(key), body: JSON.stringify(record) };
  const response = await service.fetch(new Request(`${origin}/v1/diagnosis?deployId=${deployId}`, request));
  assert.is(response.status, 201);
  return { recordId: (await response.json() as { id: string }).id };
}

/** Gives feedback on records of the demo, so that pages have figures of it. */
async function rate({ origin, workspaceId, deployId, service }: Awaited<ReturnType<typeof stage>>): Promise<void> {
  const manage = async <T>(path: string, body?: object): Promise<T> => {
    const request = { headers: bearer(adminToken), ...body && { method: "POST", body: JSON.stringify(body) } };
    const response = await service.fetch(new Request(`${origin}/admin/v1${path}`, request));
    assert.ok(response.ok, path);
    return await response.json() as T;
  };
  const path = `/deployments/${deployId}/diagnoses?limit=100`;
  const { items } = await manage<{ items: { id: string }[] }>(path);
  const feedback = items.flatMap(({ id }, nth) => [
    { record: id, name: "thumb", value: nth % 4 > 0, author: "ann" },
    { record: id, name: "thumb", value: nth % 3 > 0, author: "bob" },
    { record: id, name: "score", value: nth % 7 / 7 },
    { record: id, name: "tone", value: ["kind", "curt"][nth % 2] },
  ]);
  await manage(`/workspaces/${workspaceId}/feedback`, { feedback });
  for (const declaration of [{ name: "thumb", kind: "boolean", better: "higher" }, { name: "tone", kind: "label" }]) {
    await manage(`/workspaces/${workspaceId}/feedback-names`, declaration);
  }
}

/** Pages that have between them what the others have too: forms, tables, charts, long texts and drawings. */
const telling = ["edit", "compare", "stats", "review-record"];

/** In part every third text of strangers. */
const hostile = Object.values(attacks).filter((_, nth) => isFull || nth % 3 === 0);

/** What axe finds in both colour schemes, or in part in one of them. */
async function findInSchemes(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of isFull ? ["light", "dark"] as const : ["light"] as const) {
    // With motion, colours would still be between the two schemes when they are looked at.
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    // Only the contrast depends on the colours.
    found.push(...await findViolations(page, colorScheme === "dark" ? ["color-contrast"] : undefined));
  }
  return found;
}

// One runtime is enough: weeks.test.ts shows the pages of the others.
if (currentRuntime === "Node") {
  const browser = await startBrowser();
  const place = await stage();
  await rate(place);
  test.after(async () => {
    await browser.close();
    await place.end();
  });

  test("axe finds nothing on any page in both colour schemes, and none is wider than a phone or a tablet", async () => {
    const context = await openContext(browser, { reducedMotion: "reduce" });
    const page = await context.newPage();
    const found: string[] = [];
    const look = async (name: string) => {
      for (const width of [360, 800, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        const excess = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
        if (excess > 0) found.push(`${name}: ${excess} px wider than ${width}`);
      }
      for (const colorScheme of isFull ? ["light", "dark"] as const : ["dark"] as const) {
        await page.emulateMedia({ colorScheme });
        const rules = isFull && colorScheme === "dark" ? ["color-contrast"] : undefined;
        for (const violation of await findViolations(page, rules)) found.push(`${name} (${colorScheme}): ${violation}`);
      }
    };
    await page.goto(place.url);
    await look("sign-in");
    await enter(page, place);
    for (const [name, url] of Object.entries(await listPaths(page))) {
      if (!isFull && !telling.includes(name)) continue;
      await page.goto(url);
      await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true");
      await look(name);
    }
    assert.equal(found, []);
    await context.close();
  });

  test("text of strangers runs nothing in any place where it shows", async () => {
    const { deployId } = place;
    for (const attack of hostile) {
      const input = JSON.stringify([{ role: attack, content: attack }]);
      const body = { sessionId: attack.slice(0, 500), status: 1, content: { input, output: attack }, [attack]: attack };
      await submitTo(place, body);
    }
    const context = await openContext(browser);
    const page = await context.newPage();
    await enter(page, place);
    const overview = page.url();
    await page.goto(`${overview}/records?deployment=${deployId}`);
    const links = await page.locator("tbody th a").evaluateAll((all) =>
      all.map((link) => (link as unknown as { href: string }).href)
    );
    for (const url of [page.url(), ...links.slice(0, hostile.length)]) {
      await page.goto(url);
      await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true");
      await page.mouse.move(600, 400);
      assert.match(await page.title(), /^Record/);
      assert.is(await page.locator("main img, main iframe, main script:not([src*='/a/']), main [onclick]").count(), 0);
    }
    await context.close();
  });

  test("another site can neither send a form nor frame a page, and its links lead to a page that is signed in", async () => {
    const context = await openContext(browser);
    const page = await context.newPage();
    await enter(page, place);
    const overview = page.url();
    const other = await listen(() =>
      new Response(
        `<form method="post" action="${place.url}/workspaces"><input name="name" value="Stolen"><button>Win</button></form>
        <iframe src="${overview}"></iframe><a href="${overview}/prompts">prompts</a>`,
        { headers: { "Content-Type": "text/html" } },
      )
    );
    const elsewhere = `http://localhost:${other.port}/`;
    await page.goto(elsewhere);
    const frame = page.frames()[1]!;
    assert.not.match(await frame.content(), "Lamp");
    await follow(page, page.getByRole("button", { name: "Win" }));
    assert.is(await page.title(), "Refused · promptledger");
    await page.goto(elsewhere);
    await page.getByRole("link", { name: "prompts" }).click();
    await page.waitForURL(`${overview}/prompts`);
    assert.is(await page.locator("h1").innerText(), "Prompts");
    await page.goto(`${place.url}/workspaces`);
    assert.is(await page.getByText("Stolen").count(), 0);
    other.close();
    await context.close();
  });

  test("programs have the address that the browser reaches, also where a host strips a path, and a button copies them", async () => {
    const other = await listen(async (request) => {
      const { origin, pathname, search } = new URL(request.url);
      const { method, headers } = request, body = method === "POST" ? await request.text() : null;
      return await place.service.fetch(
        new Request(origin + pathname.replace("/outside", "") + search, { method, headers, body }),
      );
    });
    const address = `http://127.0.0.1:${other.port}/outside`;
    const context = await openContext(browser, { permissions: ["clipboard-read", "clipboard-write"] });
    const page = await context.newPage();
    await enter(page, { ...place, url: `${address}/console` });
    await page.goto(`${page.url()}/keys`);
    await page.getByLabel("Name").fill("Shop");
    await follow(page, page.getByRole("button", { name: "Create key" }));
    assert.equal(await findInSchemes(page), []);
    const program = page.locator(".use details[open]");
    await program.getByRole("button", { name: "Copy" }).click();
    await program.getByText("Copied").waitFor();
    const copied = String(await page.evaluate("navigator.clipboard.readText()"));
    assert.is(copied, await program.locator("pre").evaluate((pre) => pre.textContent));
    assert.match(copied, `curl '${address}/v1/prompts?deployId=`);
    assert.match(copied, await page.locator(".secret").innerText());
    await context.close();
    other.close();
  });

  test("times are in the zone of the reader, and the keyboard reaches everything", async () => {
    const context = await openContext(browser, { timezoneId: "Asia/Tokyo", locale: "en-GB" });
    const page = await context.newPage();
    await enter(page, place);
    const time = page.locator("main time.ago").first();
    const [iso, title] = [await time.getAttribute("datetime"), await time.getAttribute("title")];
    const wanted = new Intl.DateTimeFormat("en-GB", {
      ...{ year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit", second: "2-digit" },
      ...{ fractionalSecondDigits: 3, timeZone: "Asia/Tokyo" },
    });
    assert.is(title, wanted.format(new Date(iso!)));
    assert.match(await time.innerText(), /^(just now|\d+ (min|h|d) ago|\d+ \w{3,4}( \d{4})?)$/);
    // No time passes between two keys.
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    await page.keyboard.press("Tab");
    assert.is(await page.evaluate("document.activeElement.textContent"), "Skip to content");
    await page.keyboard.press("g");
    await page.keyboard.press("p");
    await page.waitForURL(/\/prompts$/);
    await page.keyboard.press("?");
    const dialog = page.getByRole("dialog");
    const keys = await dialog.locator("kbd").allInnerTexts();
    assert.is(new Set(keys).size, keys.length, keys.join());
    await dialog.getByRole("button", { name: "Turn off single keys" }).click();
    for (const key of ["?", "/"]) await page.keyboard.press(key);
    assert.is(await dialog.count(), 0);
    await page.keyboard.press("Control+k");
    assert.ok(await dialog.getByLabel("Name or id").isVisible());
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await dialog.getByRole("button", { name: "Turn on single keys" }).click();
    await page.keyboard.press("g");
    await page.keyboard.press("e");
    await page.waitForURL(/\/reviews$/);
    await context.close();
  });

  test("a dialog finds what the page that searches finds, by keys alone, from any page", async () => {
    const context = await openContext(browser);
    const page = await context.newPage();
    await enter(page, place);
    const overview = page.url(), dialog = page.getByRole("dialog"), hits = dialog.locator(".hits a");
    const { recordId } = await submitTo(place, { sessionId: "order 4711/ü", status: 1, content: { output: "x" } });
    for (const from of isFull ? ["", "/prompts/new", `/deployments/${place.deployId}/stats`] : [""]) {
      await page.goto(overview + from);
      await page.locator("h1").click();
      await page.keyboard.press("/");
      await hits.filter({ hasText: "Settings" }).waitFor();
      await page.keyboard.type("assistant");
      await hits.filter({ hasText: "support/assistant@production" }).waitFor();
      assert.is(await hits.first().innerText().then((text) => text.split(/\s/)[0]), "Prompt");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowUp");
      assert.ok(await hits.first().evaluate((link) => link === link.ownerDocument.activeElement));
      // A letter goes on with the text.
      await page.keyboard.type("@staging");
      await hits.filter({ hasText: "assistant@staging" }).first().waitFor();
      await hits.filter({ hasText: "Prompt" }).waitFor({ state: "detached" });
      await go(page, () => page.keyboard.press("Enter"));
      assert.is(await page.locator("h1").innerText(), "support/assistant@staging");
    }
    for (const [text, title] of [[recordId, "Record"], ["order 4711/ü", "Session"]] as const) {
      await page.keyboard.press("Control+k");
      await dialog.getByLabel("Name or id").fill(text);
      await hits.filter({ hasText: text.slice(-10) }).waitFor();
      await go(page, () => page.keyboard.press("Enter"));
      assert.match(await page.title(), `${title} ${text}`);
    }
    await page.keyboard.press("Control+k");
    await hits.first().waitFor();
    assert.equal(await findInSchemes(page), []);
    await context.close();
  });

  test("without scripts a link leads to the page that searches", async () => {
    const context = await openContext(browser, { javaScriptEnabled: false });
    const page = await context.newPage();
    await enter(page, place);
    await follow(page, page.getByRole("link", { name: "Search" }));
    await page.getByLabel("Name or id").fill("assistant@prod");
    await follow(page, page.getByRole("button", { name: "Search" }));
    await follow(page, page.locator(".hits a"));
    assert.is(await page.locator("h1").innerText(), "support/assistant@production");
    await context.close();
  });

  test("variables are lit up exactly behind what is written, and hostile texts stay texts there", async () => {
    const context = await openContext(browser, { reducedMotion: "reduce" });
    const page = await context.newPage();
    await enter(page, place);
    await page.goto(`${page.url()}/prompts/new`);
    const area = page.getByLabel("Content").first(), behind = page.locator(".lit > div").first();
    const marks = () => behind.locator("mark").allInnerTexts();
    await area.fill("Answer {{ name }} of {{shop}}, not {{}} or {{a b}}.\n\n");
    assert.equal(await marks(), ["{{ name }}", "{{shop}}"]);
    for (
      const text of [
        ...hostile,
        "{{a}}".repeat(isFull ? 9_000 : 900),
        "word ".repeat(400),
        "\n\n{{x}}\n",
        "",
      ]
    ) {
      await area.fill(text);
      const written = await area.inputValue();
      assert.is(await behind.textContent(), `${written}\n`);
      assert.is(await behind.locator(":not(mark)").count(), 0);
      // As tall as its text: nothing is left to scroll to.
      const excess = await area.evaluate((field: { scrollHeight: number; clientHeight: number }) =>
        field.scrollHeight - field.clientHeight
      );
      assert.is(excess, 0, text.slice(0, 40));
    }
    const long = "{{a}} ".repeat(10_000);
    await area.fill(long);
    assert.equal([await marks(), await area.inputValue()], [[], long]);
    await area.fill("{{name}}");
    await page.getByLabel("Model settings").fill("{\n]");
    await page.locator("#fault-llmConfig", { hasText: "line 2, column 1" }).waitFor();
    assert.ok(await page.getByRole("button", { name: "Create prompt" }).isVisible());
    assert.equal(await findInSchemes(page), []);
    await page.getByLabel("Model settings").fill("{}");
    await page.locator("#preview mark", { hasText: "{{name}}" }).waitFor();
    assert.is(await page.locator("#fault-llmConfig").innerText(), "");
    await context.close();
  });

  test("a deep session is no wider than a phone, and a chart shows its axis and its totals there", async () => {
    let parent: string | undefined;
    for (let level = 0; level < 25; level++) {
      const record = { sessionId: "deep", status: 1, content: { output: "x" } };
      ({ recordId: parent } = await submitTo(place, { ...record, additional_properties: { parent_id: parent } }));
    }
    const context = await openContext(browser, { viewport: { width: 360, height: 900 } });
    const page = await context.newPage();
    await enter(page, place);
    const overview = page.url();
    await page.goto(`${overview}/usage`);
    for (const part of [".chart svg", ".ticks text", ".totals text"]) {
      const { x, width } = (await page.locator(part).first().boundingBox())!;
      assert.ok(x >= 0 && x + width <= 360, part);
    }
    await page.goto(`${overview}/session?id=deep`);
    assert.is(await page.locator("article").count(), 25);
    assert.ok(Number(await page.evaluate("document.documentElement.scrollWidth")) <= 360);
    await context.close();
  });

  for (const hasScripts of [true, false]) {
    test.full(`a reviewer works through an hour by keys alone, with${hasScripts ? "" : "out"} scripts`, async () => {
      // It begins without any feedback.
      const own = await stage();
      await reviewForAnHour(browser, own, hasScripts, async (page) => {
        if (!hasScripts) return; // axe needs scripts too
        assert.equal(await findInSchemes(page), []);
        await page.setViewportSize({ width: 360, height: 900 });
        assert.ok(Number(await page.evaluate("document.documentElement.scrollWidth")) <= 360);
      });
      await own.end();
    });
  }

  for (const hasScripts of [true, false]) {
    test.full(`a review is worked through by keys alone, with${hasScripts ? "" : "out"} scripts`, async () => {
      await workThroughReview(browser, place, hasScripts, async (page) => {
        if (hasScripts) assert.equal(await findInSchemes(page), []); // axe needs scripts too
        assert.ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"));
      });
    });
  }

  for (const hasScripts of [true, false]) {
    test.full(`a rollout is started, raised, completed and stopped by keys alone, with${hasScripts ? "" : "out"} scripts`, async () => {
      const own = await stage();
      await walkThroughRollout(browser, own, hasScripts, async (page) => {
        if (hasScripts) assert.equal(await findInSchemes(page), []); // axe needs scripts too
        assert.ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"));
      });
      await own.end();
    });
  }

  for (const hasScripts of [true, false]) {
    test.full(`webhooks, alerts and budgets are made and looked at by keys alone, with${hasScripts ? "" : "out"} scripts`, async () => {
      const own = await stage();
      await walkThroughEvents(browser, own, hasScripts, async (page) => {
        if (hasScripts) assert.equal(await findInSchemes(page), []); // axe needs scripts too
        assert.ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"));
      });
      await own.end();
    });
  }

  for (const hasScripts of [false, true]) {
    test(`a page that takes long shows how far it is, and then itself, with${hasScripts ? "" : "out"} scripts`, async () => {
      const held = await holdingStage();
      const viewport = { width: 360, height: 900 };
      const context = await openContext(browser, { javaScriptEnabled: hasScripts, viewport });
      const page = await context.newPage();
      // axe needs scripts too.
      const find = () => hasScripts ? findInSchemes(page) : [];
      await enter(page, held);
      await page.waitForLoadState();
      const before = held.sent().length;
      held.hold();
      // The first read is whether the session was signed out.
      await Promise.all([page.goto(held.statistics, { waitUntil: "commit" }), held.passOne()]);
      while (!/Read \d+ %/.test(held.sent().slice(before))) await held.passOne();
      const shown = page.locator(".step:visible");
      await shown.filter({ hasText: /Read \d+ %/ }).first().waitFor();
      assert.is(await shown.count(), 1);
      assert.is(await page.locator("h1:visible").innerText(), "Not ready yet");
      // The title comes with the page itself, because a browser shows the first one.
      assert.is(await page.title(), "");
      assert.equal((await find()).filter((violation) => !violation.startsWith("document-title")), []);
      held.release();
      await page.waitForLoadState();
      assert.is(await page.locator(".waiting:visible, .step:visible").count(), 0);
      assert.is(await page.locator("h1:visible").innerText(), "Statistics");
      assert.is(await page.title(), "Statistics of greeting@production · Acme · promptledger");
      assert.equal(await find(), []);
      await context.close();
      await held.end();
    });
  }
}

test.run();
