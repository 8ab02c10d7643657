// Verifies that the ledger balances, by recounting quota, call log and records independently. It scans the log in slices, so
// that a long log takes no more memory, and other requests run in between.
import type { WorkspaceId } from "../common/ids.ts";
import type { LedgerBalance } from "../schema/ledger.ts";
import type { LogRange } from "./blocks.ts";
import { allWorkspaces, applyPruned, defaultPageRows, newlyPruned, readCounts, recountOf } from "./recounts.ts";
import type { Recount, Recounts, Workspaces } from "./recounts.ts";
import type { Database, Row } from "../database/database.ts";
import { integer, text, textOrNull } from "../database/row.ts";

const sliceLength = 2_048; // positions that one query scans: some 5 ms

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
    report((start - first) / (end - first));
  }
}

const inSlice = (column: string): string => `${column} >= :first and ${column} < (select end from slice)`;

/** The condition that a record or a deleted one (d) is of a submit (c). */
const isOfCall = `d.position >= c.position and d.position < c.position + c.count
  and d.deployment_id = c.deployment_id and d.prompt_version = c.prompt_version`;

const countOfCall = (table: string, condition = "true"): string =>
  `iif(c.operation = 'submit', (select count(*) from ${table} d where ${isOfCall} and ${condition}), 0)`;

/**
 * A query for the first slice of a range, which ends at a commit, so that no commit is split. `text` has `columns` values of each
 * call, since rows would take several times as long. Commits, calls and records are scanned side by side, which leaves out
 * calls without a commit and records without a call. The counts of all show whether there are any. `thorough` finds them too.
 */
const sliceSql = (thorough: boolean): string => `
  with slice as materialized (
    select coalesce((select min(position) from commits where position >= :first + ${sliceLength} and position < :end), :end)
      as end
  ),
  committed as materialized (
    select position, next_position - 1 as last,
      -- The month is unknown if the time of the commit is in another one.
      iif(month = strftime('%Y-%m', created_at / 1000, 'unixepoch'), month, 'unknown') as month
    from commits where ${inSlice("position")}
    ${thorough ? `union all ${callsWithoutCommit}` : ""}
  )
  select 'calls' as kind, null as workspace_id, null as month, 0 as reads, 0 as submits,
    (select end from slice) as position,
    (select count(*) from calls where ${inSlice("position")}) as calls,
    (select count(*) from diagnoses where ${inSlice("position")}) +
      (select count(*) from deleted_diagnoses where ${inSlice("position")}) as records,
    (
      select group_concat(format('%s,"%s",%d,%d,%d,%d,%d,%d,%s,%s', json_quote(c.workspace_id),
        iif(c.position + c.count - 1 <= m.last, m.month, 'unknown'), c.position, c.count, c.number, c.operation = 'submit',
        ${countOfCall("diagnoses")},
        ${countOfCall("deleted_diagnoses", "not exists (select 1 from diagnoses where position = d.position)")},
        json_quote(c.deployment_id), json_quote(c.api_key_id)))
      from committed m cross join calls c on c.position between m.position and m.last
    ) as text
  ${thorough ? `union all ${recordsWithoutCall}` : ""}
  union all
  select *, 0, 0, null from (${newlyPruned})`;

const callsWithoutCommit = `
  select position, position, 'unknown' from calls
  where ${inSlice("position")} and not exists (
    select 1 from commits m
    where m.position = (select max(position) from commits where position <= calls.position)
      and calls.position < m.next_position
  )`;

const recordsWithoutCall = `
  select 'stray', coalesce(p.workspace_id, 'unknown'), coalesce(m.month, 'unknown'), 0, 0, is_deleted, 0, 0, null
  from (
    select position, deployment_id, prompt_version, 0 as is_deleted from diagnoses where ${inSlice("position")}
    union all
    select position, deployment_id, prompt_version, 1 from deleted_diagnoses where ${inSlice("position")}
  ) d
  left join deployments p on p.id = d.deployment_id
  left join committed m on d.position between m.position and m.last
  where is_deleted and d.position in (select position from diagnoses) or not exists (
    select 1 from calls c
    where c.position = (select max(position) from calls where position <= d.position)
      and c.operation = 'submit' and ${isOfCall}
  )`;

