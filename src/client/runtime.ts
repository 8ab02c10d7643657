// What the client takes from where it runs: the clock, timers and the environment. Tests hand in a virtual one.

export type Runtime = {
  /** Unix milliseconds. */
  now(): number;
  /** Calls a function after so many ms, and returns one that cancels that. A timer that is not `held` lets the process end. */
  startTimer(call: () => void, ms: number, held: boolean): () => void;
  /** A variable of the environment, if there is one. */
  env(name: string): string | undefined;
  /** Whether timers outlive the request in which they were started. They do not on Workers. */
  hasTimers: boolean;
};

/** What some runtimes have. */
const host = globalThis as {
  process?: { env: Record<string, string | undefined> };
  navigator?: { userAgent?: string };
};

export const hostRuntime: Runtime = {
  now: () => Date.now(),
  startTimer(call, ms, held) {
    // Runtimes fire a timer of more than 2^31 - 1 ms at once.
    const timer = setTimeout(call, Math.min(ms, 2e9)) as { unref?(): void };
    // Timers of browsers are numbers.
    if (!held) timer.unref?.();
    return () => clearTimeout(timer as number);
  },
  env(name) {
    try {
      return host.process?.env[name];
    } catch {
      // Deno may not be allowed to read it.
      return undefined;
    }
  },
  hasTimers: host.navigator?.userAgent !== "Cloudflare-Workers",
};

/** A clock that goes on where another one is set back: nothing waits for a moment that has been. */
export const steady = (now: () => number, last = 0, ahead = 0) => (): number => {
  ahead = Math.max(ahead, last - now());
  return last = now() + ahead;
};

/** Settles as a promise does, or after `ms` with what `late` gives or throws. */
export const within = <T, L = undefined>(
  { startTimer }: Runtime,
  ms: number,
  promise: Promise<T>,
  late?: () => L | Promise<L>,
): Promise<T | L> => {
  let cancel!: () => void;
  const timeout = new Promise<void>((resolve) => cancel = startTimer(resolve, ms, true));
  return Promise.race([promise, timeout.then(late) as Promise<L>]).finally(cancel);
};
