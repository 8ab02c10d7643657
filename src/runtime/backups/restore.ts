// Restores a backup: checks its pages, verifies its ledger, and then replaces the database with it.
import { createReadStream } from "node:fs";
import { chmod, chown, link, open, realpath, rename, rm, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { describeDatabase } from "../../database/location.ts";
import type { DatabaseLocation } from "../../database/location.ts";
import { conflict, invalid, Refusal, unusable } from "../../common/errors.ts";
import { describeError } from "../../common/log.ts";
import { isBusy, isServed } from "../../database/database.ts";
import type { Database } from "../../database/database.ts";
import { openFile } from "../../database/file/file.ts";
import { lockExclusively } from "../../database/file/maintenance.ts";
import { databaseFileOf } from "./backup.ts";
import { claimFile } from "../../database/file/file-claim.ts";
import { createDatabasePart, exists, onFile, removeDatabasePart, syncFile, syncFolderOf } from "../atomic-file.ts";
import { isEncrypted, isPacked, unpack } from "./backup-content.ts";
import type { Packed } from "./backup-content.ts";
import type { BackupKey } from "./backup-key.ts";
import { identify, requireEncryption } from "./backup-identity.ts";
import type { BackupName, BackupState, Trust } from "./backup-identity.ts";
import { packedIn } from "./backup-place.ts";
import { checkCopy, copyDatabase, databaseMagic } from "./checked-copy.ts";
import type { Checked } from "./checked-copy.ts";
import type { Terminal } from "../terminal.ts";

/** `replaced` is the new name of the old database. `applied` is empty: earlier versions migrated when restoring. */
type Restored = Checked & BackupState & { applied: []; file: string; restored: string; replaced: string | null };

/** A backup to restore, and the proof that it needs. */
export type BackupSource = { from: BackupName } & Trust;

/** Replaces the database with a copy of a backup. The old database is kept under another name. */
export async function restore(
  location: DatabaseLocation,
  { from, ...trust }: BackupSource,
  terminal: Terminal,
): Promise<Restored> {
  const path = resolve(databaseFileOf(location));
  const file = await realpath(path).catch(() => path);
  const backup = typeof from === "string" ? from : `${from.name} in ${from.place.name}`;
  const refuse = (cause: string) => unusable(`${backup} cannot be restored: ${cause}`);
  const { isEncrypted, copyTo } = typeof from === "string"
    ? await openFileBackup(from, file, trust.key, terminal, refuse)
    : unpacking(packedIn(from.place, from.name, trust.key), terminal, refuse);
  requireEncryption(isEncrypted, trust, refuse);
  // No service starts on the database from here on.
  const claim = await exists(file) ? await orIrreplaceable(location, () => claimFile(file)) : undefined;
  try {
    const { part, handle } = await createDatabasePart(file);
    try {
      await handle.close();
      const inner = await copyTo(part);
      const { checked, origin } = await checkCopy(part, terminal, refuse);
      const existing = claim && openFile(location.url, "manage");
      try {
        const state = await identify({ backup: from, isEncrypted, inner, origin }, existing, trust, terminal, refuse);
        await syncFile(part);
        const replaced = existing === undefined
          ? await place(file, part)
          : await replace(file, part, location, existing);
        await syncFolderOf(file);
        return { file, restored: backup, replaced, applied: [], ...checked, ...state };
      } finally {
        existing?.close();
      }
    } finally {
      await removeDatabasePart(part);
    }
  } finally {
    claim?.release();
  }
}

/** A backup that can be copied to an empty file. `copyTo` returns the name inside its content. */
type Opened = { isEncrypted: boolean; copyTo(part: string): Promise<string | undefined> };

const unpacking = (packed: Packed, terminal: Terminal, refuse: (cause: string) => Refusal): Opened => ({
  isEncrypted: packed.isEncrypted,
  copyTo: (part) => unpack(packed, part, terminal, refuse),
});

/** Opens a backup in a file. Throws if the file cannot be one. */
async function openFileBackup(
  backup: string,
  file: string,
  key: BackupKey | undefined,
  terminal: Terminal,
  refuse: (cause: string) => Refusal,
): Promise<Opened> {
  const from = await onFile(backup, "read", () => realpath(backup));
  if (from === file) throw invalid(`${backup} is the database itself`);
  if (!(await stat(from)).isFile()) throw invalid(`${backup} is not a regular file`);
  const head = await readHead(from);
  if (isPacked(head)) {
    return unpacking({ content: createReadStream(from), isEncrypted: isEncrypted(head), key }, terminal, refuse);
  }
  if (new TextDecoder().decode(head) !== databaseMagic) throw refuse("it is not a promptledger database");
  return { isEncrypted: false, copyTo: (part) => copyDatabase(from, part, terminal).then(() => undefined) };
}

/** The first bytes of a file. */
async function readHead(path: string): Promise<Uint8Array> {
  const head = new Uint8Array(databaseMagic.length);
  const file = await onFile(path, "read", () => open(path));
  try {
    await onFile(path, "read", () => file.read(head, 0, head.length, 0));
  } finally {
    await file.close();
  }
  return head;
}

/**
 * Replaces the database with the part, and returns the new name of the old database. No other process may have it open.
 * It has two names for a moment, so a database exists at every moment.
 */
async function replace(file: string, part: string, location: DatabaseLocation, existing: Database): Promise<string> {
  await orIrreplaceable(location, () => lockExclusively(existing));
  const { mode, uid, gid } = await stat(file);
  const replaced = `${file}.replaced-${new Date().toISOString().replace(/[-:]|\.\d+/g, "")}`;
  await onFile(part, "written", () => takeOver(part, { mode, uid, gid }));
  await onFile(replaced, "written", () => link(file, replaced));
  try {
    await onFile(file, "written", () => rename(part, file));
  } catch (error) {
    await rm(replaced);
    throw error;
  }
  return replaced;
}

/** Runs work that needs exclusive use of the database. An error gives the reason why it cannot be replaced. */
async function orIrreplaceable<T>(location: DatabaseLocation, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const name = describeDatabase(location.url);
    if (isBusy(error) || isServed(error)) throw conflict(`The database ${name} is in use: stop the service first`);
    if (error instanceof Refusal) throw error;
    throw unusable(`The database ${name} cannot be replaced: ${describeError(error)}. Move it and its log away first`);
  }
}

/** Copies mode and owner of the old database, to keep the new one accessible to the same users. */
async function takeOver(part: string, { mode, uid, gid }: { mode: number; uid: number; gid: number }): Promise<void> {
  await chmod(part, mode & 0o777);
  const own = await stat(part);
  if (own.uid !== uid || own.gid !== gid) await chown(part, uid, gid);
}

/** Renames the part if there is no database to replace. */
async function place(file: string, part: string): Promise<null> {
  for (const log of [`${file}-wal`, `${file}-journal`]) {
    const { size } = await stat(log).catch(() => ({ size: 0 }));
    if (size > 0) {
      throw conflict(
        `${log} is left over from another database, and SQLite would apply it to this one. Move it away first`,
      );
    }
  }
  // Unlike a rename, a link never replaces a file that appeared meanwhile.
  await onFile(file, "written", () => link(part, file));
  return null;
}
