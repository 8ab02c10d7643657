// Tests whether the arms of a rollout have as many calls as its share implies, at any time.
import { logBeta, logPower } from "./log-beta.ts";

/** Number of units in each arm, while the candidate had a share from 0 to 1. */
export type RatioStep = { base: number; candidate: number; share: number };

const prior = 100; // the weight of the prior, in units: deviations of some 5 points of a half are expected

/**
 * The p-value of the sample ratio, valid under repeated looks: if calls follow the share, it is ever below p with a
 * probability of at most p. It is one over the Bayes factor of a Dirichlet mixture against the share (Lindon and Malek
 * 2022, "Anytime-valid inference for multinomial count data"), which is a test martingale. Steps multiply.
 */
export function sampleRatio(steps: RatioStep[]): number {
  let evidence = 0;
  for (const { base, candidate, share } of steps) {
    if (share >= 1 || share <= 0) continue; // nothing is drawn
    const [a, b] = [prior * (1 - share), prior * share];
    evidence += logBeta(a + base, b + candidate) - logBeta(a, b) - logPower(1 - share, base) -
      logPower(share, candidate);
  }
  return Math.min(1, Math.exp(-evidence));
}
