// Restores a backup: checks its pages, verifies its ledger, and then replaces the database with it.
import { chmod, chown, link, open, realpath, rename, rm, stat } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describeDamaged, findDamagedTexts } from "../ledger/damaged-texts.ts";
import { verifyLedger } from "../ledger/verify.ts";
import { describeFeedbackCheck, verifyFeedback } from "../ledger/verify-feedback.ts";
import type { DamagedText } from "../schema/ledger.ts";
import { percent } from "../management/operation.ts";
import { describeDatabase } from "../common/config.ts";
import type { DatabaseLocation } from "../common/config.ts";
import { conflict, invalid, Refusal, unusable } from "../common/errors.ts";
import { describeError } from "../common/log.ts";
import { isBusy, isServed } from "../database/database.ts";
import type { Database } from "../database/database.ts";
import { isMigrated, listMissing, migrate } from "../database/migrate.ts";
import { openFile } from "../database/file.ts";
import { copyTo, findDamage, lockExclusively, rebuildIndexes, removeLog } from "../database/maintenance.ts";
import { databaseFileOf } from "./backup.ts";
import { claimFile } from "../database/file-claim.ts";
import { migrations } from "../database/migrations.ts";
import {
  createDatabasePart,
  exists,
  formatBytes,
  onFile,
  removeDatabasePart,
  syncFile,
  syncFolderOf,
} from "./atomic-file.ts";
import type { Terminal } from "./terminal.ts";

/**
 * `missing` names the migrations that the backup lacks, and `damaged` the rows with text that is not valid UTF-8. `applied`
 * is from a time when restoring migrated.
 */
type Checked = { applied: []; missing: string[]; ledgers: number; damaged: DamagedText[] };

/** `replaced` is the new name of the old database. */
type Restored = Checked & { file: string; restored: string; replaced: string | null };

/** Replaces the database with a copy of a backup. The old database is kept under another name. */
export async function restore(location: DatabaseLocation, backup: string, terminal: Terminal): Promise<Restored> {
  const path = resolve(databaseFileOf(location));
  const file = await realpath(path).catch(() => path);
  const from = await onFile(backup, "read", () => realpath(backup));
  if (from === file) throw invalid(`${backup} is the database itself`);
  if (!(await stat(from)).isFile()) throw invalid(`${backup} is not a regular file`);
  if (!await isDatabaseFile(from)) throw unrestorable(backup, "it is not a promptledger database");
  // No service starts on the database from here on.
  const claim = await exists(file) ? await orIrreplaceable(location, () => claimFile(file)) : undefined;
  try {
    const { part, handle } = await createDatabasePart(file);
    try {
      await copyDatabase(from, part, handle, terminal);
      const checked = await check(backup, part, terminal);
      await syncFile(part);
      const replaced = claim === undefined ? await place(file, part) : await replace(file, part, location);
      await syncFolderOf(file);
      return { file, restored: backup, replaced, ...checked };
    } finally {
      await removeDatabasePart(part);
    }
  } finally {
    claim?.release();
  }
}

const unrestorable = (backup: string, cause: string) => unusable(`${backup} cannot be restored: ${cause}`);

const magic = "SQLite format 3\0";

/** Whether a file begins as SQLite databases do. */
async function isDatabaseFile(path: string): Promise<boolean> {
  const head = new Uint8Array(magic.length);
  const file = await onFile(path, "read", () => open(path));
  try {
    await onFile(path, "read", () => file.read(head, 0, head.length, 0));
  } finally {
    await file.close();
  }
  return new TextDecoder().decode(head) === magic;
}

const copyChunk = 1024 * 1024; // bytes

/** Copies a database, and its write-ahead log if there is one. */
async function copyDatabase(from: string, part: string, handle: FileHandle, terminal: Terminal): Promise<void> {
  const { size } = await stat(from);
  terminal.say(`Copying ${formatBytes(size)} …\n`);
  await copyFile(from, part, handle, (copied) => terminal.report(`Copied ${percent(copied / size)}`));
  if (await exists(`${from}-wal`)) {
    const log = `${part}-wal`;
    await copyFile(`${from}-wal`, log, await onFile(log, "written", () => open(log, "wx", 0o600)), () => {});
  }
}

