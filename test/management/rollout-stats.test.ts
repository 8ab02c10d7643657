// Statistics of rollouts: which records they count, and what they say.
// Runs on Node alone.
import fc from "fast-check";
import * as assert from "uvu/assert";
import type { RolloutStats } from "../../src/management/records/rollout-stats.ts";
import { verifyBalanced } from "../balanced.ts";
import { createWorld, goodBody } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { isFull, suite } from "../suite.ts";
import { publish, refused, taken } from "./management.ts";

const test = suite("statistics of rollouts");

async function createCandidate(): Promise<World> {
  const world = await createWorld({ monthlyLimit: 1e6 });
  taken(await publish(world, { name: "greeting", title: "Warmer", messages: [{ role: "user", content: "x" }] }), 201);
  return world;
}

const roll = async (world: World, body: object): Promise<string> =>
  taken<{ rollout: { id: string } }>(await world.manage("POST", `/deployments/${world.deployId}/rollout`, body)).rollout
    .id;
const statsOf = async (world: World, rollout: string, query = "") =>
  taken<RolloutStats>(await world.manage("GET", `/deployments/${world.deployId}/rollouts/${rollout}/stats${query}`));

async function submitAll(world: World, bodies: object[]): Promise<void> {
  for (let first = 0; first < bodies.length; first += 500) {
    const records = bodies.slice(first, first + 500).map((body) => ({ ...goodBody, ...body }));
    for (const answer of await Promise.all(records.map((record) => world.submit(record)))) taken(answer, 201);
  }
}

const find = (
  { differences }: RolloutStats,
  measure: string,
  name: string | null = null,
  label: string | null = null,
) => differences.find((each) => each.measure === measure && each.name === name && each.label === label)!;

test("only records of the rollout count, each for the version that it had, in the step of its time", async () => {
  const record = fc.record({
    of: fc.constantFrom("rollout", "rollout", "other", "none"),
    isCandidate: fc.boolean(),
    status: fc.constantFrom(0, 1, 1),
    latency: fc.constantFrom(undefined, 0, 12.5, 900, 1e12),
    session: fc.nat(9),
    thumb: fc.constantFrom(undefined, true, false),
  });
  const history = fc.array(fc.array(record, { maxLength: 40 }), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const world = await createCandidate();
      const other = await roll(world, { version: 2, percent: 50 });
      taken(await world.manage("POST", `/deployments/${world.deployId}/rollout/stop`));
      const shares = [10, 30, 50, 90];
      let rollout = "";
      const started = new Map<string, { step: number; arm: string }>();
      for (const [step, records] of steps.entries()) {
        world.now += 1000;
        rollout = await roll(world, { version: 2, percent: shares[step] });
        for (const { of, isCandidate, status, latency, session, thumb } of records) {
          const rolloutId = { rollout, other, none: undefined }[of], sessionId = `s${session}`;
          const promptVersion = isCandidate ? 2 : 1;
          const body = { ...goodBody, rollout: rolloutId, promptVersion, status, latency, sessionId };
          const { id } = taken<{ id: string }>(await world.submit(body), 201);
          if (thumb !== undefined) {
            taken(await world.manage("POST", `/diagnoses/${id}/feedback`, { name: "thumb", value: thumb }));
          }
          if (of === "rollout" && !started.has(sessionId)) {
            started.set(sessionId, { step, arm: isCandidate ? "candidate" : "base" });
          }
        }
      }
      const stats = await statsOf(world, rollout);
      const ofArm = (candidate: boolean, records = steps.flat()) =>
        records.filter(({ of, isCandidate }) => of === "rollout" && isCandidate === candidate);
      assert.equal(
        stats.steps.map(({ percent, base, candidate }) => [percent, base, candidate]),
        steps.map((records, step) => [shares[step], ofArm(false, records).length, ofArm(true, records).length]),
      );
      for (const [arm, isCandidate] of [[stats.base, false], [stats.candidate, true]] as const) {
        const wanted = ofArm(isCandidate), thumbs = wanted.filter(({ thumb }) => thumb !== undefined);
        assert.is(arm.records, wanted.length);
        assert.is(arm.failures!.records, wanted.filter(({ status }) => status === 0).length);
        assert.is(arm.latency.records, wanted.filter(({ latency }) => latency !== undefined).length);
        assert.is(arm.feedback[0]?.pieces ?? 0, thumbs.length);
        if (thumbs.length > 0) {
          assert.is(
            arm.feedback[0]!.share,
            thumbs.filter(({ thumb }) => thumb).length / thumbs.length,
          );
        }
      }
      const starts = [...started.values()];
      const { base, candidate, expected } = stats.sampleRatio;
      assert.equal(
        [base, candidate],
        ["base", "candidate"].map((wanted) => starts.filter(({ arm }) => arm === wanted).length),
      );
      assert.ok(Math.abs(expected - starts.reduce((sum, { step }) => sum + shares[step]! / 100, 0)) < 1e-9);
      await verifyBalanced(world.admin);
    }),
    { numRuns: isFull ? 40 : 3 },
  );
});

