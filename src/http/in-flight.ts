// The requests that are being answered: how many, and when those of a moment are all done.

export type InFlight = {
  /** Counts a request in; gives what counts it out. */
  begin(): () => void;
  count(): number;
  isDraining(): boolean;
  /** From now on the service is about to stop. Resolves when every request that is in flight now has been answered. */
  drain(): Promise<void>;
};

export function createInFlight(): InFlight {
  // Those that come after a drain has begun do not keep it waiting.
  let generation = { count: 0, end() {} };
  const before = generation;
  let drained: Promise<void> = Promise.resolve();

  return {
    begin() {
      const own = generation;
      own.count++;
      return () => {
        own.count--;
        if (own.count === 0) own.end();
      };
    },
    count: () => before === generation ? generation.count : before.count + generation.count,
    isDraining: () => before !== generation,
    drain() {
      if (before === generation) {
        generation = { count: 0, end() {} };
        drained = new Promise((resolve) => before.end = resolve);
        if (before.count === 0) before.end();
      }
      return drained;
    },
  };
}
