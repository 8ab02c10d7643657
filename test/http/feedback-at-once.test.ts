// The same feedback at once on several services of one database.
// Runs on Node alone.
import * as assert from "uvu/assert";
import { openDatabase } from "../../src/database/file/open.ts";
import { migrate } from "../../src/migrate.ts";
import { createFolder, startSqld } from "../conformance/processes.ts";
import { findSqld } from "../conformance/sqld.ts";
import { createWorld, goodBody } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { suite } from "../suite.ts";

const test = suite("feedback at once");

const sqld = await findSqld();
const rounds = 12;

type Answer = { isChanged: boolean; givenAt: number };

for (const kind of ["a file", "a server"] as const) {
  test(`of the same feedback at once on services of ${kind}, one response says that it changed something`, async () => {
    if (kind === "a server" && "missing" in sqld) return;
    const folder = await createFolder();
    const server = kind === "a server" ? await startSqld((sqld as { binary: string }).binary, folder.path) : undefined;
    const url = server?.url ?? `file:${folder.path}/ledger.db`;
    await migrate(url);
    const databases = Array.from({ length: 3 }, () => openDatabase(url, "manage"));
    const worlds: World[] = [];
    try {
      for (const database of databases) {
        worlds.push(await createWorld({ database, ...worlds[0] === undefined ? {} : { tenant: worlds[0] } }));
      }
      const { id } = (await worlds[0]!.submit(goodBody)).json as { id: string };
      const giveAll = async (record: string, method: string, body?: object): Promise<Answer[]> =>
        await Promise.all(worlds.map(async ({ send, key }) => {
          const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
          const init = { method, headers, ...body === undefined ? {} : { body: JSON.stringify(body) } };
          const { status, json, text } = await send(`/v1/diagnosis/${record}/feedback/thumb`, init);
          assert.is(status, 200, text);
          return json as Answer;
        }));
      for (let round = 0; round < rounds; round++) {
        for (const world of worlds) world.now++;
        for (const record of [id, "not-sent-yet"]) {
          const body = round % 3 === 2 ? undefined : { value: round % 3 === 0, comment: String(round) };
          const answers = await giveAll(record, body === undefined ? "DELETE" : "PUT", body);
          const changed = answers.filter(({ isChanged }) => isChanged);
          assert.is(changed.length, 1, `${record} ${round} ${JSON.stringify(answers)}`);
        }
      }
      for (const world of worlds) await world.close();
    } finally {
      for (const database of databases) database.close();
      await server?.stop("SIGKILL");
      await folder.remove();
    }
  });
}

test.run();