/** Records of both arms: of each, a share fails, with latencies around some ms. */
const recordsOf = (rollout: string, arms: { records: number; failed: number; latency: number; tone?: string }[]) =>
  arms.flatMap(({ records, failed, latency }, arm) =>
    Array.from({ length: records }, (_, nth) => ({
      ...{ rollout, promptVersion: arm + 1, status: nth < failed ? 0 : 1, latency: latency + nth % 11 * 20 },
      ...{ sessionId: `${arm} ${nth}`, cost: 0.002 },
    }))
  );

test("a clear difference is said with its sequence, and no winner is named", async () => {
  const world = await createCandidate();
  const rollout = await roll(world, { version: 2, percent: 50 });
  await submitAll(
    world,
    recordsOf(rollout, [{ records: 400, failed: 20, latency: 800 }, { records: 400, failed: 80, latency: 800 }]),
  );
  const stats = await statsOf(world, rollout);
  const failures = find(stats, "failures"), latency = find(stats, "latency"), cost = find(stats, "cost");
  assert.is(failures.difference!.toFixed(4), "0.1500");
  assert.ok(failures.interval!.low > failures.sequence!.low && failures.sequence!.low > 0, JSON.stringify(failures));
  assert.match(
    failures.sentence,
    /^15 points, which is more than chance: [\d.]+ points to [\d.]+ points at 95 %, however often/,
  );
  assert.equal([latency.difference, latency.unit, cost.difference], [0, "ratio", 0]);
  assert.match(latency.sentence, /^No difference that these records can show: −[\d.]+ % to [\d.]+ % at 95 %$/);
  assert.is(stats.sentence, "The candidate differs from the base in failures 15 points");
  assert.is(
    stats.sampleRatio.sentence,
    "400 of 800 sessions began with the candidate; about 400 are expected at its share",
  );
  const { needed } = find(await statsOf(world, rollout, "?difference=0.5"), "failures");
  assert.ok(needed! > 20_000, `${needed}`);
});

test("callers that are not divided as the share says are found, and the sentence warns", async () => {
  const world = await createCandidate();
  const rollout = await roll(world, { version: 2, percent: 50 });
  await submitAll(
    world,
    recordsOf(rollout, [{ records: 200, failed: 0, latency: 1 }, { records: 100, failed: 0, latency: 1 }]),
  );
  const { sampleRatio, sentence } = await statsOf(world, rollout);
  assert.ok(sampleRatio.p < 0.001);
  assert.match(
    sampleRatio.sentence,
    /^100 of 300 sessions began with the candidate, but about 150 are expected at its share \(p = [\d.e−]+\)/,
  );
  assert.is(
    sentence,
    "No difference that these 300 records can show. The callers are not divided as the share says: see the sample ratio",
  );
});

