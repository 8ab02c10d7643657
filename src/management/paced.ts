// Removals in small steps, beside which others are served.
import type { Removed, Step } from "../ledger/prune.ts";

/**
 * Repeats a step until nothing is left, and leaves as much time to others after each as it took. Gives whether nothing is left;
 * `isOver` ends it before.
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

/** Whether so many milliseconds have passed, for `paced`. */
export function after(ms: number): () => boolean {
  const deadline = performance.now() + ms;
  return () => performance.now() >= deadline;
}

const requestTime = 5_000; // ms that one request may take

/** Repeats a step for as long as a request may take. Gives how much was removed, and whether nothing is left. */
export async function removeForAWhile(
  step: Step,
  report: (removed: Removed) => void,
): Promise<Removed & { isDone: boolean }> {
  const sum = { calls: 0, records: 0 };
  const isDone = await paced(step, after(requestTime), ({ calls, records }) => {
    sum.calls += calls;
    sum.records += records;
    report(sum);
  });
  return { ...sum, isDone };
}
