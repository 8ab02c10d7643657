// Statistics of feedback: every number is compared with a recount in SQL, over histories with replacement, withdrawal, late
// arrival, deletion and retention.
// Runs on Node alone.
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import type { Comparison } from "../../src/management/records/compare.ts";
import type { Session } from "../../src/management/records/sessions.ts";
import type { Stats, WorkspaceStats } from "../../src/management/records/stats.ts";
import type { FeedbackStats } from "../../src/schema/feedback.ts";
import { createTenant, createWorld, goodBody, promptFile } from "../helpers.ts";
import type { World } from "../helpers.ts";
import { longest } from "../stored-feedback.ts";
import { readAll, taken, toQuery } from "./management.ts";

const test = suite("statistics of feedback");

const day = 86_400_000; // ms
const kinds: Record<string, FeedbackStats["kind"]> = {
  thumb: "boolean",
  score: "number",
  huge: "number",
  tone: "label",
  [longest.name(1)]: "label",
};
const values: Record<string, fc.Arbitrary<unknown>> = {
  thumb: fc.boolean(),
  score: fc.constantFrom(0, 0.1, 0.25, 1, -3),
  huge: fc.constantFrom(1e15 - 1, 1e15, 1e-15, -1e15),
  tone: fc.oneof(fc.constantFrom("kind", "curt"), fc.nat({ max: 14 }).map((n) => `tone "${n}", \u{1f600}`)),
  [longest.name(1)]: fc.oneof(fc.nat({ max: 12 }).map(longest.label), fc.constantFrom("1", "tone", "thumb")),
};
const piece = fc.constantFrom(...Object.keys(values)).chain((name) =>
  fc.record({ name: fc.constant(name), value: values[name]!, author: fc.constantFrom("", "ann", longest.author(1)) })
);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("records"), count: fc.integer({ min: 1, max: 12 }) }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("give"), at: fc.nat(), piece }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("withdraw"), at: fc.nat(), piece }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("early"), piece }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete"), at: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("promote") }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("wait") }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("prune") }) },
) as fc.Arbitrary<{ kind: string; count: number; at: number; piece: { name: string; author: string; value: unknown } }>;

type Told = { name: string; value: number | string; position: number; version: number; session: string; day: number };

/** All feedback of a workspace, by SQL. */
const tell = async ({ database, workspaceId }: World): Promise<Told[]> =>
  await database.read({
    sql: `select f.name, f.value, f.position, d.prompt_version as version, d.session_id as session,
        (select created_at / ${day} from commits where position <= f.position order by position desc limit 1) as day
      from feedback f join diagnoses d on d.position = f.position
      join deployments y on y.id = d.deployment_id and y.workspace_id = ?`,
    args: [workspaceId],
  }) as unknown as Told[];

const near = (a: number | null, b: number) => a !== null && Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b));

/** Compares statistics with what SQL tells. */
function check(stats: FeedbackStats[], told: Told[]): void {
  assert.equal(stats.map(({ name }) => name), [...new Set(told.map(({ name }) => name))].sort());
  for (const { name, kind, pieces, records, mean, share, low, high, labels, otherLabels } of stats) {
    const own = told.filter((each) => each.name === name), given = own.map(({ value }) => value);
    const distinct = new Set(own.map(({ position }) => position)).size;
    assert.equal({ kind, pieces, records }, { kind: kinds[name], pieces: own.length, records: distinct });
    if (kind === "label") {
      const counts = [...new Set(given)].map((label) => ({
        label,
        pieces: given.filter((each) => each === label).length,
      }))
        .sort((a, b) => b.pieces - a.pieces || (a.label < b.label ? -1 : 1));
      assert.equal(labels.map(({ label, pieces }) => ({ label, pieces })), counts.slice(0, 10));
      assert.ok(
        labels.every(({ share, low, high, pieces }) => share === pieces / own.length && low < share && share <= high),
      );
      assert.is(otherLabels, counts.slice(10).reduce((sum, { pieces }) => sum + pieces, 0));
      assert.equal([mean, share, low, high], [null, null, null, null]);
      continue;
    }
    assert.equal([labels, otherLabels], [[], 0]);
    const expected = (given as number[]).reduce((sum, value) => sum + value, 0) / given.length;
    if (kind === "boolean") {
      assert.is(mean, null);
      assert.ok(near(share, expected) && low! <= share! && share! <= high!);
      continue;
    }
    assert.is(share, null);
    // Sums of huge values that cancel each other out have few digits left.
    const largest = Math.max(...(given as number[]).map(Math.abs));
    assert.ok(
      near(mean, expected) || Math.abs(mean! - expected) < largest * 1e-14,
      JSON.stringify([name, mean, expected]),
    );
    if (own.length < 30) assert.equal([low, high], [null, null]);
    else assert.ok(low! <= mean! && mean! <= high!);
  }
}

