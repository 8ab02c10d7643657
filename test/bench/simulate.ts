// `npm run simulate`: how often rollouts of equal versions are called different, and how soon different ones are. Tables go to
// stdout, and progress to stderr.
import process from "node:process";
import { parseArgs } from "node:util";
import { latencies, logNormalLatency, scores, skewed, steppedLatency } from "./distributions.ts";
import type { Distribution, Draw } from "./distributions.ts";
import {
  atShare,
  rangeOfShares,
  simulateLooks,
  simulatePercentiles,
  simulateRatios,
  simulateShares,
  simulateValues,
} from "./rollouts.ts";
import type { Calls, Guard, Plan } from "./rollouts.ts";
import { round, toMarkdown } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

const { values } = parseArgs({
  options: {
    rollouts: { type: "string", default: "2000" },
    records: { type: "string", default: "10000" },
    seed: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
  },
});
const [rollouts, records, seed] = [values.rollouts, values.records, values.seed].map(Number) as [
  number,
  number,
  number,
];
if (![rollouts, records, seed].every((value) => Number.isSafeInteger(value) && value > 0)) {
  console.error("simulate: --rollouts, --records and --seed must be positive integers");
  process.exit(2);
}

type Simulation<Result> = { what: string; run(plan: Plan): Result };

const percent = (share: number) => `${round(100 * share, 1)} %`;
const shares = (what: string, base: number, candidate: number): Simulation<Calls> => ({
  what: `${what} ${percent(base)}${base === candidate ? "" : ` and ${percent(candidate)}`}`,
  run: (plan) => simulateShares(plan, [base, candidate]),
});
const latency = (ratio: number, timeouts = 0): Simulation<Calls> => ({
  what: `latency${ratio === 1 ? "" : ` ${percent(ratio - 1)} longer`}${
    timeouts === 0 ? "" : `, ${percent(timeouts)} at 60 s`
  }`,
  run: (plan) => simulateValues({ ...plan, isPlain: ratio === 1 }, latencies(ratio, timeouts)),
});

const portions = [0.5, 0.1], equalPortions = [...portions, 0.02];

/** A row for each simulation at each portion of the candidate. */
function simulate<Result>(
  simulations: Simulation<Result>[],
  portions: number[],
  plan: Omit<Plan, "share">,
  toRow: (result: Result, plan: Plan) => Row,
): Row[] {
  return simulations.flatMap(({ what, run }) =>
    portions.map((share) => {
      const startedAt = performance.now();
      const row = { records: what, candidate: percent(share), ...toRow(run({ ...plan, share }), { ...plan, share }) };
      console.error(`${what}, candidate at ${percent(share)}: ${round((performance.now() - startedAt) / 1000, 1)} s`);
      return row;
    })
  );
}

const found = (calls: number[], of: number) => percent(calls.length / of);
const equal = simulate(
  [
    ...[0.01, 0.05, 0.2].map((share) => shares("failures", share, share)),
    shares("thumbs", 0.8, 0.8),
    ...[latency(1), latency(1, 0.02)],
    ...[false, true].map((isDeclared): Simulation<Calls> => {
      const distribution = scores([0.8, 0.8], isDeclared);
      return { what: distribution.what, run: (plan) => simulateValues({ ...plan, isPlain: true }, distribution) };
    }),
  ],
  equalPortions,
  { rollouts, records, seed },
  ({ sequence, plain }, { rollouts }) => ({
    "by the sequence": found(sequence, rollouts),
    "by the interval": found(plain, rollouts),
  }),
);

/** Guards that allow no difference, in each direction. */
const guardsOf = ({ measure, name }: Distribution): Guard[] =>
  [95, 99].flatMap((certain) =>
    ["-", "+"].map((sign) => ({ guard: `${name ?? measure}=${sign}0${name === null ? "%" : ""}`, certain }))
  );

const ofSkewed = simulate(
  skewed.map((distribution) => ({
    what: distribution.what,
    run: (plan) => simulateValues(plan, distribution, guardsOf(distribution)),
  })),
  equalPortions,
  { rollouts, records, seed },
  ({ sequence, stopped }, { rollouts }) => {
    const [less, more, surelyLess, surelyMore] = stopped.map((calls) => found(calls, rollouts));
    return {
      "called different": found(sequence, rollouts),
      "stopped for less at 95 %": less!,
      "for more at 95 %": more!,
      "for less at 99 %": surelyLess!,
      "for more at 99 %": surelyMore!,
    };
  },
);

const arms: [base: number, candidate: number][] = [[30, 30], [270, 30], [1470, 30], [900, 100], [500, 500]];
const looksAt = (what: string, draw: Draw, rangeOf?: typeof rangeOfShares): Row => ({
  records: what,
  ...Object.fromEntries(arms.map((sizes) => [
    sizes.map((size) => size.toLocaleString("en-US")).join(" and "),
    percent(simulateLooks({ rollouts: 2 * rollouts, seed }, draw, sizes, rangeOf)),
  ])),
});
const looks = [
  ...[0.005, 0.05].map((share) =>
    looksAt(`failures ${percent(share)}`, (random) => Number(random() < share), rangeOfShares)
  ),
  ...[latencies(), scores([0.8, 0.8], false), ...skewed.filter(({ what }) => !what.includes("declared"))].map(
    ({ what, draw }) => looksAt(what, draw),
  ),
];

