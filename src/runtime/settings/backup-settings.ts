// Settings of scheduled backups.
import { keepExpected, readKeepRules } from "./backup-keep.ts";
import type { KeepRule } from "./backup-keep.ts";
import { isBucket, readBucketSettings } from "./bucket-settings.ts";
import type { BucketSettings } from "./bucket-settings.ts";

/**
 * A place for backups: the path of a folder, or the URL of a bucket with its settings. `name` is that of the setting or
 * of the argument.
 */
export type PlaceSettings = Readonly<{ name: string; to: string; bucket?: BucketSettings | undefined }>;

/** Place, interval and retention of scheduled backups. */
export type BackupSettings = Readonly<{
  to: PlaceSettings;
  /** Time from the newest backup to the next one, in ms. */
  every: number;
  keep: readonly KeepRule[];
}>;

const units: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const maxEvery = 31 * units.d!;
const standardKeep = "24 hourly, 30 daily, 12 monthly";

/** Reads the settings, and adds their faults to `faults`. Undefined without `BACKUP_TO`, which may be set later. */
export function readBackupSettings(
  read: (name: string) => string | undefined,
  isFile: boolean,
  faults: string[],
): BackupSettings | undefined {
  const every = readEvery(read("BACKUP_EVERY") ?? "1h");
  if (every === undefined) faults.push("BACKUP_EVERY must be a duration from 1m to 31d, such as 30m or 6h");
  const keep = readKeepRules(read("BACKUP_KEEP") ?? standardKeep);
  if (keep === undefined) faults.push(`BACKUP_KEEP ${keepExpected}`);
  const to = read("BACKUP_TO");
  if (to === undefined) return undefined;
  if (!isFile) faults.push("BACKUP_TO needs a database in a file. Use the backups of the libSQL server instead");
  if (to.includes("\0")) faults.push("BACKUP_TO must not contain NUL");
  const place = readPlace("BACKUP_TO", to, read, faults);
  return Object.freeze({ to: place, every: every ?? units.h!, keep: keep ?? [] });
}

/** Reads the settings of a place. */
export const readPlace = (
  name: string,
  to: string,
  read: (name: string) => string | undefined,
  faults: string[],
): PlaceSettings =>
  Object.freeze({ name, to, ...isBucket(to) && { bucket: readBucketSettings(name, to, read, faults) } });

function readEvery(text: string): number | undefined {
  const [, count, unit = ""] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  const every = Number(count) * units[unit]!;
  return every >= units.m! && every <= maxEvery ? every : undefined;
}
