// Statistics of a rollout: those of each arm, and the differences of the arms, valid under repeated looks.
import type { DeploymentId, RolloutId } from "../../common/ids.ts";
import { notFound } from "../../common/errors.ts";
import { integer } from "../../database/row.ts";
import { compareArms } from "../../tallies/arm-differences.ts";
import type { ArmDifference, CompareOptions } from "../../tallies/arm-differences.ts";
import { countArms, tallyOf } from "../../tallies/arms.ts";
import type { CountedStep, Step } from "../../tallies/arms.ts";
import { createLabels } from "../../feedback/feedback-words.ts";
import type { Interval } from "../../statistics/intervals.ts";
import { sampleRatio } from "../../statistics/sample-ratio.ts";
import { toStats } from "../../tallies/summary.ts";
import { recordStats } from "../../schema/ledger.ts";
import { described, exactly, listOf, oneOf, option, orNull, predicate, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import { reportRead } from "../kernel/progress.ts";
import * as v from "../kernel/values.ts";
import { readFeedbackNames } from "../terms/feedback-names.ts";
import type { FeedbackNameRule } from "../terms/feedback-names.ts";
import { operation } from "../kernel/operation.ts";
import type { Store } from "../kernel/operation.ts";
import { scopeOfDeployment, toCount } from "./record-filter.ts";
import type { Scope } from "./record-filter.ts";
import { ofDeployment } from "../kernel/references.ts";
import { describeDifference, describeRatio, summarize } from "../terms/rollout-sentences.ts";
import { Rollout, rolloutTable } from "../terms/rollouts.ts";

const ends = (words: string) => orNull(exactly({ low: v.numeric, high: v.numeric }), words);

const Difference = exactly({
  measure: described(
    oneOf("failures", "latency", "p95", "tokens", "cost", "feedback"),
    "What is compared. Latency, tokens and cost by their geometric means, p95 by the latency that 5 % exceed",
  ),
  name: orNull(v.text, "The name of the feedback, or null"),
  label: orNull(v.text, "The label whose share is compared, or null"),
  unit: described(
    oneOf("points", "ratio", "value"),
    "`points`: the candidate's share minus the base's, 0.02 for two points. `ratio`: the candidate's divided by the " +
      "base's, minus 1, 0.2 for a fifth more. `value`: the candidate's mean minus the base's",
  ),
  difference: orNull(v.numeric, "Null while too few records tell it"),
  interval: ends("Its 95 % interval, which holds for one look at a time chosen beforehand. Null for p95"),
  sequence: ends(
    "Its confidence sequence: with 95 % it contains the difference at all times at once, however often someone looks. " +
      "Exact for shares, for p95, and for numeric feedback with a declared minimum and maximum; asymptotic for other " +
      "means. Null while too few values tell it, or if all of them are alike",
  ),
  needed: orNull(
    v.count,
    "About how many records more, of both arms, until half of such rollouts show the difference that was asked for",
  ),
  sentence: v.text,
});

const arm = exactly({ version: v.positive, ...recordStats });

export const RolloutStats = shape("RolloutStats", {
  rollout: Rollout,
  reference: described(v.text, "The deployment as NAME@DEPLOYMENT"),
  base: described(arm, "The records of callers that got the live version"),
  candidate: described(arm, "The records of callers that got the candidate"),
  steps: described(
    listOf(exactly({
      at: v.timestamp,
      percent: described(v.numeric, "The candidate's share of the callers from then on"),
      base: described(v.count, "Records of the base"),
      candidate: described(v.count, "Records of the candidate"),
    })),
    "The share over time, the oldest first. Differences are those within the steps, since the rest may have changed too",
  ),
  sampleRatio: described(
    exactly({
      base: described(v.count, "Sessions that began with the base"),
      candidate: described(v.count, "Sessions that began with the candidate"),
      expected: described(v.numeric, "How many of them are expected to begin with the candidate at its share"),
      p: described(
        v.numeric,
        "How unlikely the numbers are if the share holds. It stays valid however often someone looks",
      ),
      sentence: v.text,
    }),
    "Whether callers are divided as the share says. Of more than 100,000 sessions, a part is counted",
  ),
  differences: described(
    listOf(Difference),
    "Of feedback, the names with the most: at most 100 numbers, shares and labels together",
  ),
  sentence: described(v.text, "What these records show, for people. It names no winner"),
  isFeedbackLeftOut: described(
    v.boolean,
    "Whether feedback is left out, because there is feedback under too many names in all steps together",
  ),
});
export type RolloutStats = Infer<typeof RolloutStats>;

/** Explains `isFeedbackLeftOut` to people. */
export const feedbackNotCompared = "Feedback has too many names to compare it";

const wantedPercent = predicate<number>(
  "a number above 0 and below 100",
  (value) => typeof value === "number" && value > 0 && value < 100,
  { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 100 },
);

const [defaultPoints, defaultPercent] = [2, 10];

export const readRolloutStats = operation({
  id: "readRolloutStats",
  summary: "Show how the two versions of a rollout differ, in numbers that stay valid however often you look",
  method: "GET",
  path: "/deployments/{id}/rollouts/{rollout}/stats",
  conflicts: true,
  command: "stats rollout REF [--rollout ID] [--difference NUMBER]",
  input: {
    ...ofDeployment,
    rollout: v.rolloutId,
    difference: option(
      wantedPercent,
      "The difference to detect, to show how many records that takes: in points for shares, otherwise in percent. Default: " +
        `${defaultPoints} points, and ${defaultPercent} %`,
    ),
  },
  output: RolloutStats,
  isLong: true,
  async run(management, { id, rollout: rolloutId, difference }) {
    const scope = await scopeOfDeployment(management, id);
    const rollout = await requireRollout(management, id, rolloutId);
    const wanted = { points: (difference ?? defaultPoints) / 100, ratio: (difference ?? defaultPercent) / 100 };
    const report = reportRead(management);
    const { steps, differences, isCrowded } = await measureRollout(management, scope, rollout, { wanted }, report);
    const { statuses } = scope.workspace, labels = createLabels();
    const [base, candidate] = (["base", "candidate"] as const)
      .map((arm) => toStats(tallyOf(steps, arm), statuses, labels));
    await labels.read(management.database);
    const ratio = ratioOf(steps);
    return {
      rollout,
      reference: scope.deployments[0].reference,
      base: { version: rollout.baseVersion, ...base! },
      candidate: { version: rollout.version, ...candidate! },
      steps: steps.map(({ at, share, base, candidate }) => ({
        at,
        percent: Math.round(1000 * share) / 10,
        base: base.sums.records,
        candidate: candidate.sums.records,
      })),
      sampleRatio: { ...ratio, sentence: describeRatio(ratio) },
      differences: differences.map((found) => ({ ...found, sentence: describeDifference(found) })),
      sentence: summarize(base!.records + candidate!.records, differences, ratio),
      isFeedbackLeftOut: isCrowded,
    };
  },
});

export async function requireRollout(store: Store, deployId: DeploymentId, id: RolloutId): Promise<Rollout> {
  const rollout = await rolloutTable.find(store.database, id);
  if (rollout?.deployId !== deployId) throw notFound("Rollout", id);
  return rollout;
}

/** The shares of a rollout over time, from the audit log. */
async function readSteps({ database }: Store, { id, deployId, startedAt, percent }: Rollout): Promise<Step[]> {
  const rows = await database.read({
    sql: `select created_at, after ->> '$.rollout.percent' as percent from audit_log
      where target_id = :deployId and action in ('deployment.rollout_started', 'deployment.rollout_changed')
        and after ->> '$.rollout.id' = :id
      order by position`,
    args: { deployId, id },
  });
  const steps = rows.map((row) => ({ at: integer(row, "created_at"), share: integer(row, "percent") / 100 }))
    .filter(({ share }, nth, all) => share !== all[nth - 1]?.share); // the others changed the guard alone
  return steps.length === 0 ? [{ at: startedAt, share: percent / 100 }] : steps;
}

/** Counts the records of a rollout in each step, and compares the arms. */
export async function measureRollout(
  store: Store,
  scope: Scope,
  rollout: Rollout,
  { level = 0.05, wanted, names = "all" }:
    & Partial<Pick<CompareOptions, "level" | "wanted">>
    & { names?: readonly string[] | "all" },
  report?: (share: number) => void,
): Promise<{ steps: CountedStep[]; differences: ArmDifference[]; isCrowded: boolean }> {
  const input = { rollout: rollout.id, from: rollout.startedAt };
  const matching = await toCount(store, scope, input, names);
  const division = { candidate: rollout.version, steps: await readSteps(store, rollout) };
  const { steps, isCrowded } = await countArms(store.database, matching, division, report);
  const hasFailures = scope.workspace.statuses.some(({ isFailure }) => isFailure), labels = createLabels();
  const bounds = boundsOf(await readFeedbackNames(store, scope.workspace.id));
  const differences = compareArms(steps, { hasFailures, bounds, level, wanted }, labels);
  await labels.read(store.database);
  // A label may have been withdrawn meanwhile.
  return { steps, differences: differences.filter(({ label }) => label !== ""), isCrowded };
}

/** Bounds of the values of each name with two different ones. */
const boundsOf = (names: FeedbackNameRule[]): Map<string, Interval> =>
  new Map(
    names.flatMap(({ name, minimum, maximum }) =>
      minimum === null || maximum === null || minimum === maximum ? [] : [[name, { low: minimum, high: maximum }]]
    ),
  );

/** Arms in which sessions began, and the expected number. */
function ratioOf(steps: CountedStep[]): Omit<RolloutStats["sampleRatio"], "sentence"> {
  const counted = steps.map(({ sessions, share }) => ({ ...sessions, share }));
  const sum = (of: (step: typeof counted[number]) => number) => counted.reduce((all, step) => all + of(step), 0);
  return {
    base: sum(({ base }) => base),
    candidate: sum(({ candidate }) => candidate),
    expected: sum(({ base, candidate, share }) => (base + candidate) * share),
    p: sampleRatio(counted),
  };
}