/** Submits a record for each score of each arm. */
async function rate(world: World, rollout: string, arms: number[][]): Promise<void> {
  for (const [arm, values] of arms.entries()) {
    const bodies = values.map(() => ({ ...goodBody, rollout, promptVersion: arm + 1 }));
    const answers = await Promise.all(bodies.map((body) => world.submit(body)));
    const feedback = answers.map((answer, nth) => ({
      ...{ record: taken<{ id: string }>(answer, 201).id, name: "score", value: values[nth] },
    }));
    taken(await world.manage("POST", `/workspaces/${world.workspaceId}/feedback`, { feedback }));
  }
}

test("scores have an exact sequence from the first one on, while all of them are within the bounds that are declared", async () => {
  const world = await createCandidate();
  const rollout = await roll(world, { version: 2, percent: 50 });
  const declare = async (rule: object) =>
    taken(
      await world.manage("POST", `/workspaces/${world.workspaceId}/feedback-names`, {
        name: "score",
        kind: "number",
        ...rule,
      }),
    );
  const scoreOf = async () => find(await statsOf(world, rollout), "feedback", "score");
  await rate(world, rollout, [[4, 5], [3]]);
  assert.equal([(await scoreOf()).difference, (await scoreOf()).sequence], [null, null]);
  await declare({ minimum: 1 });
  assert.is((await scoreOf()).sequence, null);
  await declare({ minimum: 1, maximum: 5 });
  const { difference, interval, sequence, needed } = await scoreOf();
  assert.equal([difference, interval], [-1.5, null]);
  assert.ok(-4 <= sequence!.low && sequence!.low < -1.5 && 0 < sequence!.high && sequence!.high <= 4);
  assert.ok(needed! > 100, `${needed}`);
  await declare({ minimum: 3, maximum: 4 });
  assert.equal([(await scoreOf()).difference, (await scoreOf()).sequence], [null, null]);
});

test("records that are all alike have a difference without a sequence, and a sentence that claims nothing", async () => {
  const world = await createCandidate();
  const rollout = await roll(world, { version: 2, percent: 50 });
  await rate(world, rollout, [Array.from({ length: 40 }, () => 1), Array.from({ length: 40 }, () => 1)]);
  const { difference, sequence, sentence } = find(await statsOf(world, rollout), "feedback", "score");
  assert.equal([difference, sequence, sentence], [0, null, "0 so far. These records cannot tell it from chance"]);
});

test("a change of the guard alone is no step, so the 95th percentile keeps its records", async () => {
  const world = await createCandidate();
  const rollout = await roll(world, { version: 2, percent: 50 });
  world.now += 1000;
  await roll(world, { guard: "p95=+20%" });
  world.now += 1000;
  await roll(world, { percent: 60, guard: null });
  world.now += 1000;
  await roll(world, { guard: "p95=+30%" });
  assert.equal((await statsOf(world, rollout)).steps.map(({ percent }) => percent), [50, 60]);
});

test("without records there is nothing to say, and a rollout of another deployment is not found", async () => {
  const world = await createCandidate();
  const rollout = await roll(world, { version: 2, percent: 0.1 });
  const stats = await statsOf(world, rollout);
  assert.equal([stats.sentence, stats.sampleRatio.sentence], [
    "No record of this rollout yet",
    "No session has begun yet",
  ]);
  assert.ok(
    stats.differences.every(({ difference, sequence, sentence }) =>
      difference === null && sequence === null && sentence === "Too few records to compare"
    ),
  );
  const { id } = taken<{ id: string }>(
    await world.manage("POST", `/workspaces/${world.workspaceId}/deployments`, { name: "b", promptId: world.promptId }),
    201,
  );
  refused(
    await world.manage("GET", `/deployments/${id}/rollouts/${rollout}/stats`),
    404,
    `Rollout ${rollout} not found`,
  );
  refused(
    await world.manage("GET", `/deployments/${world.deployId}/rollouts/${rollout}/stats?difference=100`),
    400,
    "Field difference must be a number above 0 and below 100",
  );
});

test.run();
