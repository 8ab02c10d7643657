// Asking about what was recorded: diagnosis records, the call log, a month's use, and whether the books balance.
import type { Call, Diagnosis, LedgerBalance, Usage } from "../domain.ts";
import { endOfMonth, monthOf } from "../month.ts";
import * as calls from "../store/calls.ts";
import * as diagnoses from "../store/diagnoses.ts";
import type { DiagnosisFilter } from "../store/diagnoses.ts";
import { findUsage, listBalances } from "../store/usage.ts";
import { getDeployment } from "./deployments.ts";
import { getWorkspace } from "./workspaces.ts";
import type { Admin } from "./workspaces.ts";

/** The records of a deployment, newest first. */
export async function listDiagnoses(admin: Admin, filter: DiagnosisFilter): Promise<Diagnosis[]> {
  await getDeployment(admin, filter.deployId);
  return diagnoses.listDiagnoses(admin.database, filter);
}

/** The accepted requests of a workspace, newest first. */
export async function listCalls(admin: Admin, workspaceId: string, limit: number): Promise<Call[]> {
  await getWorkspace(admin, workspaceId);
  return calls.listCalls(admin.database, workspaceId, limit);
}

/** A workspace's use in a month, or in the current one where none is named; the limit is today's. */
export async function readUsage(admin: Admin, workspaceId: string, month = monthOf(admin.clock())): Promise<Usage> {
  const { monthlyLimit: limit } = await getWorkspace(admin, workspaceId);
  const { reads, submits } = await findUsage(admin.database, workspaceId, month);
  const used = reads + submits;
  const remaining = Math.max(0, limit - used);
  return { month, limit, used, remaining, reads, submits, resetTime: endOfMonth(month) / 1000 };
}

/** Recounts the books of a workspace, or of all, and says of each month whether they balance. */
export async function verify(
  admin: Admin,
  workspaceId?: string,
): Promise<{ balanced: boolean; ledgers: LedgerBalance[] }> {
  if (workspaceId !== undefined) await getWorkspace(admin, workspaceId);
  const ledgers = await listBalances(admin.database, workspaceId);
  return { balanced: ledgers.every((ledger) => ledger.balanced), ledgers };
}
