// Limits how much each owner may do in a minute.
import type { Clock } from "../common/domain.ts";

const minute = 60_000; // ms
const maxOwners = 10_000;

export type Rate = {
  /** Takes an amount for an owner. Returns false, and takes nothing, if less than that is left. */
  take(owner: string, amount: number): boolean;
};

/** An owner may take `perMinute` at once, which refills evenly over a minute. */
export function createRate(perMinute: number, clock: Clock): Rate {
  const owners = new Map<string, { left: number; at: number }>();

  return {
    take(owner, amount) {
      const now = clock();
      const { left, at } = owners.get(owner) ?? { left: perMinute, at: now };
      // Clocks may step back.
      const refilled = Math.min(perMinute, left + Math.max(0, now - at) / minute * perMinute);
      const isEnough = amount <= refilled;
      owners.delete(owner);
      owners.set(owner, { left: isEnough ? refilled - amount : refilled, at: now });
      // The owner that was idle for the longest time has the most left.
      if (owners.size > maxOwners) owners.delete(owners.keys().next().value!);
      return isEnough;
    },
  };
}
