// Comparisons of the arms of a rollout, whatever was counted of them.
// Runs on Node alone.
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import fc from "fast-check";
import type { KeyId } from "../../src/common/ids.ts";
import { compareArms } from "../../src/tallies/arm-differences.ts";
import type { CountedStep } from "../../src/tallies/arms.ts";
import { noFeedback } from "../../src/feedback/feedback-scan.ts";
import type { RecordFeedback } from "../../src/feedback/feedback-scan.ts";
import { addFeedback, addFeedbackTallies, feedbackMoments } from "../../src/tallies/feedback-tally.ts";
import type { FeedbackTallies } from "../../src/tallies/feedback-tally.ts";
import { createLabels } from "../../src/feedback/feedback-words.ts";
import { noVoices } from "../../src/feedback/feedback-voices.ts";
import { addRecord, emptyTally } from "../../src/tallies/tally.ts";

const test = suite("comparisons of arms");

/** Scores of a record, each of a number of authors. */
const scoresOf = (values: number[], pieces = values.map(() => 1)): RecordFeedback => ({
  lists: { names: new Map([[1, { name: "score", kind: "number" }]]), nameIds: values.map(() => 1), values, pieces },
  ...{ begin: 0, end: values.length },
});

type Counted = { latency: number | null; tokens: number | null; cost: number | null; score: number | null };

function tallyOf(records: Counted[]) {
  const tally = emptyTally();
  for (const [position, { latency, tokens, cost, score }] of records.entries()) {
    addRecord(tally, undefined, {
      ...{ deployment: 0, position, version: 1, status: position % 7, isFailure: position % 7 === 0, latency },
      ...{ input: tokens, output: null, cached: 0, written: 0, writtenHour: 0, media: 0 },
      ...{ createdAt: position, model: "", session: "", keyId: "" as KeyId, costSource: "prices" },
      cost: cost === null ? undefined : { units: cost, exponent: -12 },
      feedback: score === null ? noFeedback : scoresOf([score]),
      voices: noVoices,
    });
  }
  return tally;
}

const toStep = (share: number, base: Counted[], candidate: Counted[]): CountedStep => ({
  ...{ at: 0, share, base: tallyOf(base), candidate: tallyOf(candidate) },
  sessions: { base: base.length, candidate: candidate.length },
});

const numbers = (...values: number[]) => fc.option(fc.constantFrom(...values));
const record: fc.Arbitrary<Counted> = fc.record({
  latency: numbers(0, 0.1, 800, 1e12, 1e308),
  tokens: numbers(0, 1, 300, 1e12),
  cost: numbers(0, 1, 2e9, Number.MAX_SAFE_INTEGER),
  score: numbers(0, 1e-15, 0.5, 1, -1e15, 1e15),
});
/** From none to many records, of which many may be alike. */
const arm = fc.array(fc.tuple(record, fc.constantFrom(1, 2, 29, 30, 200)), { maxLength: 4 })
  .map((each) => each.flatMap(([one, times]) => Array.from({ length: times }, () => one)));
const steps = fc.array(fc.tuple(fc.constantFrom(0.001, 0.02, 0.5, 0.98, 1), arm, arm), { minLength: 1, maxLength: 3 });

test("whatever was counted, figures are numbers, and the difference of one step is in its interval and its sequence", () => {
  fc.assert(
    fc.property(steps, fc.constantFrom(0.5, 0.05, 1e-5), fc.boolean(), (counted, level, isBounded) => {
      const bounds = new Map(isBounded ? [["score", { low: -1e15, high: 1e15 }]] : []);
      const differences = compareArms(counted.map((each) => toStep(...each)), {
        ...{ hasFailures: true, level, bounds },
        wanted: { points: 0.02, ratio: 0.1 },
      }, createLabels());
      for (const { measure, difference, interval, sequence, needed } of differences) {
        const all = [difference, needed, ...[interval, sequence].flatMap((range) => [range?.low, range?.high])];
        assert.ok(
          all.every((value) => value === null || value === undefined || Number.isFinite(value)),
          `${measure} ${all}`,
        );
        for (const range of [interval, sequence]) {
          if (range === null || counted.length > 1) continue;
          const margin = 1e-6 * Math.max(1e-3, Math.abs(difference!));
          assert.ok(range.low <= difference! + margin && difference! - margin <= range.high, `${measure} ${all}`);
        }
      }
    }),
    { numRuns: isFull ? 3_000 : 200 },
  );
});

test("feedback that is counted in parts has the moments of all of it", () => {
  const value = fc.oneof(fc.double({ min: -5, max: 5, noNaN: true }), fc.constantFrom(1, 5));
  const piece = fc.tuple(value, fc.constantFrom(1, 1, 2, 20));
  fc.assert(
    fc.property(fc.array(fc.array(piece, { maxLength: 30 }), { minLength: 1, maxLength: 6 }), (parts) => {
      const all = parts.flat().flatMap(([score, times]) => Array.from({ length: times }, () => score));
      const tallies: FeedbackTallies = new Map();
      for (const part of parts) {
        const own: FeedbackTallies = new Map();
        for (const [score, times] of part) addFeedback(own, scoresOf([score], [times]));
        addFeedbackTallies(tallies, own);
      }
      const tally = tallies.get("score");
      if (tally === undefined) return assert.equal(all, []);
      const mean = all.reduce((sum, score) => sum + score, 0) / all.length;
      const power = (exponent: number) => all.reduce((sum, score) => sum + (score - mean) ** exponent, 0);
      const found = feedbackMoments(tally);
      const pairs = [
        [found.mean, mean],
        [found.variance, all.length < 2 ? 0 : power(2) / (all.length - 1)],
        [found.third, power(3) / all.length],
      ] as const;
      for (const [one, other] of pairs) {
        assert.ok(Math.abs(one - other) < 1e-9 * Math.max(1, Math.abs(other)), `${pairs}`);
      }
      assert.equal([found.count, tally.least, tally.most], [all.length, Math.min(...all), Math.max(...all)]);
    }),
    { numRuns: isFull ? 3_000 : 200 },
  );
});

test.run();
