// A team's day on a started service, on a file and on a libSQL server.
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { migrate } from "../../src/migrate.ts";
import { createService } from "../../src/index.ts";
import { openDatabase } from "../../src/database/open.ts";
import { adminOf, adminToken, createTenant, goodBody } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import { liveDay } from "./day.ts";
import { createFolder, startService, startSqld } from "./processes.ts";
import { findSqld } from "./sqld.ts";

const test = suite("a team's day over HTTP");
const sqld = await findSqld();

/** Makes a workspace whose records are a hundred days old. */
async function makeArchive(url: string): Promise<string> {
  await migrate(url);
  const clock = () => Date.now() - 100 * 86_400_000;
  const database = openDatabase(url, "manage");
  const { workspaceId, deployId, key } = await createTenant(adminOf(database, clock));
  database.close();
  const service = createService({ database: url, clock });
  const answers = await Promise.all(Array.from({ length: 20 }, () =>
    service.fetch(
      new Request(`http://ledger.test/v1/diagnosis?deployId=${deployId}`, {
        method: "POST",
        headers: { Authorization: `Bearer ${key}` },
        body: JSON.stringify(goodBody),
      }),
    )));
  assert.equal(answers.map(({ status }) => status), Array(20).fill(201));
  service.close();
  return workspaceId;
}

for (const store of ["file", "sqld"] as const) {
  if (store === "sqld" && !("binary" in sqld)) continue;
  test(`on a ${store === "file" ? "file" : "libSQL server"}`, async () => {
    const folder = await createFolder();
    const server = store === "sqld" && "binary" in sqld ? await startSqld(sqld.binary, folder.path) : undefined;
    const url = server?.url ?? `file:${folder.path}/ledger.db`;
    try {
      const archive = await makeArchive(url);
      const service = await startService(currentRuntime, { DATABASE_URL: url, ADMIN_TOKEN: adminToken });
      await liveDay({ base: service.url, token: adminToken, archive });
      assert.is(await service.stop(), 0);
      assert.not.match(service.output(), /^\S+ (warn|error) /m);
    } finally {
      await server?.stop("SIGKILL");
      await folder.remove();
    }
  });
}

test.run();
