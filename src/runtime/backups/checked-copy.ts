// Copies of a database that are checked before use: their pages, their texts and their ledger.
import { open, stat } from "node:fs/promises";
import { describeDamaged, findDamagedTexts } from "../../log/damaged-texts.ts";
import { verifyLedger } from "../../log/verify.ts";
import { describeFeedbackCheck, verifyFeedback } from "../../feedback/verify-feedback.ts";
import type { DamagedText } from "../../schema/ledger.ts";
import { conflict, Refusal } from "../../common/errors.ts";
import { describeError } from "../../common/log.ts";
import type { Database } from "../../database/database.ts";
import { isMigrated, listMissing, migrate } from "../../database/migrate.ts";
import { fileUrlOf, openFile } from "../../database/file/file.ts";
import { copyTo, findDamage, rebuildIndexes, removeLog } from "../../database/file/maintenance.ts";
import { migrations } from "../../database/migrations.ts";
import { readOrigin } from "./backup-identity.ts";
import type { Origin } from "./backup-identity.ts";
import { createDatabasePart, exists, formatBytes, onFile, removeDatabasePart } from "../atomic-file.ts";
import type { Terminal } from "../terminal.ts";
import { percent } from "../../management/kernel/progress.ts";

/** `missing` lists migrations that the copy does not have, and `damaged` the rows with text that is not valid UTF-8. */
export type Checked = { missing: string[]; ledgers: number; damaged: DamagedText[] };

/** First bytes of a SQLite database. */
export const databaseMagic = "SQLite format 3\0";

const copyChunk = 1024 * 1024; // bytes

/** Copies a database without writers, and its write-ahead log if there is one, to an empty file. */
export async function copyDatabase(from: string, part: string, terminal: Terminal): Promise<void> {
  const { size } = await stat(from);
  terminal.say(`Copying ${formatBytes(size)} …\n`);
  await copyFile(from, part, (copied) => terminal.report(`Copied ${percent(copied / size)}`));
  if (await exists(`${from}-wal`)) await copyFile(`${from}-wal`, `${part}-wal`, () => {});
}

/** Copies a file to another one, which is empty or does not exist. */
async function copyFile(from: string, to: string, report: (copied: number) => void): Promise<void> {
  const chunk = new Uint8Array(copyChunk);
  const target = await onFile(to, "written", () => open(to, "a", 0o600));
  try {
    const source = await onFile(from, "read", () => open(from));
    try {
      for (let copied = 0;;) {
        const { bytesRead } = await onFile(from, "read", () => source.read(chunk, 0, copyChunk, copied));
        if (bytesRead === 0) break;
        await onFile(to, "written", () => target.appendFile(chunk.subarray(0, bytesRead)));
        copied += bytesRead;
        report(copied);
      }
    } finally {
      await source.close();
    }
  } finally {
    await target.close();
  }
}

/**
 * If the pages of the part are damaged or its ledger does not balance, throws the refusal that `refuse` creates.
 * Reports and returns the damaged texts. The part has no log afterwards.
 */
export async function checkCopy(
  part: string,
  terminal: Terminal,
  refuse: (cause: string) => Refusal,
): Promise<{ checked: Checked; origin: Origin }> {
  const database = openFile(fileUrlOf(part), "manage");
  try {
    if (!await isMigrated(database)) throw conflict("it is not a promptledger database");
    const missing = (await listMissing(database, migrations)).map(({ name }) => name);
    terminal.report("Checking the file");
    let damage = await findDamage(database);
    if (damage !== undefined) {
      // A damaged text may differ from its copy in an index.
      await rebuildIndexes(database);
      damage = await findDamage(database);
    }
    if (damage !== undefined) throw conflict(`it is damaged: ${damage}`);
    const verified = missing.length === 0
      ? await verify(database, terminal)
      : await verifyCopy(database, part, terminal);
    const origin = await readOrigin(database);
    await removeLog(database);
    return { checked: { missing, ...verified }, origin };
  } catch (error) {
    throw refuse(error instanceof Refusal ? error.message : describeError(error));
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

/**
 * Verifies a migrated copy of a database with an older schema. The original keeps its schema, for the version that made
 * it.
 */
async function verifyCopy(database: Database, part: string, terminal: Terminal): Promise<Verified> {
  const { part: path, handle } = await createDatabasePart(part);
  await handle.close();
  try {
    await copyTo(database, path);
    const copy = openFile(fileUrlOf(path), "manage");
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
