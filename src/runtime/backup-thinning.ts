// Removes the backups that no rule keeps.
import { findKept } from "../common/backup-keep.ts";
import type { KeepRule } from "../common/backup-keep.ts";
import { Refusal } from "../common/errors.ts";
import { describeError } from "../common/log.ts";
import type { Place } from "./backup-place.ts";

/** The names of the backups that were removed, the oldest first, and why the others could not be. */
export type Thinned = { removed: string[]; unremoved?: string };

/** Removes the backups that no rule keeps, of those up to the time of the newest one. It never rejects. */
export async function thin(place: Place, keep: readonly KeepRule[], newest: number): Promise<Thinned> {
  const removed: string[] = [];
  try {
    const backups = await place.list();
    const kept = findKept(backups.map(({ createdAt }) => createdAt), keep, newest);
    for (const { name, createdAt } of backups.reverse()) {
      if (kept.get(createdAt)!.length > 0) continue;
      await place.remove(name);
      removed.push(name);
    }
    return { removed };
  } catch (error) {
    const cause = error instanceof Refusal ? error.message : describeError(error);
    return { removed, unremoved: `Backups that no rule keeps cannot be removed: ${cause}` };
  }
}
