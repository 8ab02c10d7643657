// Signing in at a real identity provider, to a Worker on workerd.
// Runs on Node alone.
// Runs in CI alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { migrate } from "../../src/migrate.ts";
import { createFolder, startSqld } from "../conformance/processes.ts";
import { findSqld } from "../conformance/sqld.ts";
import { startWorker } from "../conformance/workerd.ts";
import { currentRuntime } from "../runtimes.ts";
import { createBrowser, stageProvider } from "./provider.ts";
import { titleOf } from "./visitor.ts";

const test = suite("an identity provider and a Worker");
const sqld = await findSqld();

// workerd is a program of its own.
if (currentRuntime === "Node" && "binary" in sqld) {
  const folder = await createFolder(), stage = await stageProvider();
  const server = await startSqld(sqld.binary, `${folder.path}/data`);
  await migrate(server.url);
  const worker = await startWorker("src/worker.ts", `${folder.path}/worker`, {
    ...stage.settings,
    DATABASE_URL: server.url,
  });
  stage.serveBy((request) => {
    const { pathname, search } = new URL(request.url);
    return fetch(new Request(worker.url + pathname + search, request), { redirect: "manual" });
  });
  test.after(async () => {
    await stage.end();
    await worker.stop("SIGKILL");
    await server.stop("SIGKILL");
    await folder.remove();
  });

  test("people sign in, and are refused, as elsewhere", async () => {
    const signIn = async (login: string) => {
      const browser = createBrowser();
      const form = await browser.go("company?next=workspaces", `${stage.url}/console/sign-in`);
      return { browser, shown: await browser.submit(form, { login, password: "any" }) };
    };
    for (const _ of [1, 2]) {
      const { shown, browser } = await signIn("ann");
      assert.equal([shown.status, titleOf(shown.text), shown.text.includes("ann@acme.com")], [200, "Workspaces", true]);
      const left = await browser.go("sign-out", shown.url, {});
      assert.is(new URL(left.url).origin, stage.issuer);
    }
    assert.is((await signIn("joe")).shown.status, 403);
  });
} else if ("missing" in sqld) console.log(`skipped: an identity provider and a Worker: ${sqld.missing}`);

test.run();
