// The requests that are being answered: how many, and when those of a moment are all done.

export type InFlight = {
  /** Counts a request in; gives what counts it out. */
  begin(): () => void;
  count(): number;
  isDraining(): boolean;
  isClosing(): boolean;
  /** From now on the service is about to stop. Resolves when every request that is in flight now has been answered. */
  drain(): Promise<void>;
  /** From now on new requests are to be refused. Resolves when all that came before have been answered. */
  close(): Promise<void>;
};

export function createInFlight(): InFlight {
  let total = 0;
  // Those that come after a wait has begun do not prolong it.
  let generation = { count: 0, end() {} };
  let drained: Promise<void> | undefined;
  let closed: Promise<void> | undefined;

  function untilAnswered(): Promise<void> {
    const before = generation;
    generation = { count: 0, end() {} };
    return new Promise((resolve) => {
      before.end = resolve;
      if (before.count === 0) resolve();
    });
  }

  const drain = () => drained ??= untilAnswered();

  return {
    begin() {
      const own = generation;
      own.count++;
      total++;
      return () => {
        own.count--;
        total--;
        if (own.count === 0) own.end();
      };
    },
    count: () => total,
    isDraining: () => drained !== undefined,
    isClosing: () => closed !== undefined,
    drain,
    close: () => closed ??= Promise.all([drain(), untilAnswered()]).then(() => {}),
  };
}
