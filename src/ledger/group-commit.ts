// Group commit: items that arrive while a group is being decided form the next one, and share the cost of a
// transaction. One group is decided at a time. The caller defines items and how a group is decided.
import { clientGone, overloaded, replyLost, waitedTooLong } from "../common/errors.ts";
import { endOfTick } from "../database/yielding.ts";
import { createWaitingRoom } from "./waiting-room.ts";
import type { GroupLimits, Waiter } from "./waiting-room.ts";

type Decider<Item, Result, Attempt> = {
  /** State shared by all attempts at one group. */
  begin(): Attempt;
  /**
   * Decides a group, all or nothing. After an indeterminate failure it is called again with the same `attempt`, and
   * must not take effect twice. Then an item may have no result: it had no effect, and the reason is lost.
   */
  decide(items: Item[], attempt: Attempt): Promise<Map<Item, Result>>;
  /**
   * Classifies the error of an attempt. The group fails on `unavailable` and on an error that has no class.
   * - `retryable`: the attempt had no effect, and another one may succeed.
   * - `indeterminate`: the attempt may have taken effect, so only the same attempt may be repeated.
   * - `rejected`: the attempt had no effect, because of one of the items.
   * - `unavailable`: the attempt had no effect, and another one would fail too.
   */
  failureOf(error: unknown): "retryable" | "indeterminate" | "rejected" | "unavailable" | undefined;
  sizeOf(item: Item): number;
  /** The item's owner. Owners share the waiting room fairly and are served round robin. */
  ownerOf(item: Item): string;
  /** Items with the same conflict key are never in one group: they are decided one after the other. */
  conflictKey(item: Item): string | undefined;
  /** True if the client no longer waits for the item's result. Such an item is dropped. */
  isGone(item: Item): boolean;
  /**
   * True if deciding the item writes nothing. A group of only such items can be decided while the database cannot
   * write.
   */
  isReadOnly(item: Item): boolean;
};

type Pending<Item, Result> = Waiter & {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
};

const sweepInterval = 250; // ms between checks for overdue items
const maxPauseMs = 500; // between two attempts
const slowMs = 3; // a decision that takes longer waits for a server or a slow disk
const maxWaitMs = 100; // for others, after a decision that took longer, as in an outage

/**
 * `submit` decides an item in a group with others. `countWaiting` counts the items without a result. `clock` is in ms.
 */
