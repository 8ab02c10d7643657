// Who may read the files of a database.
// Runs on every runtime.
import { chmod, stat, writeFile } from "node:fs/promises";
import process from "node:process";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { migrate } from "../../src/migrate.ts";
import { createFolder, readFiles, startService } from "../conformance/processes.ts";
import { currentRuntime } from "../runtimes.ts";

const test = suite(`files on ${currentRuntime}`);

/** Runs with an empty folder, and returns the names and modes of the files in it afterwards. */
async function modesAfter(run: (folder: string) => Promise<unknown>): Promise<Record<string, string>> {
  const folder = await createFolder();
  try {
    await run(folder.path);
    const modes = await readFiles(folder.path, async (file) => ((await stat(file)).mode & 0o777).toString(8));
    return Object.fromEntries(modes);
  } finally {
    await folder.remove();
  }
}

test("only its owner may read a database that a service creates, and its log", async () => {
  const modes = await modesAfter(async (folder) => {
    const service = await startService(currentRuntime, { DATABASE_URL: `file:${folder}/ledger.db` });
    await service.stop("SIGKILL");
  });
  const own = ["ledger.db", "ledger.db-lock", "ledger.db-shm", "ledger.db-wal"];
  assert.equal(modes, Object.fromEntries(own.map((name) => [name, "600"])));
});

test("only its owner may read a database that is created for an embedded service, whatever the umask", async () => {
  const umask = process.umask(0);
  try {
    const modes = await modesAfter((folder) => migrate(`file:${folder}/ledger.db`));
    assert.equal([...new Set(Object.values(modes))], ["600"]);
  } finally {
    process.umask(umask);
  }
});

test("an existing database keeps its mode", async () => {
  const modes = await modesAfter(async (folder) => {
    await writeFile(`${folder}/ledger.db`, "");
    await chmod(`${folder}/ledger.db`, 0o640);
    await migrate(`file:${folder}/ledger.db`);
  });
  assert.is(modes["ledger.db"], "640");
});

test("refuses to migrate a database in memory, and creates no file for it", async () => {
  const modes = await modesAfter(async (folder) => {
    const cwd = process.cwd();
    process.chdir(folder);
    for (const url of ["file::memory:", ":memory:"]) {
      await migrate(url).then(
        () => assert.unreachable(),
        (error: Error) => assert.match(error.message, "The database must "),
      );
    }
    process.chdir(cwd);
  });
  assert.equal(modes, {});
});

test.run();