/** Copies a file to an open one, and closes that. */
async function copyFile(from: string, to: string, handle: FileHandle, report: (copied: number) => void): Promise<void> {
  const chunk = new Uint8Array(copyChunk);
  try {
    const source = await onFile(from, "read", () => open(from));
    try {
      for (let copied = 0;;) {
        const { bytesRead } = await onFile(from, "read", () => source.read(chunk, 0, copyChunk, copied));
        if (bytesRead === 0) break;
        await onFile(to, "written", () => handle.appendFile(chunk.subarray(0, bytesRead)));
        copied += bytesRead;
        report(copied);
      }
    } finally {
      await source.close();
    }
  } finally {
    await handle.close();
  }
}

/** Throws if the pages of the part are damaged or its ledger does not balance. Names the texts that are damaged. */
async function check(backup: string, part: string, terminal: Terminal): Promise<Checked> {
  const database = openFile(pathToFileURL(part).href, "manage");
  try {
    if (!await isMigrated(database)) throw conflict("it is not a promptledger database");
    const missing = (await listMissing(database, migrations)).map(({ name }) => name);
    terminal.report("Checking the file");
    let damage = await findDamage(database);
    if (damage !== undefined) {
      // A text that is damaged may differ from what an index has of it.
      await rebuildIndexes(database);
      damage = await findDamage(database);
    }
    if (damage !== undefined) throw conflict(`it is damaged: ${damage}`);
    const verified = missing.length === 0
      ? await verify(database, terminal)
      : await verifyCopy(database, part, terminal);
    await removeLog(database);
    return { applied: [], missing, ...verified };
  } catch (error) {
    throw unrestorable(backup, error instanceof Refusal ? error.message : describeError(error));
  } finally {
    database.close();
  }
}

type Verified = Pick<Checked, "ledgers" | "damaged">;

async function verify(database: Database, { report, say }: Terminal): Promise<Verified> {
  const damaged = await findDamagedTexts(database, (share) => report(`Read ${percent(share)} of the texts`)) ?? [];
  if (damaged.length > 0) say(`${describeDamaged(damaged)}\n`);
  const feedback = await verifyFeedback(
    database,
    undefined,
    (share) => report(`Verified ${percent(share)} of the feedback`),
  );
  if (feedback.faults > 0) say(`Feedback: ${describeFeedbackCheck(feedback)}\n`);
  const ledgers = await verifyLedger(database, undefined, (share) => report(`Verified ${percent(share)}`));
  const unbalanced = ledgers.filter(({ balanced }) => !balanced);
  const [first] = unbalanced;
  if (first !== undefined) {
    const name = `${first.workspaceId} ${first.month}`;
    throw conflict(`${unbalanced.length} of ${ledgers.length} ledgers do not balance, the first is ${name}`);
  }
  return { ledgers: ledgers.length, damaged };
}

/** Verifies a migrated copy of a database with an older schema, which it keeps: the version that made it may serve it again. */
async function verifyCopy(database: Database, part: string, terminal: Terminal): Promise<Verified> {
  const { part: path, handle } = await createDatabasePart(part);
  await handle.close();
  try {
    await copyTo(database, path);
    const copy = openFile(pathToFileURL(path).href, "manage");
    try {
      await migrate(copy, migrations, Date.now());
      return await verify(copy, terminal);
    } finally {
      copy.close();
    }
  } finally {
    await removeDatabasePart(path);
  }
}

/**
 * Replaces the database with the part, and returns the new name of the old database. No other process may have it open. It
 * has two names for a moment, so that a database exists at every moment.
 */
async function replace(file: string, part: string, location: DatabaseLocation): Promise<string> {
  const database = openFile(location.url, "manage");
  try {
    await orIrreplaceable(location, () => lockExclusively(database));
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
  } finally {
    database.close();
  }
}

/** Runs work that needs the database for itself. An error says why it cannot be replaced. */
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

/** Copies mode and owner of the old database, so that the same users can read and write the new one. */
async function takeOver(part: string, { mode, uid, gid }: { mode: number; uid: number; gid: number }): Promise<void> {
  await chmod(part, mode & 0o777);
  const own = await stat(part);
  if (own.uid !== uid || own.gid !== gid) await chown(part, uid, gid);
}

/** Gives the part its name. There is no database to replace. */
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
