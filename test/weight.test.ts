// What a read and a record take on the disk, and what the client sends. Other tests hold the other budgets.
// Runs on Node alone.
// Runs in CI alone.
import { suite } from "./suite.ts";
import * as assert from "uvu/assert";
import { createClient } from "../src/client/index.ts";
import { postBody } from "./bench/load.ts";
import { budgets } from "./budgets.ts";
import { createTenant, createWorld } from "./helpers.ts";
import type { Tenant, World } from "./helpers.ts";

const test = suite("weight");

const monthlyLimit = 1_000_000;

/** The bytes of a database's pages. One in memory has the pages that one in a file has. */
async function sizeOf({ database }: World): Promise<number> {
  const sql = "select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()";
  return Number((await database.read({ sql }))[0]!.bytes);
}

/** Sends requests to these tenants in turn, some at once, each time in a transaction. */
async function send(world: World, kind: Kind, tenants: Tenant[], requests: number, atOnce: number): Promise<void> {
  for (let sent = 0; sent < requests; sent += atOnce) {
    world.now += 5;
    const group = Array.from({ length: atOnce }, (_, nth) => tenants[(sent + nth) % tenants.length]!);
    const answers = await Promise.all(
      group.map(({ deployId, key }) =>
        kind === "read" ? world.read(deployId, key) : world.submit(postBody, deployId, key)
      ),
    );
    assert.ok(answers.every(({ status }) => status < 300));
  }
}

type Kind = "read" | "record";

const requests = 1_280;
const loads = { alone: [1, 1], shared: [1, 64], spread: [50, 64] } as const; // workspaces, and requests at once

for (const [load, [workspaces, atOnce]] of Object.entries(loads) as [keyof typeof loads, readonly [number, number]][]) {
  for (const kind of ["read", "record"] as const) {
    const most = budgets.bytes[kind][load];
    test(`a ${kind} of ${workspaces} workspaces, ${atOnce} at once, takes at most ${most} bytes`, async () => {
      const world = await createWorld({ monthlyLimit });
      const tenants: Tenant[] = [world];
      while (tenants.length < workspaces) tenants.push(await createTenant(world.admin, monthlyLimit));
      // From then on, each table has its first pages.
      await send(world, kind, tenants, requests / 4, atOnce);
      const before = await sizeOf(world);
      await send(world, kind, tenants, requests, atOnce);
      const bytes = (await sizeOf(world) - before) / requests;
      assert.ok(bytes <= most, `${bytes} bytes`);
      await world.close();
    });
  }
}

test("1,000 prompts of a deployment, and the records of their calls, are a few requests of the client", async () => {
  const world = await createWorld({ monthlyLimit, maxBodyBytes: 1_000_000 });
  const sent = { prompts: 0, records: 0 };
  const client = createClient({
    apiKey: world.key,
    fetch: (request: Request) => {
      sent[request.method === "GET" ? "prompts" : "records"]++;
      return world.fetch(request);
    },
  });
  for (let nth = 0; nth < 1_000; nth++) {
    const prompt = await client.prompt(world.deployId);
    prompt.call({ sessionId: `order-${nth}` }).done({ status: 1, input: "Hello", output: "Hi" });
  }
  assert.equal(await client.close(), { sent: 1_000, dropped: 0, failed: 0 });
  assert.ok(sent.prompts <= budgets.requests.prompts, `${sent.prompts} requests for prompts`);
  assert.ok(sent.records <= budgets.requests.records, `${sent.records} requests for records`);
  await world.close();
});

test.run();
