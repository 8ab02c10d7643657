// The requests that are being answered: how many, and when those of a moment are all done.

export type InFlight = {
  /** Counts a request in; gives what counts it out. */
  begin(): () => void;
  count(): number;
  isDraining(): boolean;
  isClosed(): boolean;
  /** From now on the service is about to stop. Resolves when every request that is in flight now has been answered. */
  drain(): Promise<void>;
  /** From now on every request is refused. Resolves when all that are in flight have been answered. */
  close(): Promise<void>;
};

type Generation = { count: number; isLast: boolean; ended: Promise<void>; end(): void };

export function createInFlight(): InFlight {
  // Those that come after a drain has begun do not keep it waiting, and those after a close not that.
  const generations: Generation[] = [createGeneration()];
  const state = { isDraining: false, isClosed: false };

  function endGeneration(): Promise<void> {
    const last = generations.at(-1)!;
    last.isLast = false;
    generations.push(createGeneration());
    if (last.count === 0) last.end();
    return last.ended;
  }

  let drained: Promise<void> | undefined;
  function drain(): Promise<void> {
    state.isDraining = true;
    return drained ??= endGeneration();
  }

  let closed: Promise<void> | undefined;
  return {
    begin() {
      const own = generations.at(-1)!;
      own.count++;
      return () => {
        own.count--;
        if (own.count === 0 && !own.isLast) own.end();
      };
    },
    count: () => generations.reduce((sum, { count }) => sum + count, 0),
    isDraining: () => state.isDraining,
    isClosed: () => state.isClosed,
    drain,
    close() {
      state.isClosed = true;
      return closed ??= Promise.all([drain(), endGeneration()]).then(() => {});
    },
  };
}

function createGeneration(): Generation {
  let end = () => {};
  const ended = new Promise<void>((resolve) => end = resolve);
  return { count: 0, isLast: true, ended, end };
}
