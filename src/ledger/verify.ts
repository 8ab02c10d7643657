// Verifies that the ledger balances, by recounting quota, call log and records independently. It scans the log in slices, so
// that a long log takes no more memory, and other requests run in between.
import type { WorkspaceId } from "../common/ids.ts";
import type { LedgerBalance } from "../schema/ledger.ts";
import type { LogRange } from "./blocks.ts";
import { readLogSlice } from "./log-slice.ts";
import type { LogSlice } from "./log-slice.ts";
import { allWorkspaces, applyPruned, defaultPageRows, readCounts, recountOf } from "./recounts.ts";
import type { Recount, Recounts, Workspaces } from "./recounts.ts";
import type { Database } from "../database/database.ts";
import { text } from "../database/row.ts";
import { endOfTick } from "../database/yielding.ts";

/**
 * Recounts every month of one workspace, or of all. A record counts only if the call that stored it is in the log, and a call
 * only if its commit is, in the month of the commit's time. No count includes requests that arrive meanwhile. `report` gets the
 * progress, from 0 to 1.
 */
export async function verifyLedger(
  database: Database,
  workspaceId: WorkspaceId | undefined,
  report: (share: number) => void,
  pageRows = defaultPageRows,
): Promise<LedgerBalance[]> {
  const selected = workspaceId === undefined ? allWorkspaces : { from: workspaceId, to: workspaceId };
  const { recounts, first, pages, sequence } = await readCounts(database, selected, pageRows);
  const [{ end }, ...later] = pages as [typeof pages[number], ...typeof pages];
  const stale = new Set<WorkspaceId>();
  const owners = { deployments: new Map<string, string>(), apiKeys: new Map<string, string>() };
  const count = { database, recounts, owners, stale, end, since: { start: first, sequence } };
  await countRange({ ...count, workspaces: selected }, { first, end }, report);
  // The quota of a later page includes requests accepted after the first page was read, so the log is counted further.
  for (const { workspaces, end: laterEnd } of later) {
    await countRange({ ...count, workspaces }, { first: end, end: laterEnd }, () => {});
  }
  const ofFresh = [...recounts].flatMap(([id, months]) => stale.has(id as WorkspaceId) ? [] : months);
  const balances = ofFresh.map(toBalance);
  for (const id of stale) balances.push(...await verifyLedger(database, id, () => {}, pageRows));
  return balances.sort(byWorkspaceAndMonth);
}

/** A count of the log. `since` is where the log began, and the last pruning, when the quota was read. */
type Count = {
  database: Database;
  workspaces: Workspaces;
  recounts: Recounts;
  /** The workspace of each deployment and key that calls have named so far, by its id. */
  owners: { deployments: Map<string, string>; apiKeys: Map<string, string> };
  /** The workspaces that must be counted again, since they were pruned beyond `end`. */
  stale: Set<WorkspaceId>;
  /** Where the log ended when the first page was read. */
  end: number;
  since: { start: number; sequence: number };
};

/** Counts all of a range of the log, slice by slice. */
async function countRange(count: Count, { first, end }: LogRange, report: (share: number) => void): Promise<void> {
  for (let start = first; start < end;) {
    start = await countSlice(count, { first: start, end });
    // libSQL frees what a query took only between two ticks.
    await endOfTick();
    report((start - first) / (end - first));
  }
}

/** Counts the first slice of a range. Returns where it ends. */
async function countSlice(count: Count, range: LogRange): Promise<number> {
  const { database, workspaces, since } = count;
  const slice = await readLogSlice(database, range, since);
  applyPruned(count, slice.pruned.filter((row) => isSelected(workspaces, text(row, "workspace_id"))));
  const { unsure, strays } = addCalls(count, slice);
  await addDisowned(count, { first: range.first, end: slice.end }, unsure);
  await addStrays(count, strays);
  return slice.end;
}

type Call = {
  workspaceId: string;
  position: number;
  /** Where its run of calls ends. */
  end: number;
  isSubmit: boolean;
  keyId: string;
  deployId: string;
  version: number;
};

/** A record, or the mark of a deleted one, without a call that stored it. */
type Stray = { deployId: string; month: string; isMark: boolean };

/**
 * Adds the calls of a slice, each with its records. Returns those whose deployment or key may be of another workspace, and the
 * records without a call.
 */
function addCalls({ recounts, owners, workspaces }: Count, { commits, calls, records, marks }: LogSlice) {
  const unsure: Call[] = [], strays: Stray[] = [];
  const monthOf = createMonths(commits);
  const takeRecords = createTake(records, createMonths(commits), (stray) => strays.push({ ...stray, isMark: false }));
  const takeMarks = createTake(marks, createMonths(commits), (stray) => strays.push({ ...stray, isMark: true }));
  const [first = Infinity] = calls.positions;
  takeRecords(undefined, first);
  takeMarks(undefined, first);
  for (let nth = 0, before = 0; nth < calls.positions.length; nth++) {
    const position = calls.positions[nth]!, number = calls.numbers[nth]!, count = calls.counts[nth]!;
    const call: Call = {
      workspaceId: calls.workspaceIds[nth]!,
      position,
      end: position + count,
      isSubmit: calls.submits[nth] === 1,
      keyId: calls.keyIds[nth]!,
      deployId: calls.deployIds[nth]!,
      version: calls.versions[nth]!,
    };
    const next = calls.positions[nth + 1] ?? Infinity;
    const kept = takeRecords(call, next), deleted = takeMarks(call, next);
    const month = monthOf(position, call.end);
    if (!isSelected(workspaces, call.workspaceId)) continue;
    const recount = recountOf(recounts, call.workspaceId, month);
    if (call.isSubmit) recount.submits += count;
    else recount.reads += count;
    recount.records += kept + deleted;
    recount.deleted += deleted;
    if (position < before || number !== recount.nextSequence) recount.discrepancies++;
    recount.nextSequence = number + count;
    before = call.end;
    // Most calls of a workspace name what the one before them did.
    if (call.deployId === recount.deployId && call.keyId === recount.keyId) continue;
    recount.deployId = call.deployId;
    recount.keyId = call.keyId;
    if (!isOwned(owners, call)) unsure.push(call);
  }
  return { unsure, strays };
}

