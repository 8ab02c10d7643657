// Says when backups begin to fail, and when one succeeds again.
import { text } from "../database/row.ts";
import { performUpkeep, toChange, toRow } from "./notices.ts";
import type { Notice } from "./notices.ts";
import type { Store } from "./operation.ts";

const maxCause = 300; // characters

const toNotice = (action: "backup.failed" | "backup.recovered", place: string, note: string): Notice => ({
  ...{ action, subject: place, fact: "", workspaceId: null, data: { place } },
  note,
});

/** Says why backups to a place fail, or without a cause that one succeeded. Either is said once. */
export async function noticeBackup(store: Store, place: string, cause: string | undefined): Promise<void> {
  const find = { sql: "select subject from notices where action = 'backup.failed' order by subject" };
  // Nearly every time there is nothing to say.
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