/** Counts the first slice of a range. Returns where it ends. */
async function countSlice(count: Count, range: LogRange, thorough = false): Promise<number> {
  const { database, recounts, workspaces, since } = count;
  const rows = await database.read({ sql: sliceSql(thorough), args: { ...range, ...since } });
  const slice = rows.find(({ kind }) => kind === "calls")!;
  const calls = toCalls(JSON.parse(`[${textOrNull(slice, "text") ?? ""}]`));
  if (!thorough && !isComplete(slice, calls)) return await countSlice(count, range, true);
  const selected = rows.filter((row) => row !== slice && isSelected(workspaces, text(row, "workspace_id")));
  applyPruned(count, selected.filter(({ kind }) => kind === "pruned"));
  const end = integer(slice, "position");
  await addDisowned(count, { first: range.first, end }, addCalls(count, range, calls));
  for (const row of selected.filter(({ kind }) => kind === "stray")) {
    const recount = recountOf(recounts, text(row, "workspace_id"), text(row, "month"));
    recount.records++;
    recount.deleted += integer(row, "position");
    recount.discrepancies++;
  }
  return end;
}

/** Whether the calls of a slice are all that it has, and have all of its records. */
function isComplete(slice: Row, calls: Call[]): boolean {
  const records = calls.reduce((sum, { kept, deleted }) => sum + kept + deleted, 0);
  return calls.length === integer(slice, "calls") && records === integer(slice, "records");
}

/** Adds the calls of a slice, which are in order. Returns those whose deployment or key may be of another workspace. */
function addCalls({ recounts, owners, workspaces }: Count, { first }: LogRange, calls: Call[]): Call[] {
  const unsure: Call[] = [];
  let end = first;
  for (const call of calls) {
    const { workspaceId, month, position, count, number, isSubmit, kept, deleted, deployId, keyId } = call;
    if (!isSelected(workspaces, workspaceId)) continue;
    const recount = recountOf(recounts, workspaceId, month);
    if (isSubmit) recount.submits += count;
    else recount.reads += count;
    recount.records += kept + deleted;
    recount.deleted += deleted;
    if (position < end || number !== recount.nextSequence) recount.discrepancies++;
    recount.nextSequence = number + count;
    end = position + count;
    // Most calls of a workspace name what the one before them did.
    if (deployId === recount.deployId && keyId === recount.keyId) continue;
    recount.deployId = deployId;
    recount.keyId = keyId;
    if (!isOwned(owners, call)) unsure.push(call);
  }
  return unsure;
}

const isOwned = ({ deployments, apiKeys }: Count["owners"], { workspaceId, deployId, keyId }: Call): boolean =>
  deployments.get(deployId) === workspaceId && apiKeys.get(keyId) === workspaceId;

/** Finds the owners of what calls name. If one is another workspace, or none, counts the calls of a slice that name such. */
async function addDisowned({ database, owners, recounts, workspaces }: Count, range: LogRange, unsure: Call[]) {
  if (unsure.length === 0) return;
  const textOf = (ids: string[]) => JSON.stringify([...new Set(ids)]);
  const args = {
    deployIds: textOf(unsure.map(({ deployId }) => deployId)),
    keyIds: textOf(unsure.map(({ keyId }) => keyId)),
  };
  for (const row of await database.read({ sql: ownersSql, args })) {
    (row.is_key ? owners.apiKeys : owners.deployments).set(text(row, "id"), text(row, "workspace_id"));
  }
  if (unsure.every((call) => isOwned(owners, call))) return;
  for (const row of await database.read({ sql: disownedSql, args: range })) {
    const id = text(row, "workspace_id");
    if (isSelected(workspaces, id)) recountOf(recounts, id, text(row, "month")).discrepancies++;
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

type Call = {
  workspaceId: string;
  month: string;
  position: number;
  count: number;
  number: number;
  isSubmit: boolean;
  kept: number;
  deleted: number;
  deployId: string;
  keyId: string;
};

const columns = 10;

/** The calls of a slice, of which the text has `columns` values each. */
const toCalls = (values: (string | number)[]): Call[] =>
  Array.from({ length: values.length / columns }, (_, nth) => {
    const at = nth * columns;
    return {
      workspaceId: values[at] as string,
      month: values[at + 1] as string,
      position: values[at + 2] as number,
      count: values[at + 3] as number,
      number: values[at + 4] as number,
      isSubmit: values[at + 5] === 1,
      kept: values[at + 6] as number,
      deleted: values[at + 7] as number,
      deployId: values[at + 8] as string,
      keyId: values[at + 9] as string,
    };
  });

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