const fewer = Math.max(1, Math.round(rollouts / 10));
const power = simulate(
  [
    ...[[0.01, 0.02], [0.05, 0.1], [0.05, 0.075], [0.05, 0.06], [0.2, 0.24], [0.8, 0.7], [0.8, 0.75]].map((
      [base, other],
      index,
    ) => shares(index < 5 ? "failures" : "thumbs", base!, other!)),
    ...[1.5, 1.2, 1.1].map((ratio) => latency(ratio)),
  ],
  portions,
  { rollouts: fewer, records: 5 * records, every: 10, seed },
  ({ sequence }, { rollouts, records }) => ({
    [`found in ${records} records`]: found(sequence, rollouts),
    // A rollout that is not found takes more records than any that is.
    "half found by": sequence.length < rollouts / 2 ? null : atShare(sequence, rollouts / 2 / sequence.length)!,
  }),
);

const guard = (what: string, base: number, candidate: number): Simulation<number[]> => ({
  what,
  run: (plan) => simulateShares(plan, [base, candidate], true).sequence,
});
const guarded = [0.01, 0.05, 0.2].flatMap((base) => [
  ...guardOf([guard(`failures ${percent(base)}`, base, base)], true),
  ...guardOf([guard(`failures ${percent(base)} and ${percent(2 * base)}`, base, 2 * base)], false),
]);

const p95 = (what: string, draw: Draw, limit: number): Simulation<number[]> => ({
  what: `p95${what} against +${percent(limit)}`,
  run: (plan) => simulatePercentiles({ ...plan, every: 250 }, draw, { guard: `p95=+${100 * limit}%`, certain: 99 }),
});
const runGuard = (plan: Plan, distribution: Distribution, guard: string): number[] =>
  simulateValues({ ...plan, level: 0.01 }, distribution, [{ guard, certain: 99 }]).stopped[0]!;
function score(means: [base: number, candidate: number], isDeclared: boolean): Simulation<number[]> {
  const distribution = scores(means, isDeclared);
  return { what: distribution.what, run: (plan) => runGuard({ ...plan, every: 10 }, distribution, "score=-0") };
}
const ofScores = [false, true].map((isDeclared) => ({
  equal: score([0.8, 0.8], isDeclared),
  others: [score([0.8, 0.75], isDeclared), score([0.8, 0.78], isDeclared)],
}));

// A thumb less is a failure more.
const others = [
  ...guardOf([guard("thumbs 80 %", 0.2, 0.2), ...ofScores.map(({ equal }) => equal)], true),
  // Each of these looks is worked out.
  ...guardOf(
    [
      {
        what: "latency 20 % longer against +20 %",
        run: (plan) => runGuard({ ...plan, every: 50 }, latencies(1.2), "latency=+20%"),
      },
      ...[p95("", logNormalLatency(1), 0), p95(" 20 % longer", logNormalLatency(1.2), 0.2)],
      ...[p95(" of 100, 200 or 300 ms", steppedLatency(1), 0), p95(" of these 10 % longer", steppedLatency(1.1), 0.1)],
    ],
    true,
    Math.ceil(rollouts / 4),
  ),
  ...guardOf([
    ...[guard("thumbs 80 % and 70 %", 0.2, 0.3), guard("thumbs 80 % and 75 %", 0.2, 0.25)],
    ...ofScores.flatMap(({ others }) => others),
    ...[p95(" 50 % longer", logNormalLatency(1.5), 0.2), p95(" twice as long", logNormalLatency(2), 0.2)],
  ], false),
];

/** A guard at 99 %, for versions that are equal or at the limit, or for others, which are looked at for longer. */
function guardOf(simulations: Simulation<number[]>[], isEqual: boolean, equal = rollouts): Row[] {
  const plan = isEqual ? { rollouts: equal, records } : { rollouts: fewer, records: 5 * records, every: 10 };
  return simulate(simulations, portions, { ...plan, seed, level: 0.01 }, toStopped);
}

function toStopped(calls: number[], { rollouts, records }: Plan): Row {
  const at = (share: number) =>
    calls.length < share * rollouts ? null : atShare(calls, share * rollouts / calls.length)!;
  return { within: records, stopped: found(calls, rollouts), "half by": at(0.5), "95 % by": at(0.95) };
}

const ratios = simulate(
  [0, 0.02].map((off) => ({
    what: off === 0 ? "sessions as the share says" : "sessions 2 points off",
    run: (plan) => simulateRatios({ ...plan, level: 0.01 }, plan.share + off),
  })),
  equalPortions,
  { rollouts, records, seed },
  (calls, { rollouts }) => ({ "p below 0.01": found(calls, rollouts) }),
);

const tables: Table[] = [
  { title: `Equal versions called different, of ${rollouts} rollouts with ${records} records`, rows: equal },
  { title: `Equal versions with skewed values, of ${rollouts} rollouts with ${records} records`, rows: ofSkewed },
  { title: `Equal versions called different by plain intervals, in one look at two arms`, rows: looks },
  { title: `Different versions, of ${fewer} rollouts`, rows: power },
  { title: "A guard at 99 % against more failures", rows: guarded },
  { title: "A guard at 99 % against worse feedback, and against longer latencies", rows: others },
  { title: `Sample ratios, of ${rollouts} rollouts`, rows: ratios },
];
console.log(values.json ? JSON.stringify(tables, null, 2) : tables.map(toMarkdown).join("\n\n"));
