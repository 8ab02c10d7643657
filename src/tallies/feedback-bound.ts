// Bounds what is counted of feedback, whatever the number of names, labels, versions, sessions and parts of the time.
import { keepLabels, weightOf } from "./feedback-tally.ts";
import type { FeedbackTallies } from "./feedback-tally.ts";

// With more, rare labels are dropped: some 5 MB. To add up more would hold up requests.
const maxDetailed = 75_000;
const maxWeight = 150_000;
const leastLabels = 15; // of a name, which are kept whatever there is

/** Bounds the tallies that `list` lists. */
export function createFeedbackBound(list: () => FeedbackTallies[]) {
  let weight = 0, most = maxDetailed;
  const bound = {
    weight: () => weight,
    /** Weighs all tallies, after some were removed. */
    recount(): void {
      weight = list().reduce((sum, tallies) => sum + weightOf(tallies), 0);
    },
    /** Notes a weight that was added. Returns false if there are too many names, even without their rare labels. */
    add(added: number): boolean {
      if ((weight += added) <= most) return true;
      const all = list(), names = all.reduce((sum, tallies) => sum + tallies.size, 0);
      for (const tallies of all) keepLabels(tallies, Math.max(leastLabels, Math.floor(maxDetailed / 4 / names)));
      bound.recount();
      // Not again for each piece that follows.
      most = Math.max(maxDetailed, 1.25 * weight);
      return weight <= maxWeight;
    },
  };
  return bound;
}
