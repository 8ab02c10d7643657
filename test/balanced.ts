// The one assertion that the ledger balances: it shows the ledgers that do not, with their counts and what was expected.
import * as assert from "uvu/assert";
import { verify } from "../src/admin/records.ts";
import type { Admin } from "../src/admin/admin.ts";
import type { LedgerBalance } from "../src/common/domain.ts";

/** Holds what `verify` answers to be balanced, and gives the ledgers. */
export function assertBalanced({ balanced, ledgers }: { balanced: boolean; ledgers: LedgerBalance[] }) {
  const wrong = ledgers.filter((ledger) => !ledger.balanced);
  const faults = wrong.map(({ workspaceId, month, used, calls, reads, records, deleted, pruned }) =>
    `${workspaceId} ${month}: ${used} used, ${calls} calls, ${reads} reads, ${records} records ` +
    `(${deleted} deleted, ${pruned} pruned); expected used = calls = reads + records`
  );
  assert.equal([balanced, faults], [true, []]);
  return ledgers;
}

/** Verifies the ledgers of one workspace, or all. */
export const verifyBalanced = async (admin: Admin, workspaceId?: string): Promise<LedgerBalance[]> =>
  assertBalanced(await verify(admin, workspaceId));
