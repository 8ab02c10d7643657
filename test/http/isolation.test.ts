// Workspaces are isolated. The response for another workspace's deployment is, to the byte, that for a missing one.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { listCalls } from "../actions.ts";
import { verifyBalanced } from "../balanced.ts";
import { createTenant, createWorld, goodBody } from "../helpers.ts";
import type { Answer, Tenant, World } from "../helpers.ts";

const test = suite("isolation");

const workspaces = 10;

type Ask = (world: World, deployId: string, key: string) => Promise<Answer>;

const asks: [name: string, ask: Ask][] = [
  ["GET", (world, deployId, key) => world.read(deployId, key)],
  ["HEAD", (world, deployId, key) => {
    const init = { method: "HEAD", headers: { Authorization: `Bearer ${key}` } };
    return world.send(`/v1/prompts?deployId=${deployId}`, init);
  }],
  ["POST /v1/diagnosis", (world, deployId, key) => world.submit(goodBody, deployId, key)],
  ["POST /v1/prompts", (world, deployId, key) => {
    const init = { method: "POST", headers: { Authorization: `Bearer ${key}` }, body: JSON.stringify(goodBody) };
    return world.send(`/v1/prompts?deployId=${deployId}`, init);
  }],
  [
    "POST under the Idempotency-Key of the deployment's own workspace",
    (world, deployId, key) => world.submit(goodBody, deployId, key, { "Idempotency-Key": `used by ${deployId}` }),
  ],
];

/** An answer to the last byte, except what differs for each request. */
const bytesOf = ({ status, headers, text }: Answer) =>
  JSON.stringify([status, [...headers].filter(([name]) => !["date", "x-request-id"].includes(name)).sort(), text]);

async function createTenants({ admin }: World): Promise<Tenant[]> {
  const tenants: Tenant[] = [];
  // One has no quota, which must not change the 404 into a 429. All names are the same.
  for (let index = 0; index < workspaces; index++) tenants.push(await createTenant(admin, index === 0 ? 0 : 100));
  return tenants;
}

const unknown = "dep_00000000000000000000000000";

const pairsOf = (tenants: Tenant[]) =>
  tenants.flatMap((caller) => tenants.filter((owner) => owner !== caller).map((owner) => ({ caller, owner })));

for (const [name, ask] of asks) {
  test(`${name} to another workspace's deployment gets the response for a missing one, and costs nobody anything`, async () => {
    const world = await createWorld();
    const tenants = await createTenants(world);
    for (const { deployId, key } of tenants.slice(1)) {
      const headers = { "Idempotency-Key": `used by ${deployId}` };
      assert.is((await world.submit(goodBody, deployId, key, headers)).status, 201);
    }
    const ledgers = await verifyBalanced(world.admin);
    for (const { deployId, key } of tenants) {
      const notFound = await ask(world, unknown, key);
      assert.is(notFound.status, 404);
      for (const owner of tenants.filter((tenant) => tenant.key !== key)) {
        assert.is.not(owner.deployId, deployId);
        assert.is(bytesOf(await ask(world, owner.deployId, key)), bytesOf(notFound));
      }
    }
    assert.equal(await verifyBalanced(world.admin), ledgers);
    assert.equal(ledgers.map(({ used }) => used), Array(workspaces - 1).fill(1));
  });
}

test("all pairs at once, with the owners' own requests between them, get the right responses in every group", async () => {
  const world = await createWorld();
  const tenants = (await createTenants(world)).slice(1);
  const notFound = bytesOf(await world.read(unknown, tenants[0]!.key));
  const own: Promise<Answer>[] = [];
  const others: Promise<Answer>[] = [];
  for (const { caller, owner } of pairsOf(tenants)) {
    others.push(world.read(owner.deployId, caller.key), world.submit(goodBody, owner.deployId, caller.key));
    own.push(world.read(caller.deployId, caller.key), world.submit(goodBody, caller.deployId, caller.key));
  }
  for (const answer of await Promise.all(others)) assert.is(bytesOf(answer), notFound);
  const answers = await Promise.all(own);
  for (const [index, { caller }] of pairsOf(tenants).entries()) {
    const [read, submit] = [answers[2 * index]!, answers[2 * index + 1]!];
    assert.equal([read.status, submit.status], [200, 201]);
    const { deploy, workspace } = read.json as { deploy: { id: string }; workspace: { id: string } };
    assert.equal([deploy.id, workspace.id], [caller.deployId, caller.workspaceId]);
  }
  const ledgers = await verifyBalanced(world.admin);
  const expected = tenants.map(({ workspaceId }) => [workspaceId, 8, 8]).sort();
  assert.equal(ledgers.map(({ workspaceId, reads, records }) => [workspaceId, reads, records]), expected);
  for (const { workspaceId, deployId, keyId } of tenants) {
    for (const call of (await listCalls(world.admin, { workspaceId }))) {
      assert.equal([call.deployId, call.keyId], [deployId, keyId]);
    }
  }
});

test.run();
