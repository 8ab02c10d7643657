// Statistics of a deployment's records, compared with a simple computation.
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { DeploymentId } from "../../src/common/ids.ts";
import type { VersionStats } from "../../src/schema/ledger.ts";
import { createWorld, goodBody, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { minute } from "./filled-log.ts";
import { refused, taken, toQuery } from "./management.ts";

const test = suite("statistics");

type Measures = { latency?: number | undefined; additional_properties?: Record<string, unknown> | undefined };
type Sent = Measures & { version: number; status: number; at: number };

const readStats = async (world: World, query = "") =>
  taken<{ deployId: string; records: number; versions: VersionStats[] }>(
    await world.manage("GET", `/deployments/${world.deployId}/stats${query}`),
  );

/** Rounds to a tenth of a millisecond, and from a second on to four digits. */
const rounded = (latency: number) => latency < 1000 ? Math.round(latency * 10) / 10 : Number(latency.toPrecision(4));

/** A percentile by the nearest rank. */
function percentile(values: number[], percent: number): number | null {
  const rank = Math.max(1, Math.ceil((percent * values.length) / 100));
  return Array.from(values).sort((a, b) => a - b)[rank - 1] ?? null;
}

const isCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 1e12;

/** The tokens of a record, from the properties themselves or the first object among them that has valid ones. */
function tokensOf(
  { additional_properties: properties = {} }: Measures,
): { prompt: number; completion: number } | undefined {
  for (const holder of [properties, ...Object.values(properties)]) {
    const { prompt_tokens: prompt = null, completion_tokens: completion = null } = (holder ?? {}) as Record<
      string,
      unknown
    >;
    const given = [prompt, completion].filter((count) => count !== null);
    if (given.length === 0 || !given.every(isCount)) continue;
    return { prompt: prompt as number ?? 0, completion: completion as number ?? 0 };
  }
  return undefined;
}

function sumOf(statuses: { records: number }[], all: number) {
  const records = statuses.reduce((sum, { records }) => sum + records, 0);
  return { records, share: records / all };
}

function computed(sent: Sent[]) {
  return [...new Set(sent.map(({ version }) => version))].sort((a, b) => b - a).map((version) => {
    const own = sent.filter((record) => record.version === version);
    const statuses = [...new Set(own.map(({ status }) => status))].map((status) => {
      const records = own.filter((record) => record.status === status).length;
      return { status, records, share: records / own.length };
    }).sort((a, b) => b.records - a.records || a.status - b.status);
    const latencies = own.flatMap(({ latency }) => latency === undefined ? [] : [rounded(latency)]);
    const [p50, p95, p99] = [50, 95, 99].map((percent) => percentile(latencies, percent));
    const tokens = own.flatMap((record) => tokensOf(record) ?? []);
    return {
      version,
      records: own.length,
      statuses: statuses.slice(0, 10),
      otherStatuses: sumOf(statuses.slice(10), own.length),
      latency: { records: latencies.length, p50, p95, p99 },
      tokens: {
        records: tokens.length,
        prompt: tokens.reduce((sum, { prompt }) => sum + prompt, 0),
        completion: tokens.reduce((sum, { completion }) => sum + completion, 0),
      },
    };
  });
}

const count = fc.oneof(fc.nat({ max: 5000 }), fc.constantFrom(0, -1, 1.5, "7", null, 2 ** 53, 1e12));
const usage = fc.record({ prompt_tokens: count, completion_tokens: count, total_tokens: count }, { requiredKeys: [] });
const properties = fc.oneof(
  usage,
  fc.record({ trace: fc.constant("t"), list: fc.constant([1]), none: fc.constant(null), a: usage, b: usage }, {
    requiredKeys: [],
  }),
  fc.record({ deeper: fc.record({ still: usage }) }),
);
// Eighths are exact as doubles, so that no half is rounded the wrong way.
const latency = fc.oneof(fc.nat({ max: 16_000 }), fc.nat({ max: 8_000_000 }), fc.nat({ max: 9e12 })).map((eighths) =>
  eighths / 8
);

const step = fc.record({
  wait: fc.constantFrom(0, 1, -minute, 7 * minute, 90 * minute),
  promote: fc.constantFrom(undefined, undefined, 1, 2, 3),
  records: fc.array(
    fc.record({
      status: fc.constantFrom(0, 1, 1, 2, -5, Number.MIN_SAFE_INTEGER),
      latency: fc.option(latency, { nil: undefined, freq: 3 }),
      additional_properties: fc.option(properties, { nil: undefined, freq: 3 }),
    }),
    { maxLength: 9 },
  ),
});

test("match a simple computation, for all records, one version, and any time range", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 9 }), fc.nat(), async (steps, seed) => {
      const world = await createWorld({ monthlyLimit: 1e6 });
      for (const title of ["b", "c"]) {
        await world.manage("POST", `/prompts/${world.promptId}/versions`, { ...promptFile, title });
      }
      const sent: Sent[] = [];
      let version = 1;
      for (const { wait, promote = version, records } of steps) {
        world.now += wait;
        version = promote;
        taken(await world.manage("POST", `/deployments/${world.deployId}/promote`, { version }));
        const answers = await Promise.all(records.map((record) => world.submit({ ...goodBody, ...record })));
        for (const answer of answers) taken(answer, 201);
        sent.push(...records.map((record) => ({ ...record, version, at: world.now })));
      }
      const { deployId } = world;
      assert.equal(await readStats(world), { deployId, records: sent.length, versions: computed(sent) });
      const times = sent.flatMap(({ at }) => [at - 1, at, at + 1]);
      const filter = fc.record({
        promptVersion: fc.constantFrom(1, 2, 3, 4),
        from: fc.constantFrom(0, ...times),
        to: fc.constantFrom(Number.MAX_SAFE_INTEGER, ...times),
      }, { requiredKeys: [] });
      for (const { promptVersion, from, to } of fc.sample(filter, { seed, numRuns: 6 })) {
        const found = sent.filter(({ version, at }) =>
          (promptVersion === undefined || version === promptVersion) && at >= (from ?? 0) && at < (to ?? Infinity)
        );
        const stats = await readStats(world, toQuery({ promptVersion, from, to }));
        assert.equal(stats, { deployId, records: found.length, versions: computed(found) });
      }
    }),
    { seed: 20261115, numRuns: 6 },
  );
});

