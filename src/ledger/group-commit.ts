// Group commit: items that arrive while a group is under way wait and form the next, so that they share what a transaction
// costs. One group is under way at a time. What an item is and how a group is decided is handed in.
import { clientGone, overloaded, replyLost, waitedTooLong } from "../common/errors.ts";
import { endOfTurn } from "../database/yielding.ts";
import { createWaitingRoom } from "./waiting-room.ts";
import type { GroupLimits, Waiter } from "./waiting-room.ts";

export type Decider<Item, Result, Attempt> = {
  /** What all attempts at one group have in common. */
  begin(): Attempt;
  /**
   * Decides a group, all or nothing. Where the outcome of an attempt is unknown it is made again, with the same `attempt`,
   * and must not take effect twice. An item may then be without a result: it has had no effect, and why is not known.
   */
  decide(items: Item[], attempt: Attempt): Promise<Map<Item, Result>>;
  /**
   * Why an attempt rejected. `blocked`: it had no effect, and another may have; `unknown`: it may have had its effect, so
   * that only the same may be made again; `refused`: it had none, and one of the items is why; `unavailable`: it had none,
   * and no other will. Else it is given up.
   */
  failureOf(error: unknown): "blocked" | "unknown" | "refused" | "unavailable" | undefined;
  sizeOf(item: Item): number;
  /** Whose item it is: owners share out the room in which items wait, and take turns. */
  ownerOf(item: Item): string;
  /** Items that give the same text are decided one after the other, in groups with others. */
  aloneBy(item: Item): string | undefined;
  /** Whether nobody waits for the item's result any more: then it is not decided. */
  isGone(item: Item): boolean;
};

type Pending<Item, Result> = Waiter & {
  item: Item;
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
  type Group = Pending<Item, Result>[];
  const room = createWaitingRoom<Pending<Item, Result>>(limits);
  let underWay = 0;
  let isRunning = false;

  /** Rejects at once where too many wait. */
  function submit(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const waiter: Pending<Item, Result> = {
        item,
        size: decider.sizeOf(item),
        deadline: performance.now() + limits.patience,
        owner: decider.ownerOf(item),
        aloneBy: decider.aloneBy(item),
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
      const { group, gone } = room.takeGroup(({ item }) => decider.isGone(item));
      underWay = group.length;
      for (const { reject } of gone) reject(clientGone());
      if (group.length > 0) await settle(group);
      underWay = 0;
    }
    clearInterval(sweeper);
    isRunning = false;
  }

  /** What arrives in the same turn of the event loop joins; a turn that brings nothing more starts the group. */
  async function untilNoneArrives(): Promise<void> {
    for (let seen = 0; seen < room.count() && seen < limits.items;) {
      seen = room.count();
      await endOfTurn();
    }
  }

  /** Repeats what may pass, and halves a group of which something cannot be decided, until that fails by itself. */
  async function settle(group: Group): Promise<void> {
    let attempt: Attempt | undefined;
    // Why the outcome of an attempt is unknown, if one's is. From then on the same one is made again or none.
    let unknown: { error: unknown } | undefined;
    for (let pause = 5;; pause = Math.min(2 * pause, longestPause)) {
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
        if (failure === "unknown") unknown ??= { error };
        if (failure === "refused" && unknown === undefined && group.length > 1) {
          return await settleInHalves(group);
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

  async function settleInHalves(group: Group): Promise<void> {
    const half = group.length / 2;
    for (const part of [group.slice(0, half), group.slice(half)]) await settle(part);
  }

  /** An item that has waited for its whole time fails, and is never decided. */
  function rejectOverdue(): void {
    for (const { reject } of room.takeOverdue(performance.now())) reject(waitedTooLong(limits.patience));
  }

  return { submit, countWaiting: () => room.count() + underWay };
}

/** Those that may wait longer and those that may not, at one moment: no one is in neither. */
function splitByTime<Item extends { deadline: number }>(items: Item[]): { inTime: Item[]; overdue: Item[] } {
  const now = performance.now();
  const inTime: Item[] = [];
  const overdue: Item[] = [];
  for (const item of items) (now > item.deadline ? overdue : inTime).push(item);
  return { inTime, overdue };
}
