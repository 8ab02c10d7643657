// The one assertion that the ledger balances: it shows the ledgers that do not, with their counts and what was expected.
import * as assert from "uvu/assert";
import type { WorkspaceId } from "../src/common/ids.ts";
import type { Session } from "../src/management/kernel/operation.ts";
import { managementOf, verify } from "./actions.ts";
import { openDatabase } from "../src/database/file/open.ts";
import type { FeedbackCheck } from "../src/schema/feedback.ts";
import type { LedgerBalance } from "../src/schema/ledger.ts";

/** The ledgers that do not balance, each with its counts and what was expected. */
export const unbalanced = (ledgers: LedgerBalance[]): string[] =>
  ledgers.filter(({ balanced }) => !balanced).map(
    ({ workspaceId, month, used, calls, reads, records, deleted, pruned }) =>
      `${workspaceId} ${month}: ${used} used, ${calls} calls, ${reads} reads, ${records} records ` +
      `(${deleted} deleted, ${pruned} pruned); expected used = calls = reads + records`,
  );

/** Holds what `verify` answers to be balanced, and gives the ledgers. */
export function assertBalanced(
  { balanced, ledgers, feedback }: { balanced: boolean; ledgers: LedgerBalance[]; feedback?: FeedbackCheck },
) {
  assert.equal([balanced, unbalanced(ledgers), feedback?.rows ?? []], [true, [], []]);
  return ledgers;
}

/** Verifies the ledgers of one workspace, or all. */
export const verifyBalanced = async (admin: Session, workspaceId?: WorkspaceId): Promise<LedgerBalance[]> =>
  assertBalanced(await verify(admin, workspaceId));

/** How much is used in all of a database, whose ledgers must balance. */
export async function usedIn(url: string): Promise<number> {
  const database = openDatabase(url, "manage");
  try {
    const ledgers = await verifyBalanced(managementOf(database, Date.now));
    return ledgers.reduce((sum, { used }) => sum + used, 0);
  } finally {
    database.close();
  }
}
