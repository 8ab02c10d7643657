// Asking about what was recorded and counted, and taking it away where it must go.
import type { Call, DayUsage, Diagnosis, LedgerBalance, MonthUsage, Page, PageRequest } from "../common/domain.ts";
import type { Usage, VersionStats } from "../common/domain.ts";
import { deleted, notFound } from "../common/errors.ts";
import { endOfMonth, monthOf, startOfMonth } from "../common/month.ts";
import { listBalances } from "../ledger/balances.ts";
import { findLogRange } from "../ledger/blocks.ts";
import * as calls from "../ledger/calls.ts";
import type { CallFilter } from "../ledger/calls.ts";
import * as deletions from "../ledger/deletions.ts";
import * as diagnoses from "../ledger/diagnoses.ts";
import type { DiagnosisFilter } from "../ledger/diagnoses.ts";
import { eachPage } from "../database/page.ts";
import * as stats from "../ledger/stats.ts";
import type { StatsFilter } from "../ledger/stats.ts";
import * as usage from "../ledger/usage.ts";
import { percent } from "./admin.ts";
import type { Admin } from "./admin.ts";
import { getDeployment } from "./deployments.ts";
import { getWorkspace } from "./workspaces.ts";

/** The records of a deployment, newest first. */
export async function listDiagnoses(
  admin: Admin,
  filter: DiagnosisFilter,
  page: PageRequest = {},
): Promise<Page<Diagnosis>> {
  await getDeployment(admin, filter.deployId);
  return diagnoses.listDiagnoses(admin.database, filter, page);
}

const exportPage = 256; // records: some 5 ms, in which no one else gets a turn

/** All records that fit, newest first, page by page: no more than a page is held at a time. */
export async function exportDiagnoses(admin: Admin, filter: DiagnosisFilter): Promise<AsyncGenerator<Diagnosis[]>> {
  await getDeployment(admin, filter.deployId);
  return pages(admin, filter);
}

async function* pages({ database }: Admin, filter: DiagnosisFilter): AsyncGenerator<Diagnosis[]> {
  const stretch = await findLogRange(database, filter);
  yield* eachPage((cursor) => diagnoses.listDiagnoses(database, filter, { limit: exportPage, cursor }, stretch));
}

/** The record, or a refusal where there is none, or where it was deleted. */
export async function getDiagnosis({ database }: Admin, id: string): Promise<Diagnosis> {
  const found = await diagnoses.findDiagnosis(database, id);
  if (found === undefined) throw notFound("Diagnosis", id);
  if (found.diagnosis === undefined) throw deleted("Diagnosis", id);
  return found.diagnosis;
}

/** Deletes a record; of one that was deleted before, none. */
export async function deleteDiagnosis({ database, clock }: Admin, id: string): Promise<{ deleted: number }> {
  const found = await diagnoses.findDiagnosis(database, id);
  if (found === undefined) throw notFound("Diagnosis", id);
  return { deleted: await deletions.deleteDiagnoses(database, [found.position], clock()) };
}

const deletionBatch = 200; // records in a transaction, if they are small

/** Deletes all records of a session with a deployment. */
export async function deleteSession(
  admin: Admin,
  deployId: string,
  { sessionId }: { sessionId: string },
): Promise<{ deleted: number }> {
  await getDeployment(admin, deployId);
  let count = 0;
  const batches = eachPage((cursor) =>
    diagnoses.listPositions(admin.database, { deployId, sessionId }, { limit: deletionBatch, cursor })
  );
  for await (const positions of batches) {
    if (positions.length > 0) count += await deletions.deleteDiagnoses(admin.database, positions, admin.clock());
    admin.report?.(`Deleted ${count} records`);
  }
  return { deleted: count };
}

/** The accepted requests of a workspace, newest first. */
export async function listCalls(admin: Admin, filter: CallFilter, page: PageRequest = {}): Promise<Page<Call>> {
  await getWorkspace(admin, filter.workspaceId);
  return calls.listCalls(admin.database, filter, page);
}

const daysStretch = 8_192; // positions that one query looks at: some 10 ms, in which no one else gets a turn

