// Places that hold backups.
import type { Backup } from "../../management/upkeep/backup-notices.ts";
import { invalid } from "../../common/errors.ts";
import type { Packed } from "./backup-content.ts";
import type { BackupKey } from "./backup-key.ts";
import { isEncryptedName, timeOf } from "./backup-names.ts";
import type { Content } from "./content.ts";

/** A folder or a bucket. Other files in it are left alone. */
export type Place = {
  /** Name in messages, without secrets. */
  name: string;
  /** The complete backups, the newest first. */
  list(): Promise<Backup[]>;
  /** Removes the remains of incomplete backups. */
  tidy(): Promise<void>;
  /** Stores a backup. It appears complete, or not at all. Returns its size in bytes. */
  put(name: string, content: Content): Promise<number>;
  get(name: string): Content;
  remove(name: string): Promise<void>;
  /** Owner of the backups in the place, if it is marked. */
  readMark(): Promise<string | undefined>;
  writeMark(owner: string): Promise<void>;
};

/** The file that names the owner of a place's backups. */
export const markName = "promptledger-database.txt";

/** The backups among files, the newest first. */
export const listBackups = (files: { name: string; bytes: number }[]): Backup[] =>
  files.flatMap(({ name, bytes }) => {
    const createdAt = timeOf(name);
    return createdAt === undefined ? [] : [{ name, createdAt, bytes }];
  }).sort((a, b) => b.createdAt - a.createdAt || (a.name < b.name ? 1 : -1));

/** The backup of that name, or the newest one by a time, which may be `Infinity`. Throws if there is none. */
export async function findBackup(place: Place, wanted: string | number): Promise<Backup> {
  const backups = await place.list();
  const found = backups.find(({ name, createdAt }) =>
    typeof wanted === "string" ? name === wanted : createdAt <= wanted
  );
  if (found !== undefined) return found;
  const oldest = backups.at(-1)?.name;
  if (oldest === undefined) throw invalid(`${place.name} has no backups`);
  throw invalid(
    typeof wanted === "string"
      ? `${place.name} has no backup ${wanted}. See backup list`
      : `${place.name} has no backup from before ${new Date(wanted).toISOString()}. The oldest is ${oldest}`,
  );
}

/** The content of a backup in a place. */
export const packedIn = (place: Place, name: string, key: BackupKey | undefined): Packed => ({
  content: place.get(name),
  isEncrypted: isEncryptedName(name),
  key,
});
