// Verifies that the ledger balances, that feedback and the audit log are intact, and that nothing is damaged.
import type { Database } from "../../database/database.ts";
import { findDamagedTexts } from "../../log/damaged-texts.ts";
import { verifyLedger } from "../../log/verify.ts";
import { verifyFeedback } from "../../feedback/verify-feedback.ts";
import { FeedbackCheck } from "../../schema/feedback.ts";
import { DamagedText, LedgerBalance } from "../../schema/ledger.ts";
import { described, exactly, listOf, option, orNull, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import { reportShare } from "../kernel/progress.ts";
import * as v from "../kernel/values.ts";
import { checkChain, findTriggerFaults } from "../kernel/audit-chain.ts";
import { RowFault } from "./audit-faults.ts";
import { findRowFaults } from "./audit-rows.ts";
import { operation } from "../kernel/operation.ts";

const Verification = shape("Verification", {
  balanced: v.boolean,
  total: described(v.count, "How many ledgers were recounted. Each workspace has one per month"),
  unbalanced: described(v.count, "How many of them are out of balance"),
  ledgers: described(listOf(LedgerBalance), "At most 1,000 ledgers. Those out of balance are chosen first"),
  feedback: described(FeedbackCheck, "The feedback on the records"),
  audit: orNull(
    exactly({
      entries: described(v.count, "How many entries the audit log has"),
      isIntact: described(v.boolean, "Whether no entry was altered, removed or swapped"),
      brokenAt: orNull(
        v.positive,
        "The first position whose entry is missing or does not fit those before it, or null",
      ),
      head: described(
        v.text,
        "The hash of the newest entry. A copy kept elsewhere proves that no entry up to that one has changed",
      ),
      triggers: described(
        listOf(v.text),
        "Triggers of the database that are missing, altered or not its own. Two keep entries from being changed",
      ),
      differences: described(v.count, "How many rows disagree with the log"),
      rows: described(listOf(RowFault), "At most 100 rows that disagree with the log"),
    }),
    "The check of the audit log. Null if only one workspace is verified",
  ),
  damaged: orNull(
    exactly({
      total: v.count,
      rows: described(listOf(DamagedText), "At most 100 of them"),
    }),
    "Stored text that is not valid UTF-8, as after a bad sector. Null if only one workspace is verified, or if the " +
      "database is on a server",
  ),
});
export type Verification = Infer<typeof Verification>;

const maxLedgers = 1_000;
const maxDamaged = 100;

export const verify = operation({
  id: "verify",
  summary:
    "Verify the ledgers and the feedback of a workspace, or of all, the audit log and stored texts (a ledger is one " +
    "workspace in one month). The command exits 1 if anything is wrong",
  method: "GET",
  path: "/verify",
  roleOverAll: "owner",
  command: "verify",
  input: { workspaceId: option(v.workspaceId, "Only this workspace. Default: all workspaces") },
  output: Verification,
  isLong: true,
  async run(management, { workspaceId }) {
    const reportOf = (what: string) => reportShare(management, (percent) => `Verified ${percent} of ${what}`);
    const audit = workspaceId === undefined ? await checkAudit(management.database, reportOf) : null;
    const damaged = workspaceId === undefined
      ? await findDamagedTexts(management.database, reportOf("the texts"))
      : undefined;
    const all = await verifyLedger(management.database, workspaceId, reportOf("the calls"));
    const feedback = await verifyFeedback(management.database, workspaceId, reportOf("the feedback"));
    const wrong = all.filter(({ balanced }) => !balanced);
    const right = all.filter(({ balanced }) => balanced);
    const shown = new Set([...wrong, ...right].slice(0, maxLedgers));
    const ledgers = all.filter((ledger) => shown.has(ledger));
    return {
      balanced: wrong.length === 0,
      total: all.length,
      unbalanced: wrong.length,
      ledgers,
      feedback,
      audit,
      damaged: damaged === undefined ? null : { total: damaged.length, rows: damaged.slice(0, maxDamaged) },
    };
  },
});

const maxRows = 100;

/** Checks the audit log, its triggers, and the rows with entries in it. */
async function checkAudit(database: Database, reportOf: (what: string) => (share: number) => void) {
  const chain = await checkChain(database, reportOf("the audit log"));
  const triggers = await findTriggerFaults(database);
  let differences = 0;
  const rows: RowFault[] = [];
  await findRowFaults(database, (fault) => {
    if (++differences <= maxRows) rows.push(fault);
  }, reportOf("the rows"));
  return { ...chain, isIntact: chain.brokenAt === null, triggers, differences, rows };
}
