// Group commit: items that arrive while a group is under way wait and form the next, so that they share what a transaction
// costs. One group is under way at a time. What an item is and how a group is decided is handed in.
import { clientGone, overloaded } from "../errors.ts";
import { endOfTurn } from "./turns.ts";

export type Decider<Item, Result, Attempt> = {
  /** What all attempts at one group have in common; `isApart` for items that could not be decided together. */
  begin(isApart: boolean): Attempt;
  /**
   * Decides a group, all or nothing. Items without a result could not be decided together, and have had no effect; apart,
   * every item has one. Where the outcome of an attempt is unknown it is made again, with the same `attempt`, and must not
   * take effect twice.
   */
  decide(items: Item[], attempt: Attempt): Promise<Map<Item, Result>>;
  /**
   * Why an attempt rejected. `blocked`: it had no effect, and another may have; `unknown`: it may have had its effect, so
   * that only the same may be made again; `refused`: it had none, and one of the items is why; `unavailable`: it had none,
   * and no other will. Else it is given up.
   */
  failureOf(error: unknown): "blocked" | "unknown" | "refused" | "unavailable" | undefined;
  sizeOf(item: Item): number;
  /** Items that give the same text are not put in one group: the second begins the next. */
  aloneBy(item: Item): string | undefined;
  /** Whether nobody waits for the item's result any more: then it is not decided. */
  isGone(item: Item): boolean;
};

/** How much may be in a group, and how much may wait; sizes are in whatever `sizeOf` counts. */
export type GroupLimits = {
  items: number;
  size: number;
  waitingItems: number;
  waitingSize: number;
  /** How long an item may wait, and attempts at its group may be repeated, counted from its arrival, in ms. */
  patience: number;
};

type Waiter<Item, Result> = {
  item: Item;
  size: number;
  deadline: number;
  resolve(result: Result): void;
  reject(error: unknown): void;
};

const sweepInterval = 250; // ms between looks for overdue items
const longestPause = 500; // ms between two attempts

/** Gives a function that decides an item in a group with others, and one that tells how many wait for their result. */
export function groupCommit<Item, Result, Attempt>(
  decider: Decider<Item, Result, Attempt>,
  limits: GroupLimits,
): { submit(item: Item): Promise<Result>; countWaiting(): number } {
  type Group = Waiter<Item, Result>[];
  let waiting: Group = [];
  let waitingSize = 0;
  let underWay = 0;
  let isRunning = false;

  /** Rejects at once where too many wait. */
  function submit(item: Item): Promise<Result> {
    const size = decider.sizeOf(item);
    const isTooMuch = waiting.length > 0 && waitingSize + size > limits.waitingSize;
    if (isTooMuch || waiting.length >= limits.waitingItems) {
      return Promise.reject(overloaded());
    }
    return new Promise((resolve, reject) => {
      waiting.push({ item, size, deadline: performance.now() + limits.patience, resolve, reject });
      waitingSize += size;
      if (!isRunning) void run();
    });
  }

  async function run(): Promise<void> {
    isRunning = true;
    const sweeper = setInterval(rejectOverdue, sweepInterval);
    while (waiting.length > 0) {
      await untilNoneArrives();
      const group = takeGroup();
      underWay = group.length;
      if (group.length > 0) await settle(group, false);
      underWay = 0;
    }
    clearInterval(sweeper);
    isRunning = false;
  }

  /** What arrives in the same turn of the event loop joins; a turn that brings nothing more starts the group. */
  async function untilNoneArrives(): Promise<void> {
    for (let seen = 0; seen < waiting.length && seen < limits.items;) {
      seen = waiting.length;
      await endOfTurn();
    }
  }

  /** The next items in order of arrival, as many as fit. */
  function takeGroup(): Group {
    const group: Group = [];
    const alone = new Set<string>();
    let size = 0;
    let taken = 0;
    for (; taken < waiting.length && group.length < limits.items; taken++) {
      const waiter = waiting[taken]!;
      if (decider.isGone(waiter.item)) {
        waitingSize -= waiter.size;
        waiter.reject(clientGone());
        continue;
      }
      const reason = decider.aloneBy(waiter.item);
      const fits = group.length === 0 || size + waiter.size <= limits.size;
      if (!fits || reason !== undefined && alone.has(reason)) break;
      if (reason !== undefined) alone.add(reason);
      size += waiter.size;
      group.push(waiter);
    }
    waiting = waiting.slice(taken);
    waitingSize -= size;
    return group;
  }

  /** Repeats what may pass, and halves a group of which something cannot be decided, until that fails by itself. */
  async function settle(group: Group, isApart: boolean): Promise<void> {
    let attempt: Attempt | undefined;
    // Why the outcome of an attempt is unknown, if one's is. From then on the same one is made again or none.
    let unknown: { error: unknown } | undefined;
    for (let pause = 5;; pause = Math.min(2 * pause, longestPause)) {
      try {
        attempt ??= decider.begin(isApart);
        const results = await decider.decide(group.map(({ item }) => item), attempt);
        const undecided = group.filter(({ item }) => !results.has(item));
        for (const { item, resolve } of group) if (results.has(item)) resolve(results.get(item)!);
        return undecided.length === 0 ? undefined : await settle(undecided, true);
      } catch (error) {
        const failure = decider.failureOf(error);
        if (failure === "unknown") unknown ??= { error };
        if (failure === "refused" && unknown === undefined && group.length > 1) {
          return await settleInHalves(group, isApart);
        }
        const mayPass = failure === "blocked" || failure !== "unavailable" && unknown !== undefined;
        const { inTime, overdue } = mayPass ? splitByTime(group) : { inTime: [], overdue: group };
        for (const { reject } of overdue) reject(unknown === undefined ? error : unknown.error);
        if (inTime.length === 0) return;
        if (unknown === undefined) group = inTime;
        await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())));
      }
    }
  }

  async function settleInHalves(group: Group, isApart: boolean): Promise<void> {
    const half = group.length / 2;
    for (const part of [group.slice(0, half), group.slice(half)]) await settle(part, isApart);
  }

  /** An item that has waited for its whole time fails, and is never decided. */
  function rejectOverdue(): void {
    const { inTime, overdue } = splitByTime(waiting);
    if (overdue.length === 0) return;
    waiting = inTime;
    for (const { size, reject } of overdue) {
      waitingSize -= size;
      reject(new Error(`Not decided within ${limits.patience} ms`));
    }
  }

  return { submit, countWaiting: () => waiting.length + underWay };
}

/** Those that may wait longer and those that may not, at one moment: no one is in neither. */
function splitByTime<Item extends { deadline: number }>(items: Item[]): { inTime: Item[]; overdue: Item[] } {
  const now = performance.now();
  const inTime: Item[] = [];
  const overdue: Item[] = [];
  for (const item of items) (now > item.deadline ? overdue : inTime).push(item);
  return { inTime, overdue };
}
