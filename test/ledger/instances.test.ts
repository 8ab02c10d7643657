// Two services on one file, each with its own connection. A change through one holds for the other from the very next request
// on, whatever that one has cached.
// Runs on every runtime in CI.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { migrations } from "../../src/database/migrations.ts";
import { migrate } from "../../src/database/migrate.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { verifyBalanced } from "../balanced.ts";
import { createFolder } from "../conformance/processes.ts";
import { createWorld, goodBody, noon, promptFile } from "../helpers.ts";
import type { Answer, World } from "../helpers.ts";
import { taken } from "../management/management.ts";

const test = suite("two instances");

const folder = await createFolder();
test.after(() => folder.remove());

let files = 0;

type Pair = { one: World; other: World; set(now: number): void; requests: (() => Promise<Answer>)[] };

/** Two worlds on a new file, with one clock. `requests` go to both, with the first one's key and deployment. */
async function onFile(run: (pair: Pair) => Promise<void>, keyOf = ({ key }: World) => Promise.resolve(key)) {
  const url = `file:${folder.path}/${files++}.db`;
  const databases = [openDatabase(url), openDatabase(url)] as const;
  await migrate(databases[0], migrations, noon);
  const one = await createWorld({ database: databases[0] });
  const other = await createWorld({ database: databases[1] });
  const key = await keyOf(one);
  const bearer = { headers: { Authorization: `Bearer ${key}` } };
  const requests = [one, other].flatMap((world) => [
    () => world.read(one.deployId, key),
    () => world.submit(goodBody, one.deployId, key),
    () => world.submit(goodBody, one.deployId, key, { "Idempotency-Key": String(one.now) }),
    () => world.send("/v1/usage", bearer),
  ]);
  try {
    await run({ one, other, set: (now) => one.now = other.now = now, requests });
  } finally {
    for (const { close } of [one, other]) close();
  }
}

async function statusesOf(requests: Pair["requests"]): Promise<number[]> {
  const statuses: number[] = [];
  for (const request of requests) statuses.push((await request()).status);
  return statuses;
}

const accepted = [200, 201, 201, 200, 200, 201, 201, 200];
const unauthorized = Array(8).fill(401);
// Usage does not depend on the deployment.
const notFound = [404, 404, 404, 200, 404, 404, 404, 200];

test("both accept a key until the millisecond before it expires, and refuse it from then on", () => {
  const expiresAt = noon + 5_000;
  const makeKey = async (world: World) =>
    taken<{ key: string }>(await world.manage("POST", `/workspaces/${world.workspaceId}/keys`, { expiresAt }), 201).key;
  return onFile(async ({ set, requests }) => {
    assert.equal(await statusesOf(requests), accepted);
    for (const [offset, statuses] of [[-1, accepted], [0, unauthorized], [1, unauthorized], [-1, accepted]] as const) {
      set(expiresAt + offset);
      assert.equal(await statusesOf(requests), statuses);
    }
  }, makeKey);
});

test("both accept an old secret until the millisecond before its overlap ends, and refuse it from then on", () =>
  onFile(async ({ one, set, requests }) => {
    assert.equal(await statusesOf(requests), accepted);
    taken(await one.manage("POST", `/keys/${one.keyId}/rotate`, { overlapMs: 1000 }));
    for (const [offset, statuses] of [[999, accepted], [1000, unauthorized], [1001, unauthorized]] as const) {
      set(noon + offset);
      assert.equal(await statusesOf(requests), statuses);
    }
  }));

const changes: [name: string, path: (world: World) => string, refused: number[], back?: string][] = [
  ["a revoked key", ({ keyId }) => `/keys/${keyId}/revoke`, unauthorized],
  ["the secret before a rotation without an overlap", ({ keyId }) => `/keys/${keyId}/rotate`, unauthorized],
  ["a deactivated deployment", ({ deployId }) => `/deployments/${deployId}/deactivate`, notFound, "activate"],
];

for (const [name, pathOf, refused, back] of changes) {
  test(`${name} is refused on the very next request, by the service that made the change and by the other`, async () => {
    for (const changer of [0, 1]) {
      // Either service gets the first request, so that none learns of the change from the other's.
      for (const start of [0, 4]) {
        await onFile(async ({ one, other, set, requests }) => {
          assert.equal(await statusesOf(requests), accepted);
          const { manage } = [one, other][changer]!;
          taken(await manage("POST", pathOf(one)));
          set(noon + 1);
          const rotated = [...requests.slice(start), ...requests.slice(0, start)];
          assert.equal(await statusesOf(rotated), refused);
          if (back === undefined) return;
          taken(await manage("POST", `/deployments/${one.deployId}/${back}`));
          assert.equal(await statusesOf(requests), accepted);
        });
      }
    }
  });
}

test("once a key is revoked, neither accepts any of many requests at once, and all before are counted", () =>
  onFile(async ({ one, other, requests }) => {
    const many = () => Promise.all(requests.flatMap((request) => [request(), request(), request()]));
    const before = (await many()).filter(({ status }) => status < 300);
    assert.is(before.length, 24);
    taken(await one.manage("POST", `/keys/${one.keyId}/revoke`));
    assert.equal((await many()).map(({ status }) => status), Array(24).fill(401));
    const ledgers = await verifyBalanced(other.admin, one.workspaceId);
    assert.equal(ledgers.map(({ used }) => used), [13]);
  }));

test("versions, names and limits that are changed through one hold for the other from the next request on", () =>
  onFile(async ({ one, other }) => {
    const read = () => other.read(one.deployId, one.key);
    const served = async () => {
      const { title, deploy, workspace } = (await read()).json as Record<string, Record<string, unknown>>;
      return [title, deploy!.name, deploy!.currentVersion, workspace!.name];
    };
    assert.equal(await served(), ["Greeting", "production", 1, "Acme"]);
    const second = { ...promptFile, title: "Second", deploy: one.deployId };
    taken(await one.manage("POST", `/workspaces/${one.workspaceId}/publish`, second));
    assert.equal(await served(), ["Second", "production", 2, "Acme"]);
    taken(await one.manage("POST", `/deployments/${one.deployId}/rollback`));
    assert.equal(await served(), ["Greeting", "production", 1, "Acme"]);
    taken(await one.manage("POST", `/deployments/${one.deployId}/rename`, { name: "renamed" }));
    taken(await one.manage("PATCH", `/workspaces/${one.workspaceId}`, { name: "Other", monthlyLimit: 5 }));
    assert.equal(await served(), ["Greeting", "renamed", 1, "Other"]);
    assert.equal([(await read()).status, (await read()).status], [200, 429]);
    taken(await one.manage("PATCH", `/workspaces/${one.workspaceId}`, { monthlyLimit: 6 }));
    assert.equal([(await read()).status, (await one.read()).status], [200, 429]);
  }));

test.run();
