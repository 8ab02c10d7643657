// What pages say about records that only a long search finds: it goes on until it has found one, the log ends, or time is over.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Database } from "../../src/database/database.ts";
import { pushPrompt, updateWorkspace } from "../actions.ts";
import { createTenant, managementOf, openMemory, promptFile, toPrompt } from "../helpers.ts";
import { fillLog } from "../ledger/long-log.ts";
import { createVisit, linksIn, origin, visit } from "./visitor.ts";

const test = suite("long searches");

const limit = 1_000_000_000;
const failed = 9;

/** A world in which time passes only as records are searched for: 30 ms in each part of the log. */
async function createSlowVisit() {
  const database = await openMemory();
  const { now } = performance;
  let at = now.call(performance);
  const slow: Database = {
    ...database,
    read(statement) {
      if (statement.sql.includes("as offsets")) at += 30;
      return database.read(statement);
    },
  };
  performance.now = () => at;
  const { world, visitor } = await createVisit({ database: slow, monthlyLimit: limit });
  await updateWorkspace(world.admin, world.workspaceId, {
    statuses: [{ status: failed, name: "bad", isFailure: true }],
  });
  const other = await createTenant(managementOf(slow), limit, "Other");
  return {
    ...{ world, visitor, other },
    submit: async (text: string, more: object = {}) => {
      const body = { sessionId: "s", status: 1, content: { input: text }, ...more };
      return ((await world.submit(body)).json as { id: string }).id;
    },
    async close() {
      performance.now = now;
      await world.close();
    },
  };
}

const disabled = (label: string) => `<span class="button" aria-disabled="true">${label}</span>`;

test("Next and Previous of a record lead to one that is far away in the log", async () => {
  const { world, visitor, other, submit, close } = await createSlowVisit();
  const ids: string[] = [];
  for (const gap of [8_000, 8_000, 0]) {
    ids.push(await submit("needle"));
    await submit("hay");
    await fillLog(world.database, other, gap);
  }
  const pageOf = (id: string) => visitor.see(`/records/${id}?text=needle`);
  const [oldest, middle, newest] = ids as [string, string, string];
  assert.match(
    await pageOf(middle),
    new RegExp(`rel="prev" href="[^"]*${newest}[^"]*".*rel="next" href="[^"]*${oldest}`, "s"),
  );
  assert.match(await pageOf(newest), disabled("Previous"));
  assert.match(await pageOf(oldest), disabled("Next"));
  await close();
});

test("Next of a record whose search runs out of time says so, and the list goes on from there", async () => {
  const { world, visitor, other, submit, close } = await createSlowVisit();
  const oldest = await submit("needle");
  await fillLog(world.database, other, 100_000);
  const newest = await submit("needle");
  for (const [id, label, wanted] of [[newest, "Next", oldest], [oldest, "Previous", newest]] as const) {
    const page = await visitor.see(`/records/${id}?text=needle`);
    assert.not.match(page, disabled(label));
    const [, address] = new RegExp(`href="([^"]*)"[^>]*>\\s*${label}: search ran out of time`).exec(page)!;
    let path: string | undefined = new URL(
      address!.replaceAll("&amp;", "&"),
      `${origin}/console/${world.workspaceId}/records/${id}`,
    ).href;
    let list = "";
    for (let pages = 0; path !== undefined && !list.includes(wanted) && pages < 100; pages++) {
      list = (await visitor.open(path.slice(`${origin}/console/`.length))).text;
      const next = linksIn(list).find((href) => href.includes("cursor="));
      path = next && new URL(next, path).href;
    }
    assert.match(list, wanted);
  }
  await close();
});

test("a promotion is compared with the records of its version, however many others came after them", async () => {
  const { world, other, submit, close } = await createSlowVisit();
  await pushPrompt(world.admin, world.promptId, toPrompt({ ...promptFile, title: "Second" }));
  const path = `/deployments/${world.deployId}/promote?version=2`;
  await submit("old", { promptVersion: 2 });
  world.now += 40 * 86_400_000;
  const visitor = await visit(world);
  await fillLog(world.database, other, 150_000, world.now);
  assert.match(await visitor.see(path), "Records since 16 October 2026");
  await fillLog(world.database, other, 2_000_000, world.now);
  const page = await visitor.see(path);
  assert.match(page, "The search for records of version 2 ran out of time. It may have older ones.");
  assert.not.match(page, "has no records here");
  await close();
});

test("the overview never says that no record failed because a search ran out of time", async () => {
  const { world, visitor, other, submit, close } = await createSlowVisit();
  const id = await submit("bad", { status: failed });
  await fillLog(world.database, other, 150_000);
  assert.match(await visitor.see(""), id);
  await fillLog(world.database, other, 1_500_000);
  const page = await visitor.see("");
  assert.match(page, "The search ran out of time.");
  assert.not.match(page, "No record failed");
  await close();
});

test.run();
