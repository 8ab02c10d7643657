// One service on each runtime, all on one database: the quota holds across processes. Only the tests on Node run it, since it
// would be the same on the others.
// Runs on Node alone.
// Runs in CI alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createApiKey, listCalls } from "../actions.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { migrate } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations.ts";
import { verifyBalanced } from "../balanced.ts";
import { createTenant, managementOf } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import { race } from "./load.ts";
import { createFolder, startService, startSqld } from "./processes.ts";
import { findSqld } from "./sqld.ts";

const test = suite("three runtimes on one server");
const sqld = await findSqld();

const limit = 700, requests = 1500, connections = 48;

if ("missing" in sqld) console.log(`skipped: three runtimes on one server: ${sqld.missing}`);
else if (currentRuntime === "Node") {
  test(`of ${requests} requests at ${connections} connections exactly the limit of ${limit} is accepted`, async () => {
    const folder = await createFolder();
    const server = await startSqld(sqld.binary, folder.path);
    const DATABASE_URL = server.url;
    const services = await Promise.all(
      (["Node", "Bun", "Deno"] as const).map((runtime) => startService(runtime, { DATABASE_URL })),
    );
    const database = openDatabase(DATABASE_URL);
    try {
      const admin = managementOf(database, Date.now);
      await migrate(database, migrations, Date.now());
      const { key, deployId, workspaceId } = await createTenant(admin, limit);
      const { key: otherKey } = await createApiKey(admin, workspaceId, { name: "another", expiresAt: null });
      const bases = services.map(({ url }) => url);
      const statuses = await race({ bases, connections, requests, keys: [key, otherKey, key], deployId });
      const count = (status: number) => statuses.get(status) ?? 0;
      assert.equal([count(200) + count(201), count(429)], [limit, requests - limit]);
      assert.equal((await verifyBalanced(admin)).map(({ used }) => used), [limit]);
      const numbers = (await listCalls(admin, { workspaceId })).map(({ number }) => number);
      assert.equal(numbers, Array.from({ length: limit }, (_, index) => limit - index));
      for (const service of services) assert.is(await service.stop(), 0);
    } finally {
      for (const service of services) await service.stop("SIGKILL");
      database.close();
      await server.stop("SIGKILL");
      await folder.remove();
    }
  });
}

test.run();