/** Makes a function that finds the month of positions, which increase from call to call: that of the one commit that has them. */
function createMonths({ positions, ends, months }: LogSlice["commits"]): (first: number, end: number) => string {
  let nth = -1, before = 0;
  return (first, end) => {
    for (; positions[nth + 1]! <= first; nth++) before = Math.max(before, ends[nth] ?? 0);
    return first >= before && end <= ends[nth]! ? months[nth]! : "unknown";
  };
}

/**
 * Makes a function that counts the records of a call, among those below a position that it has not seen yet. The others have no
 * call.
 */
function createTake(
  { positions, deployIds, versions }: LogSlice["records"],
  monthOf: (first: number, end: number) => string,
  reject: (stray: { deployId: string; month: string }) => void,
): (call: Call | undefined, below: number) => number {
  let nth = 0;
  return (call, below) => {
    let taken = 0;
    for (; positions[nth]! < below; nth++) {
      const position = positions[nth]!, deployId = deployIds[nth]!;
      const isOfCall = call?.isSubmit && position < call.end && deployId === call.deployId &&
        versions[nth] === call.version;
      if (isOfCall) taken++;
      else reject({ deployId, month: monthOf(position, position + 1) });
    }
    return taken;
  };
}

const isOwned = ({ deployments, apiKeys }: Count["owners"], { workspaceId, deployId, keyId }: Call): boolean =>
  deployments.get(deployId) === workspaceId && apiKeys.get(keyId) === workspaceId;

/** Finds the owners of what calls name. If one is another workspace, or none, counts the calls of a slice that name such. */
async function addDisowned(count: Count, range: LogRange, unsure: Call[]): Promise<void> {
  if (unsure.length === 0) return;
  const { database, owners, recounts, workspaces } = count;
  await findOwners(count, unsure.map(({ deployId }) => deployId), unsure.map(({ keyId }) => keyId));
  if (unsure.every((call) => isOwned(owners, call))) return;
  for (const row of await database.read({ sql: disownedSql, args: range })) {
    const id = text(row, "workspace_id");
    if (isSelected(workspaces, id)) recountOf(recounts, id, text(row, "month")).discrepancies++;
  }
}

/** Counts records without a call for the workspaces of their deployments. */
async function addStrays(count: Count, strays: Stray[]): Promise<void> {
  if (strays.length === 0) return;
  const { owners, recounts, workspaces } = count;
  await findOwners(count, strays.map(({ deployId }) => deployId), []);
  for (const { deployId, month, isMark } of strays) {
    const id = owners.deployments.get(deployId) ?? "unknown";
    if (!isSelected(workspaces, id)) continue;
    const recount = recountOf(recounts, id, month);
    recount.records++;
    recount.deleted += isMark ? 1 : 0;
    recount.discrepancies++;
  }
}

async function findOwners({ database, owners }: Count, deployIds: string[], keyIds: string[]): Promise<void> {
  const textOf = (ids: string[]) => JSON.stringify([...new Set(ids)]);
  const args = { deployIds: textOf(deployIds), keyIds: textOf(keyIds) };
  for (const row of await database.read({ sql: ownersSql, args })) {
    (row.is_key ? owners.apiKeys : owners.deployments).set(text(row, "id"), text(row, "workspace_id"));
  }
}

const ownersSql = `
  select id, workspace_id, 0 as is_key from deployments where id in (select value from json_each(:deployIds))
  union all
  select id, workspace_id, 1 from api_keys where id in (select value from json_each(:keyIds))`;

// It reads the calls once more: those of a workspace that was deleted meanwhile are gone as its deployments are.
const disownedSql = `
  select c.workspace_id, m.month
  from commits m cross join calls c on c.position >= m.position and c.position < m.next_position
  where m.position >= :first and m.position < :end and (
    not exists (select 1 from deployments where id = c.deployment_id and workspace_id = c.workspace_id) or
    not exists (select 1 from api_keys where id = c.api_key_id and workspace_id = c.workspace_id)
  )`;

const isSelected = ({ from, to }: Workspaces, id: string): boolean => from <= id && id <= to;

function toBalance(
  { workspaceId, month, counted, pruned, prunedRecords, discrepancies, ...log }: Recount,
): LedgerBalance {
  const reads = log.reads + pruned.reads;
  const submits = log.submits + pruned.submits;
  const records = log.records + prunedRecords;
  return {
    workspaceId,
    month,
    used: counted.reads + counted.submits,
    calls: reads + submits,
    reads,
    records,
    deleted: log.deleted,
    pruned: pruned.reads + pruned.submits,
    balanced: month !== "unknown" && discrepancies === 0 && counted.reads === reads && counted.submits === submits &&
      counted.submits === records,
  };
}

const byWorkspaceAndMonth = (a: LedgerBalance, b: LedgerBalance) =>
  a.workspaceId < b.workspaceId ? -1 : a.workspaceId > b.workspaceId ? 1 : a.month < b.month ? -1 : 1;
