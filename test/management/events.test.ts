// Events: each change in the order of the audit log, for programs that follow it.
import { readdir, readFile } from "node:fs/promises";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Database } from "../../src/database/database.ts";
import { eventTypes } from "../../src/management/kernel/event-types.ts";
import { listEvents } from "../../src/management/events/events.ts";
import type { Event, EventList } from "../../src/management/events/events.ts";
import { perform } from "../../src/management/kernel/operation.ts";
import { createTenant, createWorld, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { pathOf } from "../runtimes.ts";
import { refused, taken } from "./management.ts";

const test = suite("events");

const as = (token: string) => ({ Authorization: `Bearer ${token}` });
const read = async (world: World, query = "", headers = {}): Promise<EventList> =>
  taken<EventList>(await world.manage("GET", `/events${query}`, undefined, headers));
const typesIn = ({ items }: EventList) => items.map(({ type }) => type);

const promote = (world: World, version: number) =>
  world.manage("POST", `/deployments/${world.deployId}/promote`, { version, note: "Shorter", actor: "Ann" });

/** A world whose second version is live: events 6 and 7. */
async function createChanged(): Promise<World> {
  const world = await createWorld();
  taken(await world.manage("POST", `/prompts/${world.promptId}/versions`, { ...promptFile, title: "Second" }), 201);
  taken(await promote(world, 2));
  return world;
}

test("each change is an event, in order, with what it is about", async () => {
  const world = await createChanged();
  const { items, next } = await read(world);
  assert.equal(items.map(({ position }) => position), items.map((_, index) => index + 1));
  assert.is(next, items.length);
  assert.equal(typesIn({ items, next }).slice(-2), ["prompt.version_published", "deployment.promoted"]);
  const { deployId, workspaceId } = world;
  const promoted = items.at(-1)!;
  assert.match(promoted.id, /^evt_[0-9a-f]{32}$/);
  assert.equal(promoted, {
    id: promoted.id,
    position: next,
    type: "deployment.promoted",
    createdAt: world.now,
    workspaceId,
    subject: { noun: "deployment", id: deployId, name: "greeting@production" },
    ...{ from: 1, to: 2 },
    before: { currentVersion: 1, revision: 1 },
    after: { currentVersion: 2, revision: 2 },
    ...{ source: "api", actor: "Ann", note: "Shorter", origin: null },
    path: `${workspaceId}/deployments/${deployId}`,
  });
});

test("what has no name is shown by its id", async () => {
  const world = await createWorld();
  const { id } = taken<{ id: string }>(await world.manage("POST", `/workspaces/${world.workspaceId}/keys`, {}), 201);
  const created = (await read(world)).items.at(-1)!;
  assert.equal([created.type, created.subject], ["key.created", { noun: "key", id, name: null }]);
});

test("a reader goes on where it ended, and misses nothing that it did not ask for", async () => {
  const world = await createChanged();
  const all = await read(world);
  const found: Event[] = [];
  for (let next = 0, last = -1; next !== last;) {
    last = next;
    const page = await read(world, `?limit=2&after=${next}`);
    assert.ok(page.items.length <= 2);
    found.push(...page.items);
    next = page.next;
  }
  assert.equal(found, all.items);
  const some = await read(world, "?types=deployment.*,key.created");
  assert.equal(typesIn(some), ["key.created", "deployment.created", "deployment.promoted"]);
  assert.is(some.next, all.next);
  assert.equal(await read(world, "?types=prompt.archived"), { items: [], next: all.next });
  assert.equal(typesIn(await read(world, "?types=prompt.version_published")), ["prompt.version_published"]);
  assert.equal(await read(world, "?after=latest"), { items: [], next: all.next });
});

test("an event has no secret and no text of a prompt", async () => {
  const world = await createWorld();
  const { key } = taken<{ key: string }>(
    await world.manage("POST", `/workspaces/${world.workspaceId}/keys`, { name: "app" }),
    201,
  );
  const { token } = taken<{ token: string }>(
    await world.manage("POST", "/tokens", { name: "Ann", role: "viewer" }),
    201,
  );
  const text = JSON.stringify((await read(world)).items);
  for (const secret of [key, token, promptFile.messages[0]!.content]) assert.not.match(text, secret);
  assert.not.match(text, /"(secretHash|hash)"/);
});

test("a token of one workspace sees its own events, numbered by themselves", async () => {
  const world = await createWorld();
  const { workspaceId } = await createTenant(world.admin);
  const { token } = taken<{ token: string }>(
    await world.manage("POST", "/tokens", { name: "Bo", role: "viewer", workspaceId }),
    201,
  );
  await promote(world, 1);
  const { items, next } = await read(world, "", as(token));
  assert.equal(new Set(items.map((event) => event.workspaceId)), new Set([workspaceId]));
  assert.equal(items.map(({ position }) => position), items.map((_, index) => index + 1));
  assert.equal(await read(world, `?after=${next - 1}`, as(token)), { items: items.slice(-1), next });
  const all = await read(world, `?workspaceId=${workspaceId}`);
  assert.equal(all.items.map(({ id }) => id), items.map(({ id }) => id));
  refused(
    await world.manage("GET", `/events?workspaceId=${world.workspaceId}`, undefined, as(token)),
    404,
    `Workspace ${world.workspaceId} not found`,
  );
});

test("a reader may wait for the next event that it wants", async () => {
  const world = await createChanged();
  const { next } = await read(world);
  const waiting = read(world, `?after=${next}&types=deployment.rolled_back&wait=25`);
  await promote(world, 1);
  taken(await world.manage("POST", `/deployments/${world.deployId}/rollback`, {}));
  const { items } = await waiting;
  assert.equal(items.map(({ type, from, to }) => [type, from, to]), [["deployment.rolled_back", 1, 2]]);
  assert.equal(await read(world, `?after=${next + 2}&wait=1`), { items: [], next: next + 2 });
});

test("a service that stops lets nobody wait, and only so many may", async () => {
  const world = await createWorld();
  const { next } = await read(world);
  const waiting = Array.from({ length: 129 }, () => world.manage("GET", `/events?after=${next}&wait=25`));
  const overloaded = await Promise.race(waiting);
  refused(overloaded, 503, "Too many requests wait for events");
  await Promise.all([world.drain(), ...waiting]);
});

test("refuses what cannot be read", async () => {
  const world = await createWorld();
  const { next } = await read(world);
  const faults: [query: string, error: string][] = [
    [`?after=${next + 1}`, `Field after must be at most ${next}, the position of the newest event`],
    ["?after=-1", "Field after must be a position, or latest"],
    ["?wait=26", "Field wait must be an integer from 0 to 25"],
    ["?types=*", "Field types must be types of events such as deployment.*,key.created"],
    [
      "?types=deployment.gone",
      "There is no event deployment.gone. Those of deployment are deployment.created, deployment.",
    ],
    ["?types=deploy.*", "There is no event deploy.*. Events are of workspace, quota, key, token, "],
  ];
  for (const [query, error] of faults) {
    const { status, json } = await world.manage("GET", `/events${query}`);
    assert.is(status, 400);
    assert.ok((json as { error: string }).error.startsWith(error), (json as { error: string }).error);
  }
});

test("every action of the audit log that the source names has a type", async () => {
  const files = (await readdir(pathOf("src/management"), { recursive: true })).filter((name) => name.endsWith(".ts"));
  const sources = await Promise.all(files.map((name) => readFile(pathOf(`src/management/${name}`), "utf8")));
  const actions = Array.from(sources.join("\n").matchAll(/\baction: "(\w+\.\w+)"/g), ([, action]) => action!);
  assert.equal(actions.filter((action) => !(action in eventTypes)), ["prompt.pushed"]);
});

test("who waits counts the events of a workspace again only after a change", async () => {
  const world = await createWorld();
  let counted = 0;
  const database: Database = {
    ...world.database,
    read(statement) {
      if (statement.sql.includes("count(*)")) counted++;
      return world.database.read(statement);
    },
  };
  const caller = { source: "api", actor: "", role: "viewer", workspaceId: world.workspaceId } as const;
  const session = { database, clock: () => world.now, caller };
  const { items } = await perform(listEvents, session, { value: { after: "latest", wait: 3 } });
  assert.equal(items, []);
  assert.is(counted, 2, "at the beginning and at the first look");
});

test.run();
