// Lists whose entries are as long as may be: a page ends early, no statement reads more than a page, and each entry is on one page.
import * as assert from "uvu/assert";
import type { Database, Row, Statement } from "../../src/database/database.ts";
import { openMemory } from "../helpers.ts";
import { createWorld, goodBody, noon, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { suite } from "../suite.ts";
import { readPages, taken } from "./management.ts";

const test = suite("long pages");

const note = "\u{1f600}".repeat(2_000); // as many characters as a note has
const count = 1_100;

/** Adds rows. Columns are expressions of `n`, in which `:note` is the note. */
const fill = ({ database }: World, table: string, rows: number, columns: Record<string, string>) =>
  database.write([{
    sql: `insert into ${table} (${Object.keys(columns).join(", ")})
      with recursive i(n) as (select 1 union all select n + 1 from i where n < ${rows})
      select ${Object.values(columns).join(", ")} from i`,
    args: Object.values(columns).includes(":note") ? { note } : {},
  }]);

type List = { path(world: World): string; fill(world: World): Promise<unknown>; id: string };

const lists: Record<string, List> = {
  "versions of a prompt": {
    path: ({ promptId }) => `/prompts/${promptId}/versions`,
    id: "version",
    fill: (world) =>
      fill(world, "prompt_versions", count, {
        ...{ prompt_id: `'${world.promptId}'`, version: "n + 1", title: "''", description: "''", messages: "'[]'" },
        ...{ llm_config: "'{}'", note: ":note", created_at: "0" },
      }),
  },
  "rollouts of a deployment": {
    path: ({ deployId }) => `/deployments/${deployId}/rollouts`,
    id: "id",
    fill: (world) =>
      fill(world, "rollouts", count, {
        ...{ id: "'ro_' || n", workspace_id: `'${world.workspaceId}'`, deployment_id: `'${world.deployId}'` },
        ...{
          base_version: "1",
          version: "2",
          share: "5",
          salt: "''",
          note: ":note",
          started_at: "0",
          started_by: "''",
        },
        ...{ ended_at: "1", outcome: "'stopped'" },
      }),
  },
  "entries of the audit log": {
    path: () => "/audit",
    id: "position",
    fill: (world) =>
      fill(world, "audit_log", count, {
        ...{ position: "100 + n", created_at: "0", source: "'api'", actor: "''", action: "'token.created'" },
        ...{ note: ":note", hash: "printf('%064d', n)" },
      }),
  },
};

for (const [name, { path, fill, id }] of Object.entries(lists)) {
  test(`the pages of ${name} with notes of 8 kB have each once, and none is longer than 8 MB`, async () => {
    const { world, reads } = await createMeasured();
    await fill(world);
    const pages = await readPages<Record<string, unknown>>(world, `${path(world)}?limit=1000`);
    assert.ok(pages.length > 1 && pages[0]!.length < 1_000, `${pages.map(({ length }) => length)}`);
    for (const page of pages) assert.ok(JSON.stringify(page).length < 4 * 1024 * 1024);
    assert.ok(reads.most < 2 * 1024 * 1024, `${reads.most}`);
    const ids = pages.flat().map((item) => item[id]);
    assert.equal([new Set(ids).size, ids.length >= count], [ids.length, true]);
  });
}

/** A world that knows how long the texts were that one statement returned. */
async function createMeasured() {
  const memory = await openMemory(), reads = { most: 0 };
  const measure = (rows: Row[]): Row[] => {
    const texts = rows.flatMap((row) => Object.values(row)).filter((value) => typeof value === "string");
    reads.most = Math.max(reads.most, texts.reduce((sum, { length }) => sum + length, 0));
    return rows;
  };
  const database: Database = { ...memory, read: async (statement: Statement) => measure(await memory.read(statement)) };
  return { world: await createWorld({ database, maxBodyBytes: 1024 * 1024 }), reads };
}

test("events of long entries come in several answers, and each event is in one", async () => {
  const { world, reads } = await createMeasured();
  await lists["entries of the audit log"]!.fill(world);
  await world.database.write([{ sql: "update audit_head set position = ? where id = 1", args: [100 + count] }]);
  const seen: number[] = [];
  for (let after = 0, answers = 1; after < 100 + count; answers++) {
    assert.ok(answers < 50);
    const { json } = await world.manage("GET", `/events?limit=1000&after=${after}`);
    const { items, next } = json as { items: { position: number }[]; next: number };
    seen.push(...items.map(({ position }) => position));
    after = next;
  }
  assert.equal([new Set(seen).size, seen.length >= count, reads.most < 1024 * 1024], [seen.length, true, true]);
});

test("an alert shows its last 20 changes, and all of them in pages", async () => {
  const world = await createWorld();
  const alert = { condition: "records<1" };
  const { id } = taken<{ id: string }>(
    await world.manage("POST", `/workspaces/${world.workspaceId}/alerts`, alert),
    201,
  );
  for (let nth = 0; nth < 12; nth++) {
    taken(await world.manage("POST", `/alerts/${id}/mute`, { note: `${2 * nth}` }));
    taken(await world.manage("POST", `/alerts/${id}/unmute`, { note: `${2 * nth + 1}` }));
  }
  type Shown = { changes: { note: string }[]; nextCursor: string | null };
  const show = async (query: string): Promise<Shown> => taken(await world.manage("GET", `/alerts/${id}${query}`));
  const notes = [...Array(24).keys()].map(String).reverse();
  assert.equal((await show("")).changes.map(({ note }) => note), notes.slice(0, 20));
  const all: string[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const page: Shown = await show(`?limit=7${cursor && `&cursor=${cursor}`}`);
    all.push(...page.changes.map(({ note }) => note));
    cursor = page.nextCursor;
  }
  assert.equal(all, [...notes, ""]);
});

test("a review names the thousand who have done the most, and counts the others", async () => {
  const world = await createWorld();
  taken(await world.submit(), 201);
  const body = { title: "x" };
  const { id } = taken<{ id: string }>(await world.manage("POST", `/workspaces/${world.workspaceId}/reviews`, body));
  await fill(world, "review_records", 1_030, {
    ...{ review_id: `'${id}'`, ordinal: "n + 1", position: "1000 + n", state: "'done'", reviewer: "'r' || n" },
    finished_at: "n",
  });
  await world.database.write([{ sql: "update reviews set records = 1031" }]);
  const { reviewers, otherReviewers } = taken<{ reviewers: object[]; otherReviewers: number }>(
    await world.manage("GET", `/reviews/${id}`),
  );
  assert.equal([reviewers.length, otherReviewers], [1_000, 30]);
});

test("statistics show the newest thousand versions, the last thousand promotions, and count what is older", async () => {
  const world = await createWorld({ maxBodyBytes: 1024 * 1024, monthlyLimit: 2_000 });
  const { promptId, deployId, database } = world;
  await fill(world, "prompt_versions", 1_019, {
    ...{ prompt_id: `'${promptId}'`, version: "n + 1", title: "''", description: "''", messages: "'[]'" },
    ...{ llm_config: "'{}'", note: "''", created_at: "0" },
  });
  for (let version = 1; version <= 1_020; version += 340) {
    const records = Array.from({ length: 340 }, (_, nth) => ({ deployId, ...goodBody, promptVersion: version + nth }));
    taken(await world.send("/v1/diagnoses", { method: "POST", body: JSON.stringify({ records }) }));
  }
  const [head] = await database.read({ sql: "select position from audit_head" });
  await fill(world, "audit_log", 1_010, {
    ...{ position: `${head!.position} + n`, created_at: `${noon}`, source: "'api'", actor: "''", note: "''" },
    ...{ action: "'deployment.promoted'", target_id: `'${deployId}'`, hash: "printf('%064d', n)" },
    ...{ before: "'{}'", after: "json_object('currentVersion', 1 + n % 120, 'revision', n + 1)" },
  });
  type Shown = {
    records: number;
    versions: { version: number }[];
    otherVersions: object;
    promotions: { version: number }[];
  };
  const shown = taken<Shown>(await world.manage("GET", `/deployments/${deployId}/stats`));
  assert.equal([shown.records, shown.versions.length, shown.versions[0]!.version], [1_020, 1_000, 1_020]);
  assert.equal(shown.otherVersions, { versions: 20, records: 20 });
  assert.equal([shown.promotions.length, shown.promotions.at(-1)!.version], [1_000, 1 + 1_010 % 120]);
});

test("costs know the models of versions whose settings are long, and read few of them at a time", async () => {
  const { world, reads } = await createMeasured();
  const { promptId, deployId } = world;
  taken(await world.manage("POST", "/prices", { model: "m*", input: "1", output: "1" }));
  const tools = "x".repeat(300_000);
  for (let nth = 2; nth <= 12; nth++) {
    const version = { ...promptFile, llmConfig: { model: `m${nth}`, tools } };
    taken(await world.manage("POST", `/prompts/${promptId}/versions`, version), 201);
    const usage = { additional_properties: { prompt_tokens: 1_000_000, completion_tokens: 0 } };
    taken(await world.submit({ ...goodBody, ...usage, promptVersion: nth }), 201);
  }
  reads.most = 0;
  const { all } = taken<{ all: { cost: { total: string; unpriced: number } } }>(
    await world.manage("GET", `/deployments/${deployId}/stats`),
  );
  assert.equal([all.cost.total, all.cost.unpriced], ["11", 0]);
  assert.ok(reads.most < 1.2 * 1024 * 1024, `${reads.most}`);
});

test.run();
