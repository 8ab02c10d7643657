// The ends of what clients can send as numbers, for the generators of records.
import fc from "fast-check";

const { MAX_SAFE_INTEGER, MAX_VALUE, MIN_VALUE } = Number;
const lastDate = 8.64e15; // ms: a Date holds no later one

/** By what the numbers mean. Costs are decimal texts too. */
export const extremes = {
  latency: [0, MIN_VALUE, 999.95, 1e12, 1e12 + 1, MAX_SAFE_INTEGER, 1e21, 1.7e308, MAX_VALUE],
  moment: [0, lastDate, lastDate + 1, MAX_SAFE_INTEGER],
  count: [0, 1e12, 1e12 + 1, MAX_SAFE_INTEGER, 2 ** 53],
  status: [MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER],
  cost: ["1e12", "1000000000000.000000000000000000000000000001", "1e-30", "1e99", 1e12, 1e21, MIN_VALUE, MAX_VALUE],
};

/** Mostly usual values, and now and then an extreme one. */
export const usually = <T>(usual: fc.Arbitrary<T>, ends: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 7, arbitrary: usual }, { weight: 1, arbitrary: fc.constantFrom(...ends) });
