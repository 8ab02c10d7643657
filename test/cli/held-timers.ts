// Timers that run when a test says so.

/**
 * Holds back the timers of so many ms, by which they are known: they run when `runAll` says so, unless they are cleared.
 * `onStart` is called with each, and `count` gives those that are neither over nor cleared.
 */
export function holdTimers(ms: number, onStart: () => void) {
  const { setTimeout, clearTimeout } = globalThis;
  const held = new Map<unknown, () => void>();
  Object.assign(globalThis, {
    setTimeout(run: () => void, after: number, ...more: unknown[]) {
      if (after !== ms) return setTimeout(run, after, ...more);
      const timer = {};
      held.set(timer, run);
      onStart();
      return timer;
    },
    clearTimeout(timer: Parameters<typeof clearTimeout>[0]) {
      if (!held.delete(timer)) clearTimeout(timer);
    },
  });
  return {
    count: () => held.size,
    runAll: () => held.forEach((run) => run()),
    restore: () => void Object.assign(globalThis, { setTimeout, clearTimeout }),
  };
}
