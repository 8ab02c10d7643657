// Backups of BACKUP_TO: makes one, lists and checks them, and removes those that no rule keeps.
import { realpath, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { KeptBy } from "../settings/backup-keep.ts";
import type { BackupSettings } from "../settings/backup-settings.ts";
import type { Backup } from "../../management/upkeep/backup-notices.ts";
import { describeDatabase } from "../../database/location.ts";
import type { DatabaseLocation } from "../../database/location.ts";
import type { Config } from "../settings/config.ts";
import { conflict, invalid, unusable } from "../../common/errors.ts";
import { isServed } from "../../database/database.ts";
import type { Database } from "../../database/database.ts";
import { lock } from "../../database/file/file-claim.ts";
import { clearStamp } from "../../database/file/file-identity.ts";
import { openFile } from "../../database/file/file.ts";
import { isMigrated } from "../../database/migrate.ts";
import { copySnapshot } from "../../database/file/snapshot.ts";
import { createDatabasePart, exists, formatBytes, removeDatabasePart } from "../atomic-file.ts";
import { pack, unpack } from "./backup-content.ts";
import { findBackupKey } from "./backup-key.ts";
import { databaseFileOf } from "./backup.ts";
import { identify, requireEncryption } from "./backup-identity.ts";
import type { BackupState } from "./backup-identity.ts";
import { countedWith, nameOf, timeOf } from "./backup-names.ts";
import { ownedPlace, ownerOf } from "./backup-owner.ts";
import { findBackup, packedIn } from "./backup-place.ts";
import { keptBackups, thin } from "./backup-thinning.ts";
import type { Thinned } from "./backup-thinning.ts";
import { checkCopy } from "./checked-copy.ts";
import type { Checked } from "./checked-copy.ts";
import { freeBytesOf, reserve } from "../disk-reserve.ts";
import { describeDatabaseError } from "../file-fault.ts";
import { openPlace } from "./open-place.ts";
import type { Terminal } from "../terminal.ts";
import { percent } from "../../management/kernel/progress.ts";

/** A new backup, and the result of removing old ones. */
type Made = Backup & { place: string } & Thinned;

/** The settings of backups. Throws without `BACKUP_TO`. */
export function requireBackups({ backups }: Pick<Config, "backups">): BackupSettings {
  if (backups === undefined) {
    throw invalid("Set BACKUP_TO to the place of the backups: a folder, or s3://bucket/prefix");
  }
  return backups;
}

type Settings = Pick<Config, "database" | "backups" | "backupKeyFile">;

/** Makes a backup of the database, and then removes the backups that no rule keeps. */
export async function backUpNow({ database, backups, backupKeyFile }: Settings, terminal: Terminal) {
  const { to, keep } = requireBackups({ backups });
  const key = await findBackupKey(backupKeyFile);
  if (!await exists(databaseFileOf(database))) {
    throw invalid(`The database ${describeDatabase(database.url)} (DATABASE_URL) does not exist`);
  }
  const owner = await onDatabase(database, ownerOf);
  const place = ownedPlace(await openPlace(to), () => Promise.resolve(owner));
  return await withPart(database, terminal, async (part): Promise<Made> => {
    await place.tidy();
    const taken = (await place.list()).map(({ createdAt }) => createdAt);
    // Two backups of the same second would have the same name.
    while (taken.includes(timeOf(nameOf(Date.now(), false))!)) await new Promise((resolve) => setTimeout(resolve, 100));
    const createdAt = await copyChecked(database, part, terminal);
    const name = nameOf(createdAt, key !== undefined), counts = countedWith(key !== undefined);
    terminal.report("Storing the backup");
    let bytes = 0;
    await pack(part, name, key, async (content) => void (bytes = await place.put(name, content)));
    const made = { name, createdAt: timeOf(name)!, bytes };
    return { ...made, place: place.name, ...await thin(place, keep, made.createdAt, counts) };
  });
}

/** Runs work on the database. An error gives the reason why it cannot be backed up. */
async function onDatabase<T>(location: DatabaseLocation, work: (database: Database) => Promise<T>): Promise<T> {
  const database = openFile(location.url, "manage");
  try {
    if (!await isMigrated(database)) throw conflict("it is not a promptledger database");
    return await work(database);
  } catch (error) {
    throw refusalOf(location, await describeDatabaseError(error, databaseFileOf(location)));
  } finally {
    database.close();
  }
}

const refusalOf = ({ url }: DatabaseLocation, cause: string) =>
  unusable(`The database ${describeDatabase(url)} cannot be backed up: ${cause}`);

/** Throws if a folder does not have room for a copy. */
async function requireRoom(folder: string, bytes: number): Promise<void> {
  const free = await freeBytesOf(folder);
  if (free >= bytes + reserve) return;
  throw conflict(
    `a copy takes ${formatBytes(bytes)} beside it for a while and leaves ${formatBytes(reserve)} free, ` +
      `and ${folder} has ${formatBytes(free)}`,
  );
}

const sizeOfLog = (path: string): Promise<number> => stat(`${path}-wal`).then(({ size }) => size, () => 0);

/** Copies the database, and checks the copy. Returns the time of the copied state. */
async function copyChecked(location: DatabaseLocation, part: string, terminal: Terminal): Promise<number> {
  const path = databaseFileOf(location);
  const createdAt = await onDatabase(location, async (database) => {
    let copied = 0;
    const { size } = await stat(path);
    await requireRoom(dirname(part), size + await sizeOfLog(path));
    terminal.say(`Copying ${formatBytes(size)} …\n`);
    return await copySnapshot(
      database,
      await realpath(path),
      part,
      (bytes) => terminal.report(`Copied ${percent(Math.min(1, (copied += bytes) / size))}`),
    );
  });
  await checkCopy(part, terminal, (cause) => refusalOf(location, cause));
  clearStamp(part);
  return createdAt;
}

/** A backup with its age in ms, and the rules that keep it. None do if the next backup removes it. */
export type ListedBackup = Backup & { ageMs: number; keptBy: KeptBy[] };

export async function listKept({ backups, backupKeyFile }: Omit<Settings, "database">): Promise<ListedBackup[]> {
  const { to, keep } = requireBackups({ backups }), now = Date.now();
  const listed = await (await openPlace(to)).list();
  const kept = keptBackups(listed, keep, now, countedWith(backupKeyFile !== undefined));
  return listed.map((backup) => ({
    ...backup,
    ageMs: Math.max(0, now - backup.createdAt),
    keptBy: kept.get(backup.name)!,
  }));
}

/** Fetches a backup and checks it as `restore` does. `wanted` is its name, or a time by which it was made. */
export async function checkBackup(
  { database, backups, backupKeyFile }: Settings,
  wanted: string | number,
  isAllowed: boolean,
  terminal: Terminal,
): Promise<Backup & Checked & Omit<BackupState, "createdAt">> {
  const place = await openPlace(requireBackups({ backups }).to), key = await findBackupKey(backupKeyFile);
  const backup = await findBackup(place, wanted);
  const refuse = (cause: string) => unusable(`${backup.name} in ${place.name} cannot be restored: ${cause}`);
  const trust = { key, isAllowed }, packed = packedIn(place, backup.name, key), { isEncrypted } = packed;
  requireEncryption(isEncrypted, trust, refuse);
  return await withPart(database, terminal, async (part) => {
    const inner = await unpack(packed, part, terminal, refuse);
    const { checked, origin } = await checkCopy(part, terminal, refuse);
    const unpacked = { backup: { place, name: backup.name }, isEncrypted, inner, origin };
    const existing = await exists(databaseFileOf(database)) ? openFile(database.url, "manage") : undefined;
    const state = await identify(unpacked, existing, trust, terminal, refuse).finally(() => existing?.close());
    return { ...backup, ...checked, ...state, createdAt: state.createdAt ?? backup.createdAt };
  });
}

const patience = 3_600_000; // ms that another backup may take
const pause = 500; // ms between two attempts

/**
 * Runs work on an empty file in the database's folder, and removes it afterwards. One process at a time may do this.
 */
async function withPart<T>(
  location: DatabaseLocation,
  { say }: Terminal,
  work: (part: string) => Promise<T>,
): Promise<T> {
  const path = resolve(databaseFileOf(location));
  const file = await realpath(path).catch(() => path);
  const unlock = await lockBackups(file, say);
  try {
    // Remains of a killed process. The lock ensures that they are not in use.
    await removeDatabasePart(`${file}-backup.part`);
    const { part, handle } = await createDatabasePart(`${file}-backup`);
    try {
      await handle.close();
      return await work(part);
    } finally {
      await removeDatabasePart(part);
    }
  } finally {
    unlock();
  }
}

/** Waits while another process makes or checks a backup. */
async function lockBackups(file: string, say: Terminal["say"]): Promise<() => void> {
  const deadline = performance.now() + patience;
  const owner = await stat(file).catch(() => ({ mode: 0o600, uid: 0, gid: 0 }));
  for (let isFirst = true;; isFirst = false) {
    try {
      return await lock(file, `${file}-backup-lock`, owner);
    } catch (error) {
      if (!isServed(error)) throw error;
      if (performance.now() > deadline) throw conflict("Another process has been making a backup for an hour");
    }
    if (isFirst) say("Waiting for another backup to end …\n");
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
