// The queue of a group commit. Owners share its capacity fairly and are served round robin. Items that must not be in
// one group are parked behind the first of them, where they delay no other items.

/** Limits for one group, and for all waiting items. Sizes are in the unit of `sizeOf`. */
export type GroupLimits = {
  items: number;
  size: number;
  waitingItems: number;
  waitingSize: number;
  /** Time that an item may wait after its arrival, and its group may be retried. */
  timeoutMs: number;
};

export type Waiter = {
  size: number;
  /** On the clock of the group commit, in ms. */
  deadline: number;
  owner: string;
  /** Items with the same key are decided one after the other. */
  conflictKey: string | undefined;
};

const crowdedGroups = 16; // after one with several owners, whose next items arrive while others are decided
const leastItems = 32; // of a group while other owners wait

/** The items of one owner. `count` and `size` include parked items. */
type Queue<W> = { waiters: W[]; count: number; size: number };

export function createWaitingRoom<W extends Waiter>(limits: GroupLimits) {
  const queues = new Map<string, Queue<W>>();
  const ready: Queue<W>[] = []; // the queues with an item that is not parked, in round-robin order
  // By conflict key: first the item that is queued or being decided, then the parked ones.
  const chains = new Map<string | undefined, W[]>();
  let count = 0, size = 0;
  let crowded = 0; // number of groups in which no owner fills the room that others leave

  /**
   * Returns false if the owner already takes up as much as is free. One owner gets at most half of the room, and every
   * further owner leaves some for the next.
   */
  function enter(waiter: W): boolean {
    const queue = queues.get(waiter.owner) ?? { waiters: [], count: 0, size: 0 };
    const isLarge = count > 0 && queue.size + waiter.size > limits.waitingSize - size;
    if (isLarge || queue.count >= limits.waitingItems - count) return false;
    queues.set(waiter.owner, queue);
    adjust(queue, waiter, 1);
    const { conflictKey } = waiter;
    const chain = chains.get(conflictKey);
    if (chain !== undefined) chain.push(waiter);
    else {
      if (conflictKey !== undefined) chains.set(conflictKey, [waiter]);
      enqueue(queue, waiter);
    }
    return true;
  }

  function adjust(queue: Queue<W>, waiter: W, change: 1 | -1): void {
    queue.count += change;
    queue.size += change * waiter.size;
    count += change;
    size += change * waiter.size;
    if (queue.count === 0) queues.delete(waiter.owner);
  }

  function enqueue(queue: Queue<W>, waiter: W): void {
    if (queue.waiters.push(waiter) === 1) ready.push(queue);
  }

  /**
   * Takes the next group, an equal share of each owner first. While others wait, an owner does not fill a group, for
   * the whole of which they would wait: then `isCut` is true. `gone` are the items whose clients no longer wait.
   */
  function takeGroup(isGone: (waiter: W) => boolean): { group: W[]; gone: W[]; isCut: boolean } {
    const group: W[] = [], gone: W[] = [];
    crowded = ready.length > 1 ? crowdedGroups : crowded - 1;
    const others = count - Math.max(...ready.map((queue) => queue.count)); // all but those of the owner with most
    const most = crowded > 0 ? Math.min(limits.items, Math.max(leastItems, 2 * others)) : limits.items;
    const share = Math.max(1, Math.floor(most / ready.length));
    let total = 0, isFull = false;
    while (group.length < most && ready.length > 0 && !isFull) {
      const queue = ready.shift()!;
      const end = Math.min(most, group.length + share);
      let taken = 0;
      for (; taken < queue.waiters.length && group.length < end; taken++) {
        const waiter = queue.waiters[taken]!;
        if (isGone(waiter)) {
          gone.push(waiter);
          continue;
        }
        isFull = group.length > 0 && total + waiter.size > limits.size;
        if (isFull) break;
        total += waiter.size;
        group.push(waiter);
      }
      for (const waiter of queue.waiters.splice(0, taken)) adjust(queue, waiter, -1);
      if (queue.waiters.length > 0) isFull ? ready.unshift(queue) : ready.push(queue);
    }
    return { group, gone, isCut: most < limits.items && ready.length > 0 };
  }

  /** Takes out the items whose deadline has passed. */
  function takeOverdue(now: number): W[] {
    const overdue: W[] = [];
    const keep = (waiter: W) => waiter.deadline >= now || (overdue.push(waiter), false);
    for (const queue of [...ready]) {
      queue.waiters = queue.waiters.filter(keep);
      if (queue.waiters.length === 0) ready.splice(ready.indexOf(queue), 1);
    }
    // The first of a chain is in a queue or being decided, so it is not parked.
    for (const chain of chains.values()) chain.splice(1, Infinity, ...chain.slice(1).filter(keep));
    for (const waiter of overdue) adjust(queues.get(waiter.owner)!, waiter, -1);
    return overdue;
  }

  /** Must be called when an item that was taken out is decided or given up. Queues the next item parked behind it. */
  function leave(waiter: W): void {
    const chain = chains.get(waiter.conflictKey);
    if (chain?.[0] !== waiter) return;
    chain.shift();
    const [next] = chain;
    if (next === undefined) chains.delete(waiter.conflictKey);
    else enqueue(queues.get(next.owner)!, next);
  }

  return { enter, takeGroup, takeOverdue, leave, count: () => count, hasNext: () => ready.length > 0 };
}
