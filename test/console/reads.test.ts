// How often a page asks the database, and how many times it has to wait for it: on a server each time is a round trip.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import * as assert from "uvu/assert";
import type { Database, Row, Statement } from "../../src/database/database.ts";
import { createReads } from "../../src/console/reads.ts";
import { openMemory, promptFile, toPrompt } from "../helpers.ts";
import { pushPrompt } from "../actions.ts";
import { currentRuntime } from "../runtimes.ts";
import { suite } from "../suite.ts";
import { createVisit, origin } from "./visitor.ts";

const test = suite("reads of pages");

/** A database as far away as a server: all reads that are waiting travel together, and their rows come back at once. */
function distant(database: Database) {
  const counts = { reads: 0, trips: 0 }, asked = new Set<string>();
  let waiting: (() => void)[] = [];
  function leave(): void {
    const all = waiting;
    waiting = [];
    counts.trips++;
    for (const go of all) go();
  }
  const read = async (statement: Statement): Promise<Row[]> => {
    counts.reads++;
    asked.add(JSON.stringify(statement));
    await new Promise<void>((resolve) => {
      // Whatever the page does without the database is done before the next trip.
      if (waiting.push(resolve) === 1) setTimeout(leave, 20);
    });
    return await database.read(statement);
  };
  // It has no file to probe.
  const { probe: _, ...rest } = database;
  return { counts, asked, database: { ...rest, read } };
}

/** The most reads and round trips of a page: two for the session and the workspace, and those of the page. */
const pages: [path: string, reads: number, trips: number][] = [
  ["", 21, 7],
  ["/records", 12, 8],
  ["/records/:record", 20, 8],
  ["/sessions", 12, 6],
  ["/prompts", 5, 3],
  ["/prompts/:prompt", 16, 8],
  ["/prompts/:prompt/edit", 6, 5],
  ["/prompts/:prompt/compare?from=1&to=2", 15, 8],
  ["/deployments", 4, 3],
  ["/deployments/:deployment", 13, 5],
  ["/deployments/:deployment/stats", 13, 6],
  ["/deployments/:deployment/promote?version=2", 17, 9],
  ["/usage", 14, 6],
  ["/usage/budgets", 6, 4],
  ["/settings", 3, 2],
  ["/settings/feedback", 4, 3],
  ["/keys", 5, 4],
  ["/tokens", 4, 3],
  ["/prices", 4, 3],
  ["/audit", 6, 3],
  ["/alerts", 5, 4],
  ["/webhooks", 4, 3],
  ["/reviews", 4, 3],
  ["/changes", 6, 4],
  ["/agreement", 5, 3],
  ["/search?text=x", 3, 2],
];

const { database, counts, asked } = distant(await openMemory());
const { world, visitor } = await createVisit({ database });
await pushPrompt(world.admin, world.promptId, toPrompt({ ...promptFile, title: "Second" }));
let record = "";
for (const promptVersion of [1, 2, 1]) {
  const answer = await world.submit({ sessionId: "s", status: 1, promptVersion, content: { output: "x" } });
  record = (answer.json as { id: string }).id;
}

for (const [path, reads, trips] of pages) {
  test(`${path || "the overview"} takes at most ${reads} reads in ${trips} round trips, and asks for nothing twice`, async () => {
    const named = { ":record": record, ":prompt": world.promptId, ":deployment": world.deployId };
    Object.assign(counts, { reads: 0, trips: 0 });
    asked.clear();
    await visitor.see(path.replace(/:\w+/g, (name) => Object(named)[name]));
    assert.ok(counts.reads > 0 && counts.reads <= reads && counts.trips <= trips, JSON.stringify(counts));
    assert.is(asked.size, counts.reads, "Something was asked for twice");
  });
}

test("a page remembers what is small, and of long rows no more than some megabytes", async () => {
  const asked: string[] = [];
  const rowsOf = ({ sql }: Statement): Row[] => [{ numbers: sql === "small" ? "1,2" : sql.repeat(300_000) }];
  const remember = createReads();
  const page = remember({
    ...await openMemory(),
    read: (statement) => {
      asked.push(statement.sql);
      return Promise.resolve(rowsOf(statement));
    },
  });
  const slices = Array.from({ length: 50 }, (_, nth) => String.fromCharCode(65 + nth));
  for (const sql of ["small", ...slices, "small", ...slices]) await page.read({ sql });
  const again = slices.filter((slice) => asked.filter((sql) => sql === slice).length > 1);
  assert.is(asked.filter((sql) => sql === "small").length, 1);
  assert.ok(again.length >= 35, `${again.length} of ${slices.length}`);
});

// Only Node collects garbage on demand.
if (currentRuntime === "Node") {
  test("a text that is streamed keeps nothing of what has been sent", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const memory = await openMemory(), long: WeakRef<Row[]>[] = [];
    const read = async (statement: Statement): Promise<Row[]> => {
      const rows = await memory.read(statement);
      if (rows.some((row) => Object.values(row).some((value) => String(value).length > 100_000))) {
        long.push(new WeakRef(rows));
      }
      return rows;
    };
    const { world, visitor } = await createVisit({ database: { ...memory, read } });
    for (let nth = 0; nth < 40; nth++) {
      await world.submit({ sessionId: "s", status: 1, content: { output: "x".repeat(400_000) } });
    }
    const answer = await world.fetch(
      new Request(`${origin}/console/${world.workspaceId}/records/export?format=ndjson`, {
        headers: { Cookie: visitor.cookie },
      }),
    );
    const reader = answer.body!.getReader();
    while (long.length < 12) assert.not.ok((await reader.read()).done);
    // What is made in one task may live until the next one.
    await new Promise((resolve) => setTimeout(resolve));
    collect();
    const kept = long.filter((rows) => rows.deref() !== undefined).length;
    assert.ok(kept <= 4, `${kept} of ${long.length}`);
    await reader.cancel();
    await world.close();
  });
}

test.run();
