// Notices for backups that begin to fail, and that succeed again.
import { text } from "../../database/row.ts";
import { performUpkeep, toChange, toRow } from "../kernel/notices.ts";
import type { Notice } from "../kernel/notices.ts";
import type { Store } from "../kernel/operation.ts";

/** A complete backup. `createdAt` is the time of the state that it contains. */
export type Backup = { name: string; createdAt: number; bytes: number };

/** State of a service's backups: the newest one, and the failure since then, if any. */
export type BackupState = {
  place: string;
  every: number;
  newest: Backup | undefined;
  failure: { at: number; cause: string } | undefined;
};

const maxCause = 300; // characters

const toNotice = (action: "backup.failed" | "backup.recovered", place: string, note: string): Notice => ({
  ...{ action, subject: place, fact: "", workspaceId: null, data: { place } },
  note,
});

/** Notes once that backups to a place fail, with the cause, or without a cause that one succeeded. */
export async function noticeBackup(store: Store, place: string, cause: string | undefined): Promise<void> {
  const find = { sql: "select subject from notices where action = 'backup.failed' order by subject" };
  // Fast path: nearly every time there is no notice.
  if (cause === undefined && (await store.database.read(find)).length === 0) return;
  await performUpkeep(store, async ({ database, clock, commit }) => {
    const failing = (await database.read(find)).map((row): string => text(row, "subject"));
    if (cause !== undefined) {
      if (failing.includes(place)) return;
      const why = cause.replace(/\s+/g, " ").slice(0, maxCause);
      const notice = toNotice("backup.failed", place, `Backups fail, and are tried again: ${why}`);
      await commit([toChange(notice)], [toRow(notice, clock())]);
    } else if (failing.length > 0) {
      // Another place may have been set since.
      const notices = failing.map((each) => toNotice("backup.recovered", each, `A backup to ${place} has succeeded`));
      await commit(notices.map(toChange), [{ sql: "delete from notices where action = 'backup.failed'" }]);
    }
  });
}
