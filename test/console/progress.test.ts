// Pages that take long: the response begins, shows the progress of the work, and ends with the page.
// Runs on every runtime in CI.
import { connect } from "node:net";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { managementOverloaded } from "../../src/common/errors.ts";
import { createSlots } from "../../src/support/slots.ts";
import { consolePagesWith } from "../../src/console/face.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { managementWith } from "../../src/faces/management.ts";
import { migrate } from "../../src/migrate.ts";
import { adminToken, bearer, captureLog, createTenant, goodBody, managementOf, noon, openMemory } from "../helpers.ts";
import { readAnswer, serveContext } from "../helpers.ts";
import { createFolder, startSqld, until } from "../conformance/processes.ts";
import { findSqld } from "../conformance/sqld.ts";
import { startWorker } from "../conformance/workerd.ts";
import { moveCommits } from "../management/filled-log.ts";
import { currentRuntime } from "../runtimes.ts";
import { findListen } from "../runtime/listen.ts";
import { holding } from "./holding.ts";
import { createVisit, origin, ownPage, titleOf } from "./visitor.ts";

const test = suite("progress of pages");

const memory = await openMemory();
const { world, visitor } = await createVisit({ database: memory });
test.after(() => world.close());
// Some records far from each other, so that reading them takes several slices.
for (let nth = 0; nth < 3; nth++) await world.submit();
await moveCommits(world, (position, index) => position + 40_000 * index);

const { workspaceId, deployId } = world;
const statistics = `${workspaceId}/deployments/${deployId}/stats?last=all`;
const unknown = `${workspaceId}/deployments/dep_none/stats`;
const isFailing = { is: false };

/** A service on the same database, whose pages begin at once and whose reads can be held. One long work runs at once. */
function serve() {
  const held = holding({
    ...memory,
    read: (statement) => isFailing.is ? Promise.reject(new Error("no disk")) : memory.read(statement),
  });
  const { log, logged } = captureLog("info");
  const longWork = createSlots(1, 60_000, managementOverloaded);
  const faces = [managementWith({ adminToken }, () => longWork), consolePagesWith({ pace: { quietMs: 1, stepMs: 1 } })];
  const { fetch, context } = serveContext(held.database, { clock: () => noon, log, faces });
  const open = (path: string, method = "GET") =>
    fetch(new Request(`${origin}/console/${path}`, { method, headers: { Cookie: visitor.cookie } }));
  return { ...held, fetch, open, logged, inFlight: context.inFlight };
}

/** Opens a page whose reads are held, so that its response begins before the page is ready. */
async function openHeld(service: ReturnType<typeof serve>, path: string) {
  // From here on the service has the key of sessions. Whether this one was signed out is the first read of the page.
  await service.open("sign-in");
  service.hold();
  const answering = service.open(path);
  await service.passOne();
  const response = await answering;
  const reader = response.body!.getReader(), decoder = new TextDecoder();
  let text = "";
  const readPart = async () => {
    const { done, value } = await reader.read();
    text += decoder.decode(value, { stream: true });
    return !done;
  };
  await readPart();
  return { response, reader, readPart, text: () => text };
}

/** Releases the reads of such a page. Returns its whole text. */
async function release(service: ReturnType<typeof serve>, { readPart, text }: Awaited<ReturnType<typeof openHeld>>) {
  service.release();
  while (await readPart());
  return text();
}

const stepsIn = (page: string) =>
  Array.from(
    page.matchAll(/<p class="step"><label>(.*?)<progress max="1"(?: value="([\d.]+)")?>/g),
    ([, ...step]) => step,
  );

