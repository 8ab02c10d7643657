// Long work in small steps, beside which others are served.

/**
 * Repeats a step until it says that nothing is left, and leaves as much time to others after each as it took. Gives whether
 * nothing is left; `isOver` ends it before.
 */
export async function paced(step: () => Promise<boolean>, isOver: () => boolean): Promise<boolean> {
  while (!isOver()) {
    const start = performance.now();
    if (!await step()) return true;
    await new Promise((resolve) => setTimeout(resolve, performance.now() - start));
  }
  return false;
}

/** Whether so many milliseconds have passed, for `paced`. */
export function after(ms: number): () => boolean {
  const deadline = performance.now() + ms;
  return () => performance.now() >= deadline;
}
