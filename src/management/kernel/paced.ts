// Removes rows in small steps, between which other requests are served.
import { after } from "../../common/timeout.ts";
import type { Removed, Step } from "../../log/prune.ts";

/**
 * Repeats a step until nothing is left, or until `isOver`. After each step it pauses for as long as the step took.
 * Returns true if nothing is left.
 */
export async function paced(
  step: Step,
  isOver: () => boolean,
  onRemoved: (removed: Removed) => void | Promise<void>,
): Promise<boolean> {
  while (!isOver()) {
    const start = performance.now();
    const removed = await step();
    if (removed === undefined) return true;
    await onRemoved(removed);
    await new Promise((resolve) => setTimeout(resolve, performance.now() - start));
  }
  return false;
}

const maxTime = 5_000; // ms per request

/** Repeats a step for as long as a request may take. Returns the number of removed rows, and if nothing is left. */
export async function removeWithinTime(
  step: Step,
  report: (removed: Removed) => void,
): Promise<Removed & { isDone: boolean }> {
  const sum = { calls: 0, records: 0 };
  const isDone = await paced(step, after(maxTime), ({ calls, records }) => {
    sum.calls += calls;
    sum.records += records;
    report(sum);
  });
  return { ...sum, isDone };
}
