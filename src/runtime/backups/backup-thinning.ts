// Removes the backups that no rule keeps.
import { findKept } from "../settings/backup-keep.ts";
import type { KeepRule, KeptBy } from "../settings/backup-keep.ts";
import type { Backup } from "../../management/upkeep/backup-notices.ts";
import { Refusal } from "../../common/errors.ts";
import { describeError } from "../../common/log.ts";
import type { Place } from "./backup-place.ts";

/** The names of the removed backups, oldest first, and the cause if others could not be removed. */
export type Thinned = { removed: string[]; unremoved?: string };

/** The rules that keep each backup, by its name. One that does not count never takes the place of one that does. */
export function keptBackups(
  backups: readonly Backup[],
  rules: readonly KeepRule[],
  now: number,
  counts: (backup: Backup) => boolean,
): Map<string, KeptBy[]> {
  const keptAmong = (some: readonly Backup[]) => findKept(some.map(({ createdAt }) => createdAt), rules, now);
  const counted = keptAmong(backups.filter(counts)), all = keptAmong(backups);
  return new Map(backups.map((backup) => [backup.name, (counts(backup) ? counted : all).get(backup.createdAt)!]));
}

/**
 * Removes the backups that no rule keeps, as of the time of the newest one. It never rejects. `counts` selects the
 * backups of this database.
 */
export async function thin(
  place: Place,
  keep: readonly KeepRule[],
  newest: number,
  counts: (backup: Backup) => boolean,
): Promise<Thinned> {
  const removed: string[] = [];
  try {
    const backups = await place.list();
    const kept = keptBackups(backups, keep, newest, counts);
    for (const { name } of backups.reverse()) {
      if (kept.get(name)!.length > 0) continue;
      await place.remove(name);
      removed.push(name);
    }
    return { removed };
  } catch (error) {
    const cause = error instanceof Refusal ? error.message : describeError(error);
    return { removed, unremoved: `Backups that no rule keeps cannot be removed: ${cause}` };
  }
}