test("a page that is not ready soon begins without a title, shows how far it is, and ends as if it had been ready", async () => {
  const service = serve(), ready = await visitor.open(statistics);
  const page = await openHeld(service, statistics);
  const { status, headers } = page.response;
  assert.is(status, 200);
  assert.equal(
    [...headers].filter(([name]) => name !== "x-request-id"),
    [
      ...[...ready.headers].filter(([name]) => name !== "x-request-id"),
      ["x-accel-buffering", "no"],
    ].sort(),
  );
  assert.match(page.text(), /^<!doctype html>.*<main class="bare waiting">/);
  assert.not.match(page.text(), "<title");
  await page.readPart();
  assert.equal(stepsIn(page.text()), [["Still reading", undefined]]);
  while (stepsIn(page.text()).length < 3) {
    await service.passOne();
    await page.readPart();
  }
  const text = await release(service, page);
  const [, ...steps] = stepsIn(text).map(([words, share]) => [words, Number(share)] as const);
  for (const [nth, [words, share]] of steps.entries()) {
    assert.is(words, `Read ${Math.round(100 * share)} %`);
    assert.ok(nth === 0 || share > steps[nth - 1]![1]);
  }
  const [, rest] = text.split("</main><title>");
  const whole = ready.text.replace(/^.*<title>/s, "").replace(/<link rel="icon".*<body>/s, "");
  assert.is(rest, whole);
});

test("what is reported while a step is being sent is the next step", async () => {
  const service = serve(), page = await openHeld(service, statistics);
  await page.readPart();
  const pass = async () => {
    await service.passOne();
    await service.untilOneWaits();
  };
  while (!page.text().includes("Read ")) {
    await pass();
    await page.readPart();
  }
  // The response has sent this step, and is asked for no other until the next report is made.
  const before = stepsIn(page.text()).length;
  await pass();
  await until(async () => {
    await page.readPart();
    return stepsIn(page.text()).length > before;
  });
  assert.is(stepsIn(page.text()).length, before + 1);
  await release(service, page);
});

test("a page that reads the log twice shows one progress", async () => {
  const service = serve(), page = await openHeld(service, `${workspaceId}/session?id=${goodBody.sessionId}`);
  let isOver = false;
  const reading = (async () => {
    while (await page.readPart());
    isOver = true;
  })();
  while (!isOver) {
    await until(() => isOver || service.countWaiting() > 0);
    if (!isOver) await service.passOne();
  }
  await reading;
  assert.is(titleOf(page.text()), "Session session-1 · Acme");
  const [, ...steps] = stepsIn(page.text()).map(([words, share]) => [words, Number(share)] as const);
  assert.ok(steps.length > 3);
  for (const [nth, [words, share]] of steps.entries()) {
    assert.is(words, `Read ${Math.round(100 * share)} %`);
    assert.ok(nth === 0 || share >= steps[nth - 1]![1], JSON.stringify(steps));
  }
});

test("without news it sends only spaces", async () => {
  const service = serve(), page = await openHeld(service, statistics);
  for (let nth = 0; nth < 4; nth++) await page.readPart();
  assert.match(page.text(), /<\/label><\/p> {3}$/);
  await release(service, page);
});

test("a refusal after the response has begun is shown in the page, and logged", async () => {
  const service = serve();
  const text = await release(service, await openHeld(service, unknown));
  assert.is(titleOf(text), "Not found · Acme");
  const [request, late] = service.logged.slice(-2).map((line) => JSON.parse(line));
  assert.equal([request.status, request.error], [200, undefined]);
  assert.equal([late.level, late.error, late.requestId], ["info", "not_found", request.requestId]);
});

test("so is a failure, with its cause only in the log", async () => {
  const service = serve(), page = await openHeld(service, statistics);
  isFailing.is = true;
  const text = await release(service, page);
  isFailing.is = false;
  assert.is(titleOf(text), "Something went wrong");
  assert.not.match(text, "no disk");
  const { level, error, cause } = JSON.parse(service.logged.at(-1)!);
  assert.equal([level, error], ["error", "internal"]);
  assert.match(cause, "no disk");
});

test("the work ends when its reader leaves", async () => {
  const service = serve(), page = await openHeld(service, `${workspaceId}/sessions`);
  while (!page.text().includes("Read ")) {
    await service.passOne();
    await page.readPart();
  }
  await page.reader.cancel();
  await expectEnded(service);
  assert.is(service.logged.filter((line) => line.includes("refused")).length, 0);
});

/** Reads that may be under way when a reader leaves: the slices that are read ahead, and the history beside them. */
const readAtOnce = 3 + 1;

