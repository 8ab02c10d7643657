// A Worker on workerd when much comes at once, and when its database goes away and comes back. The cases run on it in
// conformance.test.ts.
// Runs on Node alone.
// Runs in CI alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { openDatabase } from "../../src/database/file/open.ts";
import { migrate } from "../../src/migrate.ts";
import { verify } from "../actions.ts";
import { assertBalanced } from "../balanced.ts";
import { bearer, createTenant, goodBody, managementOf } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import { createFolder, startSqld, until } from "./processes.ts";
import { findSqld } from "./sqld.ts";
import { startWorker } from "./workerd.ts";

const test = suite("a Worker and its database");
const sqld = await findSqld();

// workerd is a program of its own.
if (currentRuntime === "Node" && "binary" in sqld) {
  const folder = await createFolder();
  let server = await startSqld(sqld.binary, `${folder.path}/data`);
  await migrate(server.url);
  const admin = managementOf(openDatabase(server.url), Date.now);
  const { key, deployId } = await createTenant(admin, 1000);
  const worker = await startWorker("src/worker.ts", `${folder.path}/worker`, { DATABASE_URL: server.url });
  test.after(async () => {
    admin.database.close();
    await worker.stop("SIGKILL");
    await server.stop("SIGKILL");
    await folder.remove();
  });

  const target = `${worker.url}/v1/diagnosis?deployId=${deployId}`;
  const submit = async (name: string) => {
    const headers = { ...bearer(key), "Idempotency-Key": name };
    const response = await fetch(target, { method: "POST", headers, body: JSON.stringify(goodBody) });
    await response.text();
    return response.status;
  };
  const readiness = async () => (await fetch(`${worker.url}/readyz`)).status;

  test("answers 30 requests at once, each in a transaction of its own", async () => {
    const names = Array.from({ length: 30 }, (_, index) => `at once ${index}`);
    assert.equal([...new Set(await Promise.all(names.map(submit)))], [201]);
    assertBalanced(await verify(admin));
  });

  test("answers 5xx while its database is away, and serves again once it is back, without a record lost or stored twice", async () => {
    const names = Array.from({ length: 10 }, (_, index) => `away ${index}`);
    await server.stop("SIGKILL");
    const away = await Promise.all(names.map(submit));
    assert.equal(away.filter((status) => status < 500), []);
    assert.is(await readiness(), 503);
    server = await startSqld(sqld.binary, `${folder.path}/data`, Number(new URL(server.url).port));
    await until(async () => await readiness() === 200);
    assert.equal([...new Set(await Promise.all(names.map(submit)))], [201]);
    assert.equal([...new Set(await Promise.all(names.map(submit)))], [201]);
    const [row] = await admin.database.read({ sql: "select count(*) as records from diagnoses" });
    assert.is(row!.records, 40);
    assertBalanced(await verify(admin));
  });
} else if ("missing" in sqld) console.log(`skipped: a Worker and its database: ${sqld.missing}`);

test.run();