/** What a workspace used in a month, by day too; the days are those of the calls that are still in the log. */
export async function readUsage(
  admin: Admin,
  workspaceId: string,
  month = monthOf(admin.clock()),
): Promise<Usage & { days: DayUsage[] }> {
  const found = await usage.findUsage(admin.database, workspaceId, month);
  if (found === undefined) throw notFound("Workspace", workspaceId);
  const days = new Map<string, DayUsage>();
  const { first, end } = await findLogRange(admin.database, { from: startOfMonth(month), to: endOfMonth(month) });
  for (let start = first; start < end; start += daysStretch) {
    const stretch = { first: start, end: Math.min(end, start + daysStretch) };
    for (const { day, reads, submits } of await calls.countDays(admin.database, workspaceId, month, stretch)) {
      const counted = days.get(day) ?? { day, reads: 0, submits: 0 };
      days.set(day, { day, reads: counted.reads + reads, submits: counted.submits + submits });
    }
    admin.report?.(`Counted ${percent((stretch.end - first) / (end - first))}`);
  }
  return { ...found, days: [...days.values()].sort((a, b) => a.day < b.day ? -1 : 1) };
}

/** The months in which a workspace used anything, newest first. */
export async function listMonths(admin: Admin, workspaceId: string, page: PageRequest = {}): Promise<Page<MonthUsage>> {
  await getWorkspace(admin, workspaceId);
  return usage.listMonths(admin.database, workspaceId, page);
}

/** What the records of a deployment say in numbers, for each version of its prompt that has records. */
export async function readStats(
  admin: Admin,
  filter: StatsFilter,
): Promise<{ deployId: string; records: number; versions: VersionStats[] }> {
  await getDeployment(admin, filter.deployId);
  const report = (share: number) => admin.report?.(`Read ${percent(share)}`);
  const versions = await stats.findStats(admin.database, filter, report);
  const records = versions.reduce((sum, version) => sum + version.records, 0);
  return { deployId: filter.deployId, records, versions };
}

const pruneTime = 5_000; // ms that one action may take

/**
 * Takes the calls and records that are older than a time out of the log, in small transactions with as much time for others
 * in between; the books still balance. Gives how many, and whether that was all, or there is more to prune.
 */
export async function prune(
  { database, clock, report }: Admin,
  { olderThanMs }: { olderThanMs: number },
): Promise<{ calls: number; records: number; isDone: boolean }> {
  const before = clock() - olderThanMs;
  const pruned = { calls: 0, records: 0 };
  const deadline = performance.now() + pruneTime;
  while (performance.now() < deadline) {
    const start = performance.now();
    const end = await deletions.findPruneEnd(database, before);
    if (end === undefined) return { ...pruned, isDone: true };
    const { calls, records } = await deletions.pruneBefore(database, end);
    pruned.calls += calls;
    pruned.records += records;
    report?.(`Pruned ${pruned.calls} calls and ${pruned.records} records`);
    await new Promise((resolve) => setTimeout(resolve, performance.now() - start));
  }
  return { ...pruned, isDone: false };
}

/** What was found: `ledgers` are 1,000 at most of the total, those that are out of balance before the others. */
export type Verification = { balanced: boolean; total: number; unbalanced: number; ledgers: LedgerBalance[] };

const mostLedgers = 1_000;

/** Recounts the books of a workspace, or of all, and says of each month whether they balance. */
export async function verify(admin: Admin, workspaceId?: string): Promise<Verification> {
  if (workspaceId !== undefined) await getWorkspace(admin, workspaceId);
  const report = (share: number) => admin.report?.(`Verified ${percent(share)}`);
  const all = await listBalances(admin.database, workspaceId, report);
  const wrong = all.filter(({ balanced }) => !balanced);
  const right = all.filter(({ balanced }) => balanced);
  const shown = new Set([...wrong, ...right].slice(0, mostLedgers));
  const ledgers = all.filter((ledger) => shown.has(ledger));
  return { balanced: wrong.length === 0, total: all.length, unbalanced: wrong.length, ledgers };
}
