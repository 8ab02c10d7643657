// Every list in pages: newest first, without gaps and duplicates, whatever is added in between.
// Runs on Node alone.
import fc from "fast-check";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createTenant, createWorld, goodBody, promptFile } from "../helpers.ts";
import type { Tenant, World } from "../helpers.ts";
import { readAll, readPages, refused, taken } from "./management.ts";

const test = suite("lists in pages");

type List = {
  path(tenant: Tenant): string;
  /** The id of an entry. */
  name: string;
  /** Adds the nth entry to a tenant's list. */
  add(world: World, tenant: Tenant, nth: number): Promise<{ status: number }>;
  /** Whether pages may be short, because the list is filtered while it is scanned. */
  isOfLog?: boolean;
};

const lists: Record<string, List> = {
  workspaces: {
    path: () => "/workspaces",
    name: "id",
    add: (world) => world.manage("POST", "/workspaces", { name: "x" }),
  },
  keys: {
    path: ({ workspaceId }) => `/workspaces/${workspaceId}/keys`,
    name: "id",
    add: (world, { workspaceId }) => world.manage("POST", `/workspaces/${workspaceId}/keys`, {}),
  },
  prompts: {
    path: ({ workspaceId }) => `/workspaces/${workspaceId}/prompts`,
    name: "id",
    add: (world, { workspaceId }) => world.manage("POST", `/workspaces/${workspaceId}/prompts`, promptFile),
  },
  "versions of a prompt": {
    path: ({ promptId }) => `/prompts/${promptId}/versions`,
    name: "version",
    add: (world, { promptId }, nth) =>
      world.manage("POST", `/prompts/${promptId}/versions`, { ...promptFile, title: `${nth}` }),
  },
  deployments: {
    path: ({ workspaceId }) => `/workspaces/${workspaceId}/deployments`,
    name: "id",
    add: (world, { workspaceId, promptId }, nth) =>
      world.manage("POST", `/workspaces/${workspaceId}/deployments`, { name: `x${nth}`, promptId }),
  },
  "changes of a deployment": {
    path: ({ deployId }) => `/deployments/${deployId}/history`,
    name: "revision",
    add: (world, { deployId }, nth) => world.manage("POST", `/deployments/${deployId}/rename`, { name: `${nth}` }),
  },
  records: {
    path: ({ deployId }) => `/deployments/${deployId}/diagnoses`,
    name: "id",
    add: (world, { deployId, key }, nth) => world.submit({ ...goodBody, sessionId: `${nth}` }, deployId, key),
    isOfLog: true,
  },
  calls: {
    path: ({ workspaceId }) => `/workspaces/${workspaceId}/calls`,
    name: "id",
    add: (world, { deployId, key }) => world.read(deployId, key),
    isOfLog: true,
  },
  "months of use": {
    path: ({ workspaceId }) => `/workspaces/${workspaceId}/usage`,
    name: "month",
    add: (world, { deployId, key }) => {
      world.now += 31 * 86_400_000;
      return world.read(deployId, key);
    },
  },
};

type Entry = Record<string, unknown>;

