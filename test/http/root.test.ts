// GET / and its link.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { serveDatabase } from "../../src/service/service.ts";
import { version } from "../../src/common/version.ts";
import { openapi } from "../../src/faces/openapi.ts";
import { management } from "../../src/management.ts";
import { adminToken, createWorld, openMemory, readAnswer, wholePages, withManagement } from "../helpers.ts";

const test = suite("root");

const mounts = [["/llm", "/llm"], ["/llm", "/llm/"], ["", "/"], ["/a/b", "/a/b"]] as const;
for (const [basePath, path] of mounts) {
  test(`links from ${path} under base path "${basePath}" to the description`, async () => {
    const service = serveDatabase(await openMemory(), { basePath, faces: withManagement });
    const get = async (url: string) => readAnswer(await service.fetch(new Request(url)));
    const root = `http://ledger.test${path}`;
    const { openapi } = (await get(root)).json as { openapi: string };
    const { status, json } = await get(new URL(openapi, root).href);
    assert.equal([status, (json as { info: { version: string } }).info.version], [200, version]);
    await service.close();
  });
}

test("has no link if the service has no description", async () => {
  const service = serveDatabase(await openMemory(), {});
  const get = async (headers = {}) => readAnswer(await service.fetch(new Request("http://ledger.test/", { headers })));
  assert.equal(Object.keys((await get()).json as object), ["name", "version", "description"]);
  assert.not.match((await get({ Accept: "text/html" })).text, "href");
  await service.close();
});

const browser = { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

for (const [basePath, path] of mounts) {
  test(`leads browsers from ${path} under base path "${basePath}" to the console, and no one else`, async () => {
    const service = serveDatabase(await openMemory(), { basePath, faces: withManagement });
    const root = `http://ledger.test${path}`;
    for (const method of ["GET", "HEAD"]) {
      const { status, headers } = await service.fetch(new Request(root, { method, headers: browser }));
      const to = new URL(headers.get("Location")!, root);
      assert.equal([status, to.pathname], [303, `${basePath}/console`]);
    }
    for (const headers of [{}, { Accept: "*/*" }, { Accept: "application/json" }]) {
      const { status, json } = await readAnswer(await service.fetch(new Request(root, { headers })));
      assert.equal([status, (json as { name: string }).name], [200, "promptledger"]);
    }
    await service.close();
  });
}

test("leads nobody to a console that is off", async () => {
  const service = serveDatabase(await openMemory(), {
    faces: [management(), openapi(), wholePages({ mayBeOff: true })],
  });
  const page = await readAnswer(await service.fetch(new Request("http://ledger.test/", { headers: browser })));
  assert.equal([page.status, page.headers.get("Content-Type")], [200, "text/html; charset=utf-8"]);
  assert.match(page.text, '<a href="openapi.json">');
  const { status } = await service.fetch(new Request("http://ledger.test/console", { headers: browser }));
  assert.is(status, 404);
  await service.close();
});

test("logs and counts requests to the root under its path", async () => {
  const world = await createWorld({ logLevel: "info", servesMetrics: true });
  await world.send("/", { headers: {} });
  assert.is(JSON.parse(world.logged.at(-1)!).route, "/");
  const headers = { Authorization: `Bearer ${adminToken}` };
  assert.match(
    (await world.send("/metrics", { headers })).text,
    'promptledger_http_requests_total{method="GET",route="/",status="200"} 1',
  );
});

test.run();
