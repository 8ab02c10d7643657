// Reads a slice of the log to verify it: the commits, calls and records of some positions. Each column is read as one
// list, because rows would take several times as long.
import type { Database, Row } from "../database/database.ts";
import { integer, text } from "../database/row.ts";
import type { LogRange } from "../ledger/blocks.ts";
import { newlyPruned } from "./recounts.ts";

/** Rows of a table in order of position, as one list for each column. */
type Commits = { positions: number[]; ends: number[]; months: string[] };
type Calls = {
  positions: number[];
  counts: number[];
  numbers: number[];
  /** 1 for a submit, 0 for a read. */
  submits: number[];
  workspaceIds: string[];
  keyIds: string[];
  deployIds: string[];
  versions: number[];
};
type Records = { positions: number[]; deployIds: string[]; versions: (number | null)[] };

/** `deletions` replace the deleted records. `pruned` are the rows of `newlyPruned`. */
export type LogSlice = {
  end: number;
  commits: Commits;
  calls: Calls;
  records: Records;
  deletions: Records;
  pruned: Row[];
};

type Columns<Lists> = Record<keyof Lists, string>;

const commits: Columns<Commits> = {
  positions: "position",
  ends: "next_position",
  // If the commit's time is in another month, its month is unknown.
  months: "iif(month = strftime('%Y-%m', created_at / 1000, 'unixepoch'), month, 'unknown')",
};
const calls: Columns<Calls> = {
  positions: "position",
  counts: "count",
  numbers: "number",
  submits: "operation = 'submit'",
  workspaceIds: "workspace_id",
  keyIds: "api_key_id",
  deployIds: "deployment_id",
  versions: "prompt_version",
};
const records: Columns<Records> = { positions: "position", deployIds: "deployment_id", versions: "prompt_version" };
const deletions: Columns<Records> = {
  ...records,
  // If the record still exists, the call is the record's. Without a version the deletion matches no call.
  versions: "iif(position in (select position from diagnoses), null, prompt_version)",
};
const tables = { commits, calls, records, deletions };

const sliceLength = 2_048; // positions that one query scans: some 5 ms

const listsOf = (name: keyof typeof tables): string =>
  Object.entries(tables[name]).map(([list, column]) => `json_group_array(${column}) as ${name}_${list}`).join(", ");

const inSlice = "position >= :first and position < (select end from slice)";

// The commits begin with the one before the slice, which may overlap it if the log is damaged.
const sliceSql = `
  with slice as materialized (
    select coalesce((select min(position) from commits where position >= :first + ${sliceLength} and position < :end), :end)
      as end
  )
  select 'slice' as kind, null as workspace_id, null as month, 0 as reads, 0 as submits,
    (select end from slice) as position, *
  from (select ${listsOf("calls")} from calls where ${inSlice})
  cross join (
    select ${listsOf("commits")} from commits
    where position >= coalesce((select max(position) from commits where position < :first), :first)
      and position < (select end from slice)
  )
  cross join (select ${listsOf("records")} from diagnoses where ${inSlice})
  cross join (select ${listsOf("deletions")} from deleted_diagnoses where ${inSlice})
  union all
  select *${", null".repeat(Object.values(tables).flatMap(Object.keys).length)} from (${newlyPruned})`;

/**
 * Reads the first slice of a range. It ends where a commit begins, which keeps commits whole. `since` has the start of
 * the log and the last pruning, as they were when counting began.
 */
export async function readLogSlice(
  database: Database,
  range: LogRange,
  since: { start: number; sequence: number },
): Promise<LogSlice> {
  const rows = await database.read({ sql: sliceSql, args: { ...range, ...since } });
  const slice = rows.find(({ kind }) => kind === "slice")!;
  const listsIn = <Lists>(name: keyof typeof tables) =>
    Object.fromEntries(
      Object.keys(tables[name]).map((list) => [list, JSON.parse(text(slice, `${name}_${list}`))]),
    ) as Lists;
  return {
    end: integer(slice, "position"),
    commits: listsIn("commits"),
    calls: listsIn("calls"),
    records: listsIn("records"),
    deletions: listsIn("deletions"),
    pruned: rows.filter((row) => row !== slice),
  };
}
