// Verifies that the ledger balances, by recounting quota, call log and records independently. It scans the log in
// slices, with bounded memory, and other requests run in between.
import type { WorkspaceId } from "../common/ids.ts";
import type { Database } from "../database/database.ts";
import { text } from "../database/row.ts";
import { endOfTick } from "../database/yielding.ts";
import type { LedgerBalance } from "../schema/ledger.ts";
import type { LogRange } from "../ledger/blocks.ts";
import { readLogSlice } from "./log-slice.ts";
import type { LogSlice } from "./log-slice.ts";
import { allWorkspaces, applyPruned, defaultPageRows, readCounts, recountOf } from "./recounts.ts";
import type { Recount, Recounts, Workspaces } from "./recounts.ts";

/**
 * Recounts every month of one workspace, or of all. A record counts only if the call that stored it is in the log, and
 * a call only if its commit is, in the month of the commit's time. Requests that arrive meanwhile are not counted.
 * `report` gets the progress, from 0 to 1.
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

/** A count of the log. `since` has the start of the log and the last pruning, as they were when the quota was read. */
type Count = {
  database: Database;
  workspaces: Workspaces;
  recounts: Recounts;
  /** The workspaces of the deployments and keys that were looked up so far, by their ids. */
  owners: { deployments: Map<string, string>; apiKeys: Map<string, string> };
  /** The workspaces that must be counted again, since they were pruned beyond `end`. */
  stale: Set<WorkspaceId>;
  /** End of the log when the first page was read. */
  end: number;
  since: { start: number; sequence: number };
};

/** Counts all of a range of the log, slice by slice. */
async function countRange(count: Count, { first, end }: LogRange, report: (share: number) => void): Promise<void> {
  if (first >= end) report(1);
  for (let start = first; start < end;) {
    start = await countSlice(count, { first: start, end });
    // libSQL frees the memory of a query only between two ticks.
    await endOfTick();
    report((start - first) / (end - first));
  }
}

/** Counts the first slice of a range. Returns its end. */
async function countSlice(count: Count, range: LogRange): Promise<number> {
  const { database, workspaces, since } = count;
  const slice = await readLogSlice(database, range, since);
  applyPruned(count, slice.pruned.filter((row) => isSelected(workspaces, text(row, "workspace_id"))));
  const { suspects, unmatched } = addCalls(count, slice);
  await addDisowned(count, { first: range.first, end: slice.end }, suspects);
  await addUnmatched(count, unmatched);
  return slice.end;
}

/** A row of calls. */
type Call = {
  workspaceId: string;
  position: number;
  /** The position after the last call of its row. */
  end: number;
  isSubmit: boolean;
  keyId: string;
  deployId: string;
  version: number;
};

/** A record, or a deleted one, without a call that stored it. */
type Unmatched = { deployId: string; month: string; isDeleted: boolean };

/**
 * Adds the calls of a slice, each with its records. Returns the calls whose deployment or key is not known to be of
 * their workspace, and the records without a call.
 */
function addCalls({ recounts, owners, workspaces }: Count, { commits, calls, records, deletions }: LogSlice) {
  const suspects: Call[] = [], unmatched: Unmatched[] = [];
  const monthOf = createMonthOf(commits);
  const createCounter = (rows: LogSlice["records"], isDeleted: boolean) => {
    const monthOf = createMonthOf(commits);
    return createRecordCounter(rows, (deployId, position) => {
      unmatched.push({ deployId, month: monthOf(position, position + 1), isDeleted });
    });
  };
  const countRecords = createCounter(records, false), countDeletions = createCounter(deletions, true);
  const [first = Infinity] = calls.positions;
  countRecords(undefined, first);
  countDeletions(undefined, first);
  for (let nth = 0, lastEnd = 0; nth < calls.positions.length; nth++) {
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
    const existing = countRecords(call, next), deleted = countDeletions(call, next);
    const month = monthOf(position, call.end);
    if (!isSelected(workspaces, call.workspaceId)) continue;
    const recount = recountOf(recounts, call.workspaceId, month);
    if (call.isSubmit) recount.submits += count;
    else recount.reads += count;
    recount.records += existing + deleted;
    recount.deleted += deleted;
    if (position < lastEnd || number !== recount.nextSequence) recount.discrepancies++;
    recount.nextSequence = number + count;
    lastEnd = call.end;
    // Most calls have the deployment and key of the call before them in their workspace.
    if (call.deployId === recount.deployId && call.keyId === recount.keyId) continue;
    recount.deployId = call.deployId;
    recount.keyId = call.keyId;
    if (!isOwned(owners, call)) suspects.push(call);
  }
  return { suspects, unmatched };
}

