// Where items wait for a group commit. Its room is shared out between owners, who take turns. Items that must not be in one
// group are parked behind the first of them, in nobody's way.

/** How much may be in a group, and how much may wait; sizes are in whatever `sizeOf` counts. */
export type GroupLimits = {
  items: number;
  size: number;
  waitingItems: number;
  waitingSize: number;
  /** How long an item may wait, and attempts at its group may be repeated, counted from its arrival, in ms. */
  patience: number;
};

export type Waiter = {
  size: number;
  /** By the clock of `performance`, in ms. */
  deadline: number;
  /** Whose item it is, who shares the room with others. */
  owner: string;
  /** Items of the same text are decided one after the other. */
  aloneBy: string | undefined;
};

/** Of one owner. `count` and `size` are those of all that wait, parked ones too. */
type Queue<W> = { waiters: W[]; count: number; size: number };

export function createWaitingRoom<W extends Waiter>(limits: GroupLimits) {
  const queues = new Map<string, Queue<W>>();
  const turns: Queue<W>[] = []; // those in which someone is not parked, in the order of their turns
  const sequences = new Map<string, W[]>(); // by `aloneBy`: first what is in line or being decided, then what is parked
  let count = 0, size = 0;

  /** Gives false where its owner has as much as is free: so one owner gets half of the room, and each more leaves some. */
  function enter(waiter: W): boolean {
    const queue = queues.get(waiter.owner) ?? { waiters: [], count: 0, size: 0 };
    const isLarge = count > 0 && queue.size + waiter.size > limits.waitingSize - size;
    if (isLarge || queue.count >= limits.waitingItems - count) return false;
    queues.set(waiter.owner, queue);
    add(queue, waiter, 1);
    const { aloneBy } = waiter;
    const sequence = aloneBy === undefined ? undefined : sequences.get(aloneBy);
    if (sequence !== undefined) sequence.push(waiter);
    else {
      if (aloneBy !== undefined) sequences.set(aloneBy, [waiter]);
      line(queue, waiter);
    }
    return true;
  }

  function add(queue: Queue<W>, waiter: W, change: 1 | -1): void {
    queue.count += change;
    queue.size += change * waiter.size;
    count += change;
    size += change * waiter.size;
    if (queue.count === 0) queues.delete(waiter.owner);
  }

  function line(queue: Queue<W>, waiter: W): void {
    if (queue.waiters.push(waiter) === 1) turns.push(queue);
  }

  /** The next group: of each owner in turn as many as fit. `gone` are those that need not be decided any more. */
  function takeGroup(isGone: (waiter: W) => boolean): { group: W[]; gone: W[] } {
    const group: W[] = [], gone: W[] = [];
    const share = Math.max(1, Math.floor(limits.items / turns.length));
    let total = 0, isFull = false;
    while (group.length < limits.items && turns.length > 0 && !isFull) {
      const queue = turns.shift()!;
      const end = Math.min(limits.items, group.length + share);
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
      for (const waiter of queue.waiters.splice(0, taken)) add(queue, waiter, -1);
      if (queue.waiters.length > 0) isFull ? turns.unshift(queue) : turns.push(queue);
    }
    return { group, gone };
  }

  /** Takes out whoever may not wait longer. */
  function takeOverdue(now: number): W[] {
    const overdue: W[] = [];
    const keep = (waiter: W) => waiter.deadline >= now || (overdue.push(waiter), false);
    for (const queue of [...turns]) {
      queue.waiters = queue.waiters.filter(keep);
      if (queue.waiters.length === 0) turns.splice(turns.indexOf(queue), 1);
    }
    // The first of a sequence was in a queue, or is being decided.
    for (const sequence of sequences.values()) sequence.splice(1, Infinity, ...sequence.slice(1).filter(keep));
    for (const waiter of overdue) add(queues.get(waiter.owner)!, waiter, -1);
    return overdue;
  }

  /** Must follow when an item that was taken out is decided or given up: the next one parked behind it comes into line. */
  function leave(waiter: W): void {
    const sequence = waiter.aloneBy === undefined ? undefined : sequences.get(waiter.aloneBy);
    if (sequence?.[0] !== waiter) return;
    sequence.shift();
    const [next] = sequence;
    if (next === undefined) sequences.delete(waiter.aloneBy!);
    else line(queues.get(next.owner)!, next);
  }

  return { enter, takeGroup, takeOverdue, leave, count: () => count, hasNext: () => turns.length > 0 };
}
