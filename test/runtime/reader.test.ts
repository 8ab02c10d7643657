// The reader thread of a service that runs as a process of its own, as users start it.
// Runs on every runtime.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { send } from "../conformance/http-client.ts";
import { createFolder, descriptorsOf, startService } from "../conformance/processes.ts";
import { createSeededDatabase } from "../faults/audit.ts";
import { adminToken } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";

const test = suite(`reader thread of a service on ${currentRuntime}`);

const folder = await createFolder();
test.after(() => folder.remove());

const headers = [`Authorization: Bearer ${adminToken}`];

test("starts with the first request of management, and ends with the service", async () => {
  const path = `${folder.path}/ledger.db`;
  const { url, tenant } = await createSeededDatabase(`file:${path}`);
  const service = await startService(currentRuntime, { DATABASE_URL: url, ADMIN_TOKEN: adminToken });
  const logs = async () => (await descriptorsOf(service.pid, `${path}-wal`))?.length;
  const before = await logs();
  const get = (path: string) => send(service.url, path, { headers });
  assert.is((await get(`/v1/usage`)).status, 401);
  assert.is(await logs(), before);
  assert.is((await get(`/admin/v1/deployments/${tenant.deployId}/stats`)).status, 200);
  // Its connection has a descriptor of its own. Without the thread, the connection of the service would have read.
  if (before !== undefined) assert.is(await logs(), before + 1);
  const asked = get("/admin/v1/verify");
  assert.is(await service.stop(), 0);
  await asked.catch(() => {}); // the signal may have come first
  assert.not.match(service.output(), /^\S+ (warn|error) /m);
});

test.run();
