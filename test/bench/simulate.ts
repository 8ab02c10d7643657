// `npm run simulate`: how often rollouts of equal versions are called different, and how soon different ones are. Tables go to
// stdout, and progress to stderr.
import process from "node:process";
import { parseArgs } from "node:util";
import { atShare, simulateLatencies, simulatePercentiles, simulateScores, simulateShares } from "./rollouts.ts";
import type { Calls, Plan } from "./rollouts.ts";
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

type Simulation = { what: string; run(plan: Plan): Calls };

const percent = (share: number) => `${round(100 * share, 1)} %`;
const shares = (what: string, base: number, candidate: number): Simulation => ({
  what: `${what} ${percent(base)}${base === candidate ? "" : ` and ${percent(candidate)}`}`,
  run: (plan) => simulateShares(plan, [base, candidate]),
});
const latency = (ratio: number, timeouts = 0): Simulation => ({
  what: `latency${ratio === 1 ? "" : ` ${percent(ratio - 1)} longer`}${
    timeouts === 0 ? "" : `, ${percent(timeouts)} at 60 s`
  }`,
  run: (plan) => simulateLatencies(plan, { ratio, deviation: 0.8, timeouts }),
});

const portions = [0.5, 0.1];

/** A row for each simulation at each portion of the candidate. */
function simulate(
  simulations: Simulation[],
  plan: Omit<Plan, "share">,
  toRow: (calls: Calls, plan: Plan) => Row,
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
  ],
  { rollouts, records, seed },
  ({ sequence, plain }, { rollouts }) => ({
    "by the sequence": found(sequence, rollouts),
    "by the interval": found(plain, rollouts),
  }),
);

const fewer = Math.max(1, Math.round(rollouts / 10));
const power = simulate(
  [
    ...[[0.01, 0.02], [0.05, 0.1], [0.05, 0.075], [0.05, 0.06], [0.2, 0.24], [0.8, 0.7], [0.8, 0.75]].map((
      [base, other],
      index,
    ) => shares(index < 5 ? "failures" : "thumbs", base!, other!)),
    ...[1.5, 1.2, 1.1].map((ratio) => latency(ratio)),
  ],
  { rollouts: fewer, records: 5 * records, every: 10, seed },
  ({ sequence }, { rollouts, records }) => ({
    [`found in ${records} records`]: found(sequence, rollouts),
    // A rollout that is not found takes more records than any that is.
    "half found by": sequence.length < rollouts / 2 ? null : atShare(sequence, rollouts / 2 / sequence.length)!,
  }),
);

const guard = (what: string, base: number, candidate: number): Simulation => ({
  what,
  run: (plan) => simulateShares(plan, [base, candidate], true),
});
const guarded = [0.01, 0.05, 0.2].flatMap((base) => [
  ...guardOf([guard(`failures ${percent(base)}`, base, base)], true),
  ...guardOf([guard(`failures ${percent(base)} and ${percent(2 * base)}`, base, 2 * base)], false),
]);

const p95 = (ratio: number, limit: number): Simulation => ({
  what: `p95 ${ratio === 1 ? "" : `${percent(ratio - 1)} longer `}against +${percent(limit)}`,
  run: (plan) => simulatePercentiles({ ...plan, every: 250 }, { ratio, deviation: 0.8, limit: 1 + limit }),
});
const score = (base: number, candidate: number): Simulation => ({
  what: `score ${base}${base === candidate ? "" : ` and ${candidate}`}`,
  run: (plan) => simulateScores({ ...plan, every: 10 }, [base, candidate]),
});
// A thumb less is a failure more.
const others = [
  ...guardOf([guard("thumbs 80 %", 0.2, 0.2), score(0.8, 0.8)], true),
  // A look at a percentile takes a thousand times as long as one at a share.
  ...guardOf([p95(1, 0), p95(1.2, 0.2)], true, Math.ceil(rollouts / 4)),
  ...guardOf([
    ...[guard("thumbs 80 % and 70 %", 0.2, 0.3), guard("thumbs 80 % and 75 %", 0.2, 0.25)],
    ...[score(0.8, 0.75), score(0.8, 0.78), p95(1.5, 0.2), p95(2, 0.2)],
  ], false),
];

/** A guard at 99 %, for versions that are equal or at the limit, or for others, which are looked at for longer. */
function guardOf(simulations: Simulation[], isEqual: boolean, equal = rollouts): Row[] {
  const plan = isEqual ? { rollouts: equal, records } : { rollouts: fewer, records: 5 * records, every: 10 };
  return simulate(simulations, { ...plan, seed, level: 0.01 }, stopped);
}

function stopped({ sequence }: Calls, { rollouts, records }: Plan): Row {
  const at = (share: number) =>
    sequence.length < share * rollouts ? null : atShare(sequence, share * rollouts / sequence.length)!;
  return { within: records, stopped: found(sequence, rollouts), "half by": at(0.5), "95 % by": at(0.95) };
}

const tables: Table[] = [
  { title: `Equal versions called different, of ${rollouts} rollouts with ${records} records`, rows: equal },
  { title: `Different versions, of ${fewer} rollouts`, rows: power },
  { title: "A guard at 99 % against more failures", rows: guarded },
  { title: "A guard at 99 % against worse feedback, and a longer p95", rows: others },
];
console.log(values.json ? JSON.stringify(tables, null, 2) : tables.map(toMarkdown).join("\n\n"));
