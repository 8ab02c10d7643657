// A capacity that owners share fairly, like the waiting room of the ledger.

export type Shares = {
  /**
   * Takes an amount for an owner. Returns false if the owner would then have more than was free. So one owner gets
   * about half of the capacity, and every further owner leaves some for the next. If nothing is taken but `held`, to
   * which the amount is added, any amount is allowed.
   */
  take(owner: string, amount: number, held?: number): boolean;
  giveBack(owner: string, amount: number): void;
  /** Amount that all owners have taken. */
  used(): number;
};

export function createShares(capacity: number): Shares {
  const shares = new Map<string, number>();
  let used = 0;

  function add(owner: string, amount: number): void {
    used += amount;
    const share = (shares.get(owner) ?? 0) + amount;
    if (share > 0) shares.set(owner, share);
    else shares.delete(owner);
  }

  return {
    take(owner, amount, held = 0) {
      if (used > held && (shares.get(owner) ?? 0) + amount > capacity - used) return false;
      add(owner, amount);
      return true;
    },
    giveBack: (owner, amount) => add(owner, -amount),
    used: () => used,
  };
}
