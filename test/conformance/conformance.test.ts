// The cases against a started service on the runtime that runs the tests, on a file and on a libSQL server; and against the
// Worker on workerd, which is the same whatever runs the tests.
import { adminOf } from "../helpers.ts";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { verify } from "../actions.ts";
import { migrate } from "../../src/migrate.ts";
import { openDatabase } from "../../src/database/open.ts";
import { currentRuntime } from "../runtimes.ts";
import type { Runtime } from "../runtimes.ts";
import { cases } from "./cases.ts";
import type { Target } from "./cases.ts";
import { createFixture } from "./fixture.ts";
import { createFolder, startService, startSqld } from "./processes.ts";
import type { Running } from "./processes.ts";
import { findSqld } from "./sqld.ts";
import { startWorker } from "./workerd.ts";

const maxBodyBytes = 1024 * 1024;

const sqld = await findSqld();

type Plan = { runtime: Runtime | "workerd"; store: "file" | "sqld" };

const plans: Plan[] = [{ runtime: currentRuntime, store: "file" }, { runtime: currentRuntime, store: "sqld" }];
if (currentRuntime === "Node") plans.push({ runtime: "workerd", store: "sqld" });

for (const { runtime, store } of plans) {
  const test = suite(`conformance on ${runtime} with ${store}`);
  if (store === "sqld" && "missing" in sqld) {
    console.log(`skipped: conformance on ${runtime} with sqld: ${sqld.missing}`);
    for (const [name] of cases) test.skip(name);
    test.run();
    continue;
  }

  const folder = await createFolder();
  let server: Running | undefined;
  let service: Running;
  let target: Target;

  test("the service starts", async () => {
    if (store === "sqld" && "binary" in sqld) server = await startSqld(sqld.binary, folder.path);
    const url = server?.url ?? `file:${folder.path}/ledger.db`;
    const settings = { DATABASE_URL: url };
    if (runtime === "workerd") await migrate(url);
    service = runtime === "workerd"
      ? await startWorker("src/worker.ts", `${folder.path}/worker`, settings)
      : await startService(runtime, settings);
    const admin = adminOf(openDatabase(url), Date.now);
    target = { ...await createFixture(admin), base: service.url, maxBodyBytes };
  });

  for (const [name, run] of cases) test(name, () => run(target));

  test("the books balance, nothing was logged as failed, and no key is in the log", async () => {
    assert.ok((await verify(target.admin)).balanced);
    const output = service.output();
    assert.not.match(output, /^\S+ (warn|error) |internal|pl_/im);
  });

  // How a Worker ends is not its own doing.
  if (runtime !== "workerd") {
    test("SIGTERM ends the service with exit code 0", async () => {
      assert.is(await service.stop(), 0);
    });
  }

  test.after(async () => {
    target?.admin.database.close();
    await service?.stop("SIGKILL");
    await server?.stop("SIGKILL");
    await folder.remove();
  });
  test.run();
}
