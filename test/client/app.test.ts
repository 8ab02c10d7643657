// A client in a process of its own, over HTTP to a started service: it gets its prompt, delivers its record and ends by itself.
// Runs on every runtime.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { openDatabase } from "../../src/database/file/open.ts";
import { createFolder, findFreePort, runFile, startService } from "../conformance/processes.ts";
import { createSeededDatabase } from "../faults/audit.ts";
import { currentRuntime } from "../runtimes.ts";

const test = suite(`an application with the client on ${currentRuntime}`);

test("gets its prompt and delivers its record, or starts from its snapshot while the service is away", async () => {
  const folder = await createFolder();
  try {
    const seeded = await createSeededDatabase(`file:${folder.path}/ledger.db`);
    const port = String(await findFreePort());
    const service = await startService(currentRuntime, { DATABASE_URL: seeded.url, PORT: port });
    const settings = { PROMPTLEDGER_URL: service.url, PROMPTLEDGER_API_KEY: seeded.tenant.key };
    const args = ["greeting@production", `${folder.path}/snapshot.json`];
    const runApp = () => runFile(currentRuntime, "test/client/app.ts", args, settings);

    assert.equal(await runApp(), { code: 0, out: "server 1\n", said: "" });
    assert.is(await service.stop(), 0);
    const away = await runApp();
    assert.equal([away.code, away.out], [0, "snapshot 1\n"]);

    const database = openDatabase(seeded.url, "manage");
    const stored = await database.read({ sql: "select session_id, prompt_version from diagnoses" });
    database.close();
    assert.equal(stored.map((row) => [row.session_id, row.prompt_version]), [["order-4711", 1]]);
  } finally {
    await folder.remove();
  }
});

test.run();
