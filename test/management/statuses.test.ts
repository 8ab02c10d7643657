// Names of statuses: what the codes of a workspace's records mean.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { defaultStatuses } from "../../src/management/kernel/statuses.ts";
import { createWorld } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { readAll, refused, taken } from "./management.ts";

const test = suite("names of statuses");

const pathOf = ({ workspaceId }: World) => `/workspaces/${workspaceId}`;
const statuses = [{ status: 1, name: "ok" }, { status: 0, name: "failed", isFailure: true }];
const stored = [{ status: 0, name: "failed", isFailure: true }, { status: 1, name: "ok", isFailure: false }];

test("a workspace has failed and ok at first, gets others in order of their codes, and others replace them", async () => {
  const world = await createWorld();
  const read = async () => taken(await world.manage("GET", pathOf(world))).statuses;
  assert.equal(await read(), [
    { status: 0, name: "failed", isFailure: true },
    { status: 1, name: "ok", isFailure: false },
  ]);
  assert.equal(taken(await world.manage("PATCH", pathOf(world), { statuses })).statuses, stored);
  assert.equal(await read(), stored);
  assert.equal((await readAll<{ statuses: object }>(world, "/workspaces"))[0]!.statuses, stored);
  taken(await world.manage("PATCH", pathOf(world), { name: "Same names" }));
  assert.equal(await read(), stored);
  taken(await world.manage("PATCH", pathOf(world), { statuses: [] }));
  assert.equal(await read(), []);
});

test("a new workspace can have them", async () => {
  const world = await createWorld();
  const body = { name: "New", statuses };
  assert.equal(taken(await world.manage("POST", "/workspaces", body), 201).statuses, stored);
  assert.equal(taken(await world.manage("POST", "/workspaces", { name: "None", statuses: [] }), 201).statuses, []);
});

test("the audit log has them before and after, once for each change", async () => {
  const world = await createWorld();
  for (const given of [[], statuses, statuses, stored, []]) {
    taken(await world.manage("PATCH", pathOf(world), { statuses: given }));
  }
  const entries = await readAll<{ action: string; before: object; after: object }>(world, "/audit");
  const changes = entries.filter(({ action }) => action === "workspace.updated").map(({ before, after }) => [
    before,
    after,
  ]);
  assert.equal(changes, [
    [{ statuses: stored }, { statuses: [] }],
    [{ statuses: [] }, { statuses: stored }],
    [{ statuses: defaultStatuses }, { statuses: [] }],
  ]);
});

test("codes and names are unique, and a name looks like no code and no list", async () => {
  const world = await createWorld();
  const lists = "an array of at most 100 statuses, with different codes and different names";
  const name = "a name of 1 to 40 characters without commas and !, which begins with no digit and no -";
  const cases: [statuses: unknown, error: string][] = [
    [[...statuses, { status: 1, name: "fine" }], `Field statuses must be ${lists}`],
    [[...statuses, { status: 2, name: "ok" }], `Field statuses must be ${lists}`],
    [Array.from({ length: 101 }, (_, status) => ({ status, name: `n${status}` })), `Field statuses must be ${lists}`],
    ...["", "1", "-a", "a,b", "a!", " a", "a ", "a\n", "x".repeat(41)].map((text): [unknown, string] => [
      [{ status: 1, name: text }],
      `Field statuses[0].name must be ${name}`,
    ]),
  ];
  for (const [given, error] of cases) {
    refused(await world.manage("PATCH", pathOf(world), { statuses: given }), 400, error);
  }
  const names = ["ok", "a=b", "zu spät", "ünder review", "x".repeat(40)];
  taken(await world.manage("PATCH", pathOf(world), { statuses: names.map((name, status) => ({ status, name })) }));
});

test.run();
