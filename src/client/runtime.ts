// Host functions of the client: clock, timers and environment. Tests pass virtual ones.

export type Runtime = {
  /** Unix milliseconds. */
  now(): number;
  /**
   * Calls a function after `ms`. Returns a function that cancels it. A timer that is not `held` lets the process end.
   */
  startTimer(call: () => void, ms: number, held: boolean): () => void;
  /** Reads an environment variable; undefined if not set. */
  env(name: string): string | undefined;
  /** True if timers outlive the request that started them. They do not on Workers. */
  hasTimers: boolean;
};

/** Globals of some runtimes. */
const host = globalThis as {
  process?: { env: Record<string, string | undefined> };
  navigator?: { userAgent?: string };
};

export const hostRuntime: Runtime = {
  now: () => Date.now(),
  startTimer(call, ms, held) {
    // Runtimes fire a timer of more than 2^31 - 1 ms immediately.
    const timer = setTimeout(call, Math.min(ms, 2e9)) as { unref?(): void };
    // In browsers, timers are numbers.
    if (!held) timer.unref?.();
    return () => clearTimeout(timer as number);
  },
  env(name) {
    try {
      return host.process?.env[name];
    } catch {
      // Deno may not permit reading it.
      return undefined;
    }
  },
  hasTimers: host.navigator?.userAgent !== "Cloudflare-Workers",
};

/** Makes a clock monotonic: one that is set back would delay every deadline. */
export const steady = (now: () => number, last = 0, ahead = 0) => (): number => {
  ahead = Math.max(ahead, last - now());
  return last = now() + ahead;
};

/** Settles like `promise`, or after `ms` like `late`. */
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