test("over any history, statistics by version, deployment, session and day equal a recount in SQL", async () => {
  const histories = fc.sample(fc.array(step, { minLength: 40, maxLength: 90 }), {
    numRuns: isFull ? 12 : 2,
  });
  for (const history of histories) {
    const world = await createWorld({ monthlyLimit: 1e6 });
    const { workspaceId, deployId, promptId } = world;
    const other = await createTenant(world.admin, 1e6, "Other");
    taken(await world.manage("POST", `/prompts/${promptId}/versions`, { ...promptFile, title: "Other" }), 201);
    const ids: string[] = [];
    let version = 1, early = 0;
    const give = async (record: string, { name, value, author }: { name: string; value: unknown; author: string }) =>
      await world.manage("POST", `/workspaces/${workspaceId}/feedback`, {
        feedback: [{ record, name, value, author }],
      });
    for (const { kind, count, at, piece } of [{ kind: "records", count: 3, at: 0, piece: undefined! }, ...history]) {
      const id = ids[at % ids.length]!;
      if (kind === "records") {
        for (let nth = 0; nth < count; nth++) {
          const body = { ...goodBody, sessionId: `s${ids.length % 4}` };
          ids.push(taken<{ id: string }>(await world.submit(body), 201).id);
          const theirs = taken<{ id: string }>(await world.submit(goodBody, other.deployId, other.key), 201).id;
          await world.send(`/v1/diagnosis/${theirs}/feedback/thumb`, {
            method: "PUT",
            headers: { Authorization: `Bearer ${other.key}` },
            body: '{"value":"theirs"}',
          });
        }
      } else if (kind === "give") await give(id, piece);
      else if (kind === "withdraw") {
        const { name, author } = piece;
        await world.manage("DELETE", `/diagnoses/${id}/feedback${toQuery({ name, author })}`);
      } else if (kind === "early") {
        const key = `early ${early++}`;
        taken(await give(key, piece));
        const headers = { "Idempotency-Key": key };
        ids.push(taken<{ id: string }>(await world.submit(goodBody, deployId, world.key, headers), 201).id);
      } else if (kind === "delete") await world.manage("DELETE", `/diagnoses/${id}`);
      else if (kind === "promote") {
        version = 3 - version;
        taken(await world.manage("POST", `/deployments/${deployId}/promote`, { version }));
      } else if (kind === "wait") world.now += day + 1;
      else taken(await world.manage("POST", "/prune", { olderThanMs: 3 * day }));
    }
    const told = await tell(world);
    const stats = taken<Stats>(await world.manage("GET", `/deployments/${deployId}/stats?interval=day`));
    check(stats.all.feedback, told);
    for (const own of stats.versions) check(own.feedback, told.filter((each) => each.version === own.version));
    for (const own of stats.series) check(own.feedback, told.filter((each) => each.day === own.at / day));
    const splitAt = world.now - day;
    const whole = taken<WorkspaceStats>(
      await world.manage("GET", `/workspaces/${workspaceId}/stats${toQuery({ splitAt })}`),
    );
    check(whole.all.feedback, told);
    for (const own of whole.deployments) check(own.feedback, told);
    const [counts, parts] = [whole.all, whole.split!.before, whole.split!.after].map(({ feedback }) =>
      feedback.reduce((sum, { pieces }) => sum + pieces, 0)
    );
    assert.ok(counts! >= parts!);
    for (const session of await readAll<Session>(world, `/workspaces/${workspaceId}/sessions`)) {
      check(session.feedback, told.filter((each) => each.session === session.sessionId));
    }
    await world.close();
  }
});