/** Expects that held work reads no further. Other long work waits for its end, so the first count includes its reads. */
async function expectEnded(service: ReturnType<typeof serve>): Promise<void> {
  const headers = bearer(adminToken), path = `${origin}/admin/v1/workspaces/${workspaceId}/usage/2026-11`;
  const countReads = async () => {
    const before = service.countReads();
    const answering = service.fetch(new Request(path, { headers }));
    service.release();
    assert.is((await readAnswer(await answering)).status, 200);
    return service.countReads() - before;
  };
  const more = await countReads() - await countReads();
  assert.ok(more <= readAtOnce, `${more} reads more`);
}

test(`on the server of ${currentRuntime} each step arrives when it is made, and the work ends with the connection`, async () => {
  const service = serve(), listen = await findListen();
  const { port, stop } = await listen(service.fetch, { host: "127.0.0.1", port: 0 }, () => {});
  /** Opens a page, and waits until it shows how much has been read. */
  const openReal = async (path: string) => {
    service.hold();
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.on("data", (data) => void (text += data));
    socket.write(
      `GET /console/${path} HTTP/1.1\r\nHost: a\r\nCookie: ${visitor.cookie}\r\nConnection: close\r\n\r\n`,
    );
    while (!/Read \d/.test(text)) await service.passOne();
    return { socket, text: () => text };
  };
  const page = await openReal(statistics);
  service.release();
  await until(() => page.text().includes("</html>"));
  assert.is(titleOf(page.text()), "Statistics of greeting@production · Acme");
  page.socket.destroy();
  const left = await openReal(statistics);
  left.socket.destroy();
  await until(() => service.inFlight.count() === 0);
  await expectEnded(service);
  await stop(service.inFlight.close);
});

async function onWorkers(binary: string): Promise<void> {
  const { path, remove } = await createFolder();
  const server = await startSqld(binary, `${path}/data`);
  await migrate(server.url);
  const database = openDatabase(server.url);
  const tenant = await createTenant(managementOf(database));
  await database.close();
  const worker = await startWorker("test/console/early-worker.ts", `${path}/worker`, {
    ...{ DATABASE_URL: server.url, ADMIN_TOKEN: adminToken },
  });
  const body = new URLSearchParams({ token: adminToken });
  const signIn = { method: "POST", headers: ownPage, body: String(body), redirect: "manual" as const };
  const { headers } = await fetch(`${worker.url}/console/sign-in`, signIn);
  const Cookie = headers.get("Set-Cookie")!.split(";")[0]!;
  const answer = await fetch(`${worker.url}/console/${tenant.workspaceId}/sessions`, { headers: { Cookie } });
  const text = await answer.text();
  assert.match(
    text,
    /<main class="bare waiting">.*<p class="step">.*<title>Sessions · Acme · promptledger<\/title>.*<\/html>$/s,
  );
  await worker.stop("SIGKILL");
  await server.stop("SIGKILL");
  await remove();
}

// Workers are the same wherever they are started from.
if (currentRuntime === "Node") {
  const sqld = await findSqld();
  if ("missing" in sqld) console.log(`skipped: progress of pages on Workers: ${sqld.missing}`);
  else test.full("on Workers a page begins early too", () => onWorkers(sqld.binary));
}

test("only the response to a GET of a page begins early, not that to a HEAD, a form or an export", async () => {
  const service = serve();
  const isForm = { method: "POST", headers: { Cookie: visitor.cookie, "Sec-Fetch-Site": "same-origin" } };
  const answers = {
    head: [404, () => service.open(unknown, "HEAD")],
    form: [404, () => service.fetch(new Request(`${origin}/console/${workspaceId}/deployments/dep_none`, isForm))],
    export: [400, () => service.open(`${workspaceId}/records/export?deployment=dep_none`)],
  } as const;
  for (const [name, [status, answer]] of Object.entries(answers)) {
    service.hold();
    const before = service.countReads(), answering = answer();
    await until(() => service.countReads() > before);
    service.release();
    assert.is((await answering).status, status, name);
  }
});

test.run();
