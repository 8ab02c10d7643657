// Comparing the records of two versions or two deployments.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Comparison } from "../../src/management/records/compare.ts";
import { createWorld, goodBody, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { refused, taken, toQuery } from "./management.ts";

const test = suite("comparisons");

const statuses = [{ status: 0, name: "failed", isFailure: true }, { status: 1, name: "ok" }];

/** A world with two versions. Of each, `failed` of `records` have failed, and the latencies are around a mean. */
async function createTwo(
  sides: { failed: number; records: number; latency: number; cost?: number }[],
  names: object[] = statuses,
): Promise<World> {
  const world = await createWorld({ monthlyLimit: 1e6 });
  taken(await world.manage("PATCH", `/workspaces/${world.workspaceId}`, { statuses: names }));
  taken(await world.manage("POST", `/prompts/${world.promptId}/versions`, { ...promptFile, title: "Second" }), 201);
  for (const [index, { failed, records, latency, cost }] of sides.entries()) {
    const bodies = Array.from({ length: records }, (_, nth) => ({
      ...goodBody,
      promptVersion: index + 1,
      status: nth < failed ? 0 : 1,
      latency: latency + nth % 11 - 5,
      cost,
    }));
    for (const answer of await Promise.all(bodies.map((body) => world.submit(body)))) taken(answer, 201);
  }
  return world;
}

const compare = async (world: World, query: Record<string, string | number | undefined>) =>
  taken<Comparison>(await world.manage("GET", `/stats/compare${toQuery(query)}`));
const versions = ({ deployId }: World) => ({ a: deployId, aVersion: 1, b: deployId, bVersion: 2 });

test("a clear difference is said with its interval, and both sides are as statistics show them", async () => {
  const world = await createTwo([
    { failed: 40, records: 1000, latency: 800, cost: 0.002 },
    { failed: 21, records: 1000, latency: 700, cost: 0.002 },
  ]);
  const { a, b, differences, sentence } = await compare(world, versions(world));
  const stats = taken<{ versions: object[] }>(await world.manage("GET", `/deployments/${world.deployId}/stats`));
  const side = { deployId: world.deployId, reference: "greeting@production" };
  assert.equal([b, a], stats.versions.map((version) => ({ ...side, ...version })));
  const { difference, low, high } = differences.failures!;
  assert.equal([difference, low, high].map((value) => value!.toFixed(4)), ["-0.0190", "-0.0348", "-0.0039"]);
  assert.is(differences.latency!.difference, b.latency.mean! - a.latency.mean!);
  assert.equal(differences.cost, { difference: "0", low: 0, high: 0 });
  assert.match(
    sentence,
    /^version 2 fails less often \(2\.1 % against 4\.0 %, 95 % interval of the difference −3\.5 to −0\.4 points\), is faster \(mean 700 against 800 ms/,
  );
});

test("a difference that may be chance is not claimed", async () => {
  const world = await createTwo([
    { failed: 6, records: 150, latency: 800 },
    { failed: 4, records: 160, latency: 800 },
  ]);
  const { sentence } = await compare(world, versions(world));
  assert.is(sentence, "no difference that these 310 records can show");
});

test("deployments are compared too, with the same filter, and without records there is nothing to say", async () => {
  const world = await createTwo([{ failed: 1, records: 40, latency: 800 }, { failed: 30, records: 40, latency: 800 }]);
  const body = { name: "staging", promptId: world.promptId };
  taken(await world.manage("POST", `/workspaces/${world.workspaceId}/deployments`, body), 201);
  const references = { a: "greeting@staging", b: "greeting@production" };
  const { a, b, differences, sentence } = await compare(world, references);
  assert.equal([a.version, a.records, b.version, b.records], [null, 0, null, 80]);
  assert.equal(differences, { failures: null, latency: null, tokens: null, cost: null, feedback: [] });
  assert.is(sentence, "greeting@staging has no records");
  assert.is((await compare(world, { ...versions(world), status: "ok" })).a.records, 39);
  assert.match((await compare(world, versions(world))).sentence, /^version 2 fails more often/);
});

test("if nothing counts as a failure, failures are not compared", async () => {
  const world = await createTwo([{ failed: 1, records: 40, latency: 8 }, { failed: 30, records: 40, latency: 8 }], []);
  const { a, differences } = await compare(world, versions(world));
  assert.equal([a.failures, differences.failures], [null, null]);
});

test("both sides must exist", async () => {
  const world = await createWorld();
  const { deployId } = world;
  refused(await world.manage("GET", `/stats/compare?a=${deployId}&b=dep_x`), 404, "Deployment dep_x not found");
  refused(await world.manage("GET", `/stats/compare?a=${deployId}`), 400, "Missing required field b");
});

test.run();