/**
 * Creates a function that finds the month of a range of positions: that of the commit that contains the whole range, or
 * unknown if there is no such commit or another one overlaps it. The ranges must be in order.
 */
function createMonthOf({ positions, ends, months }: LogSlice["commits"]): (first: number, end: number) => string {
  let nth = -1, lastEnd = 0;
  return (first, end) => {
    for (; positions[nth + 1]! <= first; nth++) lastEnd = Math.max(lastEnd, ends[nth] ?? 0);
    return first >= lastEnd && end <= ends[nth]! ? months[nth]! : "unknown";
  };
}

/**
 * Creates a function that counts the records of a call, to be called with the calls in order. `next` is the position of
 * the next call. Earlier records without a call go to `reject`.
 */
function createRecordCounter(
  { positions, deployIds, versions }: LogSlice["records"],
  reject: (deployId: string, position: number) => void,
): (call: Call | undefined, next: number) => number {
  let nth = 0;
  return (call, next) => {
    let count = 0;
    for (; positions[nth]! < next; nth++) {
      const position = positions[nth]!, deployId = deployIds[nth]!;
      const isOfCall = call?.isSubmit && position < call.end && deployId === call.deployId &&
        versions[nth] === call.version;
      if (isOfCall) count++;
      else reject(deployId, position);
    }
    return count;
  };
}

const isOwned = ({ deployments, apiKeys }: Count["owners"], { workspaceId, deployId, keyId }: Call): boolean =>
  deployments.get(deployId) === workspaceId && apiKeys.get(keyId) === workspaceId;

/**
 * Looks up the workspaces of the deployments and keys of some calls of a slice. If any is not that of its call, counts
 * every call of the slice with that fault as a discrepancy.
 */
async function addDisowned(count: Count, range: LogRange, suspects: Call[]): Promise<void> {
  if (suspects.length === 0) return;
  const { database, owners, recounts, workspaces } = count;
  await findOwners(count, suspects.map(({ deployId }) => deployId), suspects.map(({ keyId }) => keyId));
  if (suspects.every((call) => isOwned(owners, call))) return;
  for (const row of await database.read({ sql: disownedSql, args: range })) {
    const id = text(row, "workspace_id");
    if (isSelected(workspaces, id)) recountOf(recounts, id, text(row, "month")).discrepancies++;
  }
}

/** Counts records without a call as discrepancies of the workspaces that own their deployments. */
async function addUnmatched(count: Count, unmatched: Unmatched[]): Promise<void> {
  if (unmatched.length === 0) return;
  const { owners, recounts, workspaces } = count;
  await findOwners(count, unmatched.map(({ deployId }) => deployId), []);
  for (const { deployId, month, isDeleted } of unmatched) {
    const id = owners.deployments.get(deployId) ?? "unknown";
    if (!isSelected(workspaces, id)) continue;
    const recount = recountOf(recounts, id, month);
    recount.records++;
    recount.deleted += isDeleted ? 1 : 0;
    recount.discrepancies++;
  }
}

/** Looks up the workspaces of deployments and keys. Missing ones get no entry. */
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

// It reads the calls again: if a workspace was deleted meanwhile, its calls are gone like its deployments.
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
