// Feedback that waits for its record: its limits and its expiry. Expired feedback does not count, even before it is
// removed. `:validSince` is the earliest time of feedback that has not expired.
import type { Database } from "../database/database.ts";
import { text } from "../database/row.ts";
import { keyLifetime } from "../ledger/idempotency-keys.ts";

/**
 * Number of places: for the waiting feedback of a workspace, which triggers of sql/037-count-waiting-feedback.sql
 * count, and for that of one record. A record takes its waiting feedback in the transaction that stores it, with up to
 * 255 others.
 */
export const waitingLimits = { workspace: 100_000, record: 100 };

const bytesOfPlace = 256; // A piece takes one place, and one more for each 256 bytes of its texts.

/** Number of places that a piece takes. A column of the table has the same value. */
export const placesOf = (bytes: number): number => 1 + Math.floor(bytes / bytesOfPlace);

/** The condition that waiting feedback has not expired. The sign makes SQLite look it up by key instead of by time. */
export const isValid = (givenAt: string): string => `+${givenAt} >= :validSince`;

const removedAtOnce = 1_000; // pieces, more than a batch can add

/** Number of places taken in a workspace, if at most `removedAtOnce` of its pieces have expired. */
export const countWaiting = (workspaceId: string): string =>
  `coalesce((select places from waiting_counts where workspace_id = ${workspaceId}), 0) - (
        select coalesce(sum(places), 0) from (
          select places from waiting_feedback
          where workspace_id = ${workspaceId} and given_at < :validSince limit ${removedAtOnce}
        )
      )`;

/** Removes rows (f) of waiting feedback, and returns a row for each. */
export const removeWaiting = (from: string, clause = ""): string =>
  `delete from waiting_feedback where (workspace_id, key, name, author) in (
    ${clause} select f.workspace_id, f.key, f.name, f.author from ${from}
  ) returning 1`;

/** Removes expired pieces of the workspaces in `:workspaces`. */
export const removeExpired = removeWaiting(
  `json_each(:workspaces) e
    cross join waiting_feedback f on f.workspace_id = e.value and f.given_at < :validSince limit ${removedAtOnce}`,
);

/** Removes expired feedback of all workspaces in steps. `report` gets the number of pieces that a step removed. */
export const expireWaiting = (database: Database, now: number, report: (pieces: number) => void) => async () => {
  const validSince = now - keyLifetime;
  const [row] = await database.read({
    sql: `select workspace_id from waiting_counts c where exists (
        select 1 from waiting_feedback where workspace_id = c.workspace_id and given_at < :validSince
      ) limit 1`,
    args: { validSince },
  });
  if (row === undefined) return undefined;
  const args = { workspaces: JSON.stringify([text(row, "workspace_id")]), validSince };
  const [removed] = await database.write([{ sql: removeExpired, args }]);
  report(removed!.length);
  return { calls: 0, records: 0 };
};