const latencies: [sent: number[], p50: number, p95: number, p99: number][] = [
  [[5], 5, 5, 5],
  [[2, 1], 1, 2, 2],
  [[1, 2, 3], 2, 3, 3],
  [Array.from({ length: 100 }, (_, index) => 100 - index), 50, 95, 99],
  [[0, 0.04, 0.05], 0, 0.1, 0.1],
  [[999.94, 999.96], 999.9, 1000, 1000],
  [[1234.4, 12_345, 123_456_789], 12_350, 123_500_000, 123_500_000],
  [[1e300, Number.MAX_VALUE], 1e300, Number.MAX_VALUE, Number.MAX_VALUE],
];

for (const [sent, p50, p95, p99] of latencies) {
  test(`of latencies ${sent.slice(0, 3).join(", ")} … the percentiles are ${p50}, ${p95} and ${p99}`, async () => {
    const world = await createWorld();
    await Promise.all(sent.map((latency) => world.submit({ ...goodBody, latency })));
    const { versions: [version] } = await readStats(world);
    assert.equal(version!.latency, { records: sent.length, p50, p95, p99 });
  });
}

const tokens: [properties: object, tokens: object][] = [
  [{ prompt_tokens: 1, completion_tokens: 2 }, { records: 1, prompt: 1, completion: 2 }],
  [{ usage: { prompt_tokens: 1, completion_tokens: 2 } }, { records: 1, prompt: 1, completion: 2 }],
  [{ prompt_tokens: 1, usage: { completion_tokens: 2 } }, { records: 1, prompt: 1, completion: 0 }],
  [{ a: {}, b: [], c: "x", usage: { completion_tokens: 2 } }, { records: 1, prompt: 0, completion: 2 }],
  [{ a: { prompt_tokens: "1" }, b: { prompt_tokens: 3 } }, { records: 1, prompt: 3, completion: 0 }],
  [{ prompt_tokens: 1.5, completion_tokens: -1 }, { records: 0, prompt: 0, completion: 0 }],
  [{ deep: { usage: { prompt_tokens: 1 } } }, { records: 0, prompt: 0, completion: 0 }],
  [{ prompt_tokens: 0 }, { records: 1, prompt: 0, completion: 0 }],
];

for (const [additional_properties, counted] of tokens) {
  test(`tokens of ${JSON.stringify(additional_properties)} are ${JSON.stringify(counted)}`, async () => {
    const world = await createWorld();
    await world.submit({ ...goodBody, additional_properties });
    assert.equal((await readStats(world)).versions[0]!.tokens, counted);
  });
}

test("show the ten most frequent statuses, and sum up the others, however many there are", async () => {
  const world = await createWorld({ monthlyLimit: 1e6 });
  const statuses = [...Array.from({ length: 2500 }, (_, index) => index), 1, 1, 7, 7, 7, -3, -3];
  const submit = async (status: number) => assert.is((await world.submit({ ...goodBody, status })).status, 201);
  await submit(statuses[0]!);
  await Promise.all(statuses.slice(1).map(submit));
  const [version] = (await readStats(world)).versions;
  const share = (records: number) => ({ records, share: records / statuses.length });
  assert.equal(version!.statuses.slice(0, 3), [
    { status: 7, ...share(4) },
    { status: 1, ...share(3) },
    { status: -3, ...share(2) },
  ]);
  assert.equal([version!.statuses.length, version!.otherStatuses], [10, share(statuses.length - 4 - 3 - 2 - 7)]);
});

test("count records only: no reads, no deleted records, none of another deployment", async () => {
  const world = await createWorld();
  assert.equal(await readStats(world), { deployId: world.deployId, records: 0, versions: [] });
  const { id } = taken<{ id: string }>(await world.submit(), 201);
  await world.submit({ ...goodBody, status: 2 });
  await world.read();
  await world.manage("DELETE", `/diagnoses/${id}`);
  const { records, versions: [version] } = await readStats(world);
  assert.equal([records, version!.statuses], [1, [{ status: 2, records: 1, share: 1 }]]);
  assert.equal(version!.latency, { records: 0, p50: null, p95: null, p99: null });
  const twin = taken<{ id: DeploymentId }>(
    await world.manage("POST", `/workspaces/${world.workspaceId}/deployments`, { name: "x", promptId: world.promptId }),
    201,
  );
  assert.is((await readStats({ ...world, deployId: twin.id })).records, 0);
});

test("need an existing deployment and a valid range", async () => {
  const world = await createWorld();
  refused(await world.manage("GET", "/deployments/dep_x/stats"), 404, "Deployment dep_x not found");
  const path = `/deployments/${world.deployId}/stats`;
  const range = "an integer of Unix milliseconds from 0 to 9007199254740991";
  refused(await world.manage("GET", `${path}?from=-1`), 400, `Field from must be ${range}`);
  refused(await world.manage("GET", `${path}?to=1.5`), 400, `Field to must be ${range}`);
  assert.is((await readStats(world, "?from=5&to=5")).records, 0);
});

test.run();
