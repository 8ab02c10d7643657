// Moves a database from a file to a libSQL server and back, as src/deploy/README.md describes.
// Runs on every runtime in CI.
import { mkdir } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { runIn } from "../cli/places.ts";
import { createSeededDatabase } from "../faults/audit.ts";
import { goodBody } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import { send } from "./http-client.ts";
import { createFolder, startService, startSqld } from "./processes.ts";
import { findSqld } from "./sqld.ts";

const test = suite(`moving on ${currentRuntime}`);

const sqld = await findSqld();
if ("binary" in sqld) {
  test("a backup moves a database from a file to a server and back, with everything in it", async () => {
    const folder = await createFolder();
    const { url, tenant: { key, deployId } } = await createSeededDatabase(`file:${folder.path}/ledger.db`);
    const submit = async (DATABASE_URL: string, sessionId: string) => {
      const service = await startService(currentRuntime, { DATABASE_URL });
      const headers = [`Authorization: Bearer ${key}`];
      const body = JSON.stringify({ ...goodBody, sessionId });
      const answer = await send(service.url, `/v1/diagnosis?deployId=${deployId}`, { method: "POST", headers, body });
      assert.is(answer.status, 201);
      assert.is(await service.stop(), 0);
    };
    const sessionsIn = async (DATABASE_URL: string) => {
      assert.is((await runIn(["verify"], { DATABASE_URL })).code, 0);
      const { out } = await runIn(["record", "list", "--deploy", deployId, "--json"], { DATABASE_URL });
      return JSON.parse(out).map(({ sessionId }: { sessionId: string }) => sessionId);
    };
    const backUp = async (DATABASE_URL: string, file: string) => {
      const { code, said } = await runIn(["backup", file], { DATABASE_URL });
      assert.is(code, 0, said);
    };

    await submit(url, "on a file");
    const data = `${folder.path}/server/dbs/default/data`;
    await mkdir(`${folder.path}/server/dbs/default`, { recursive: true });
    await backUp(url, data);
    let server = await startSqld(sqld.binary, `${folder.path}/server`);
    assert.equal(await sessionsIn(server.url), ["on a file"]);
    await submit(server.url, "on a server");
    await server.stop();
    server = await startSqld(sqld.binary, `${folder.path}/server`);
    assert.equal(await sessionsIn(server.url), ["on a server", "on a file"]);
    await server.stop();

    await backUp(`file:${data}`, `${folder.path}/back.db`);
    assert.equal(await sessionsIn(`file:${folder.path}/back.db`), ["on a server", "on a file"]);
    await submit(`file:${folder.path}/back.db`, "back");
    await folder.remove();
  });
} else {
  console.log(`skipped: moving to a server: ${sqld.missing}`);
}

test.run();