export function groupCommit<Item, Result, Attempt>(
  decider: Decider<Item, Result, Attempt>,
  limits: GroupLimits,
  clock = () => performance.now(),
): { submit(item: Item): Promise<Result>; countWaiting(): number } {
  type Group = Pending<Item, Result>[];
  const room = createWaitingRoom<Pending<Item, Result>>(limits);
  let underWay = 0;
  let isRunning = false;
  // The previous group: its size, how long it took to decide, at most `maxWaitMs`, and when it was decided.
  let lastSize = 0, tookMs = 0, endedAt = 0;

  /** Rejects at once if the waiting room is full. */
  function submit(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const waiter: Pending<Item, Result> = {
        item,
        size: decider.sizeOf(item),
        deadline: clock() + limits.timeoutMs,
        owner: decider.ownerOf(item),
        conflictKey: decider.conflictKey(item),
        resolve(result) {
          room.leave(waiter);
          resolve(result);
        },
        reject(error) {
          room.leave(waiter);
          reject(error);
        },
      };
      if (!room.enter(waiter)) reject(overloaded());
      else if (!isRunning) void run();
    });
  }

  async function run(): Promise<void> {
    isRunning = true;
    const sweeper = setInterval(rejectOverdue, sweepInterval);
    while (room.hasNext()) {
      await untilNoneArrives();
      await untilOthersFollow();
      const { group, gone, isCut } = room.takeGroup(isGone);
      underWay = group.length;
      for (const { reject } of gone) reject(clientGone());
      if (group.length > 0) {
        const began = clock();
        await settle(group);
        lastSize = group.length;
        endedAt = clock();
        tookMs = Math.min(endedAt - began, maxWaitMs);
        // Leaves others as much time as the group took. A request is read in several ticks, each of which would
        // otherwise wait for a group.
        while (isCut && clock() - endedAt < tookMs) await endOfTick();
      }
      underWay = 0;
    }
    clearInterval(sweeper);
    isRunning = false;
  }

  /** Calls the host's check. If it throws, the loop that decides all groups must go on. */
  function isGone({ item }: Pending<Item, Result>): boolean {
    try {
      return decider.isGone(item);
    } catch {
      return false;
    }
  }

  /** Items of the same tick of the event loop join the group. It starts after a tick without a new item. */
  async function untilNoneArrives(): Promise<void> {
    for (let seen = 0; seen < room.count() && seen < limits.items;) {
      seen = room.count();
      await endOfTick();
    }
  }

  /**
   * After a slow group, waits for as many items as it had. Most clients send again once they are answered, and those
   * slightly later than the first would otherwise wait for the group after this one. Stops when as much time has passed
   * since the slow group as it took, or when nothing has arrived for a quarter of that time.
   */
  async function untilOthersFollow(): Promise<void> {
    if (tookMs < slowMs) return;
    for (let idleMs = 0; idleMs < tookMs / 4 && room.count() < lastSize && clock() - endedAt < tookMs;) {
      const seen = room.count();
      await new Promise((resolve) => setTimeout(resolve, 1));
      idleMs = room.count() > seen ? 0 : idleMs + 1;
    }
  }

  /** Retries transient failures. Halves a rejected group until the item at fault fails alone. */
  async function settle(group: Group): Promise<void> {
    let attempt: Attempt | undefined;
    // The first indeterminate failure. From then on only the same attempt may be repeated.
    let indeterminate: { error: unknown } | undefined;
    for (let pause = 5;; pause = Math.min(2 * pause, maxPauseMs)) {
      try {
        attempt ??= decider.begin();
        const results = await decider.decide(group.map(({ item }) => item), attempt);
        for (const { item, resolve, reject } of group) {
          const result = results.get(item);
          if (result === undefined) reject(replyLost());
          else resolve(result);
        }
        return;
      } catch (error) {
        const failure = decider.failureOf(error);
        if (failure === "indeterminate") indeterminate ??= { error };
        if (failure === "rejected" && indeterminate === undefined && group.length > 1) {
          const half = group.length / 2;
          for (const part of [group.slice(0, half), group.slice(half)]) await settle(part);
          return;
        }
        const reads = group.filter(({ item }) => decider.isReadOnly(item));
        if (failure === undefined && indeterminate === undefined && reads.length > 0 && reads.length < group.length) {
          for (const { item, reject } of group) if (!decider.isReadOnly(item)) reject(error);
          return await settle(reads);
        }
        const canRetry = failure === "retryable" || failure !== "unavailable" && indeterminate !== undefined;
        const { inTime, overdue } = canRetry ? splitByTime(group, clock()) : { inTime: [], overdue: group };
        for (const { reject } of overdue) reject(indeterminate === undefined ? error : indeterminate.error);
        if (inTime.length === 0) return;
        if (indeterminate === undefined) group = inTime;
        await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())));
      }
    }
  }

  /** An item whose timeout has passed fails, and is never decided. */
  function rejectOverdue(): void {
    for (const { reject } of room.takeOverdue(clock())) reject(waitedTooLong(limits.timeoutMs));
  }

  return { submit, countWaiting: () => room.count() + underWay };
}

/** Splits by one reading of the time, which puts every item in exactly one list. */
function splitByTime<Item extends { deadline: number }>(
  items: Item[],
  now: number,
): { inTime: Item[]; overdue: Item[] } {
  const inTime: Item[] = [];
  const overdue: Item[] = [];
  for (const item of items) (now > item.deadline ? overdue : inTime).push(item);
  return { inTime, overdue };
}