for (const [title, { path, name, add, isOfLog = false }] of Object.entries(lists)) {
  const namesOf = (entries: Entry[]) => entries.map((entry) => entry[name]);

  test(`${title}: the entries at the start are listed once, in order, while more are added`, async () => {
    const world = await createWorld({ monthlyLimit: 1e6 });
    const steps = fc.array(fc.constantFrom(-1000, 0, 0, 1, 5), { maxLength: 7 });
    const arrivals = fc.infiniteStream(fc.nat({ max: 2 }));
    await fc.assert(
      fc.asyncProperty(steps, arrivals, fc.integer({ min: 1, max: 4 }), async (steps, arrivals, limit) => {
        const tenant = await createTenant(world.admin);
        const other = await createTenant(world.admin);
        let count = 0;
        const addOne = async (to = tenant) => assert.ok((await add(world, to, count++)).status < 300);
        for (const step of steps) {
          world.now += title === "months of use" ? Math.abs(step) : step;
          await addOne();
          await addOne(other);
        }
        const before = namesOf(await readAll<Entry>(world, `${path(tenant)}?limit=1000`));
        let most = 6;
        const pages = await readPages<Entry>(world, `${path(tenant)}?limit=${limit}`, async () => {
          for (let arriving = arrivals.next().value!; arriving > 0 && most > 0; arriving--, most--) {
            world.now += 1;
            await addOne();
          }
        });
        const seen = namesOf(pages.flat());
        assert.is(new Set(seen).size, seen.length);
        assert.equal(seen.filter((entry) => before.includes(entry)), before);
        assert.ok(pages.every((page) => page.length <= limit));
        if (isOfLog) return;
        assert.ok(pages.slice(0, -1).every((page) => page.length === limit));
        assert.ok(pages.length === 1 || pages.at(-1)!.length > 0);
      }),
      { numRuns: 8 },
    );
  });

  test(`${title}: newest first, 50 by default, and nothing after the last`, async () => {
    const world = await createWorld({ monthlyLimit: 1e6 });
    const most = title === "months of use" ? 4 : 51;
    const present = (await readAll(world, path(world))).length;
    for (let nth = present; nth < most; nth++) {
      world.now += 1;
      await add(world, world, nth);
    }
    const pages = await readPages<Entry>(world, path(world));
    assert.equal(pages.map(({ length }) => length), most > 50 ? [50, 1] : [most]);
    const times = pages.flat().map((entry) => entry.createdAt ?? entry.month) as (number | string)[];
    if (!("createdAt" in pages[0]![0]!)) assert.equal(times, [...times].sort().reverse());
    else assert.equal(times, Array.from(times as number[]).sort((a, b) => b - a));
    for (const limit of [1, 3, 17, most, most + 1, 1000]) {
      const sizes = (await readPages(world, `${path(world)}?limit=${limit}`)).map(({ length }) => length);
      const full = Math.floor(most / limit), rest = most % limit;
      if (limit > 1 || most < 10) {
        assert.equal(sizes, [...Array(full).fill(limit), ...(rest > 0 ? [rest] : [])], `${limit}`);
      }
    }
  });

  test(`${title}: the limit is from 1 to 1000`, async () => {
    const world = await createWorld();
    for (const limit of ["0", "1001", "x", "", "-1", "1.5", "1e2", "9007199254740993"]) {
      const answer = await world.manage("GET", `${path(world)}?limit=${limit}`);
      refused(answer, 400, "Field limit must be an integer from 1 to 1000");
    }
  });

  test(`${title}: the cursor must be from an earlier response`, async () => {
    const world = await createWorld();
    const wrong = ["", " ", "-1", "1.5", "a-b", "%00", "'", "é", "x".repeat(65)];
    if (["version", "revision"].includes(name) || isOfLog) wrong.push("x", "1e3", "9007199254740992", "1".repeat(17));
    for (const cursor of wrong) {
      const answer = await world.manage("GET", `${path(world)}?cursor=${cursor}`);
      refused(answer, 400, "Field cursor must be the nextCursor of an earlier response");
    }
  });
}

test("an empty list is one empty page", async () => {
  const world = await createWorld();
  const { id } = taken(await world.manage("POST", "/workspaces", { name: "Empty" }), 201);
  for (const list of ["keys", "prompts", "deployments", "calls", "usage"]) {
    const page = taken(await world.manage("GET", `/workspaces/${id}/${list}`));
    assert.equal(page, { items: [], nextCursor: null });
  }
  const page = taken(await world.manage("GET", `/deployments/${world.deployId}/diagnoses`));
  assert.equal(page, { items: [], nextCursor: null });
});

test("only what is deleted or pruned between pages is missing", async () => {
  const world = await createWorld();
  for (let nth = 0; nth < 12; nth++) {
    await world.submit({ ...goodBody, sessionId: `${nth}` });
    world.now += nth === 5 ? 3 * 86_400_000 : 1;
  }
  const path = `/deployments/${world.deployId}/diagnoses`;
  const sessions: unknown[] = [];
  const pages = await readPages<Entry>(world, `${path}?limit=4`, async () => {
    await world.manage("DELETE", `${path}?sessionId=7`);
    await world.manage("DELETE", `${path}?sessionId=6`);
    await world.manage("POST", "/prune", { olderThanMs: 2 * 86_400_000 });
  });
  for (const { sessionId } of pages.flat()) sessions.push(sessionId);
  assert.equal(sessions, ["11", "10", "9", "8"]);
});

test.run();