/** A world with records of two versions, each with feedback. */
async function compare(values: [unknown, unknown][]): Promise<Comparison> {
  const world = await createWorld({ monthlyLimit: 1e6 });
  taken(await world.manage("POST", `/prompts/${world.promptId}/versions`, { ...promptFile, title: "Other" }), 201);
  const feedback: object[] = [];
  for (const pair of values) {
    for (const [nth, value] of pair.entries()) {
      const body = { ...goodBody, promptVersion: nth + 1 };
      const { id } = taken<{ id: string }>(await world.submit(body), 201);
      feedback.push({ record: id, name: "judged", value });
    }
  }
  taken(await world.manage("POST", `/workspaces/${world.workspaceId}/feedback`, { feedback }));
  const sides = { a: world.deployId, aVersion: 1, b: world.deployId, bVersion: 2 };
  return taken<Comparison>(await world.manage("GET", `/stats/compare${toQuery(sides)}`));
}

const closeTo = (found: number | null, expected: number) =>
  assert.ok(Math.abs(found! - expected) < 1e-6, `${found} for ${expected}`);

test("means and their difference have the intervals of another program", async () => {
  const numbers = Array.from({ length: 40 }, (_, n): [number, number] => [n * 37 % 101 / 100, n * 53 % 97 / 80]);
  const { a, differences } = await compare(numbers);
  const { mean, low, high, records } = a.feedback[0]!;
  assert.equal([records, differences.feedback.map(({ name }) => name)], [40, ["judged"]]);
  // t.interval(0.95, 39, loc=mean(x), scale=sem(x)) and ttest_ind(y, x, equal_var=False) of scipy.stats 1.17.1.
  closeTo(mean, 0.4985);
  closeTo(low, 0.402994937);
  closeTo(high, 0.594005063);
  closeTo(differences.feedback[0]!.difference, 0.052750000);
  closeTo(differences.feedback[0]!.low, -0.092639431);
  closeTo(differences.feedback[0]!.high, 0.198139431);
});

test("shares of true have Wilson intervals, and their difference that of Newcombe", async () => {
  const booleans = Array.from({ length: 40 }, (_, n): [boolean, boolean] => [n < 31, n < 20]);
  const { a, sentence, differences: { feedback: [difference] } } = await compare(booleans);
  const { share, low, high } = a.feedback[0]!;
  // binomtest(31, 40).proportion_ci(0.95, method="wilson") of scipy.stats 1.17.1.
  closeTo(share, 31 / 40);
  closeTo(low, 0.6249690326);
  closeTo(high, 0.8768390868);
  closeTo(difference!.difference, -11 / 40);
  assert.is(
    sentence,
    "version 2 is rated lower under judged (50.0 % true against 77.5 %, 95 % interval of the difference −45.5 to −6.4 points)",
  );
});

test("labels have shares, and no difference", async () => {
  const { a, differences } = await compare([["kind", "curt"], ["kind", "kind"], ["curt", "kind"]]);
  assert.equal(a.feedback[0]!.labels.map(({ label, pieces }) => [label, pieces]), [["kind", 2], ["curt", 1]]);
  assert.equal(differences.feedback, []);
});

test.run();
