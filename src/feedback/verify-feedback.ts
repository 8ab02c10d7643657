// Verifies feedback: that each piece is on a record whose workspace has its name, that the history of a piece has no
// gaps, and that the bounds hold. It reads slices, as the verification of the ledger does.
import type { WorkspaceId } from "../common/ids.ts";
import type { Database, Row } from "../database/database.ts";
import { integer, integerOrNull, text, textOrNull } from "../database/row.ts";
import { endOfTick } from "../database/yielding.ts";
import type { FeedbackCheck, FeedbackFault } from "../schema/feedback.ts";
import { idAt } from "../ledger/blocks.ts";
import { keptChanges } from "./feedback-rows.ts";
import { recordLimits } from "./feedback-state.ts";

const sliceRows = 2_048;
const maxFaults = 100; // that are listed

/**
 * Counts and checks the feedback of one workspace, or of all. Only the check of all finds feedback without a workspace.
 * `report` gets the progress, from 0 to 1.
 */
export async function verifyFeedback(
  database: Database,
  workspaceId: WorkspaceId | undefined,
  report: (share: number) => void,
  rows = sliceRows,
): Promise<FeedbackCheck> {
  const check: FeedbackCheck = { pieces: 0, earlier: 0, waiting: 0, faults: 0, rows: [] };
  const only = workspaceId ?? null, bounds = { only, names, authors, rows };
  const [last] = await database.read({ sql: "select max(position) as position from feedback" });
  const end = integerOrNull(last!, "position") ?? 0;
  for (let after: number | null = Number.MIN_SAFE_INTEGER; after !== null;) {
    const found: Row[] = await database.read({ sql: storedSql, args: { ...bounds, kept: keptChanges, after } });
    after = integerOrNull(addSlice(check, found), "end");
    // libSQL frees the memory of a query only between two ticks.
    await endOfTick();
    report(after === null || after >= end ? 1 : Math.max(0, after / end));
  }
  for (let after = { workspace: only ?? "", key: "" }, isDone = false; !isDone;) {
    const found = await database.read({ sql: waitingSql, args: { ...bounds, ...after } });
    const slice = addSlice(check, found);
    const workspace = textOrNull(slice, "end");
    if (workspace === null) isDone = true;
    else after = { workspace, key: text(slice, "end_key") };
    await endOfTick();
  }
  let workspace: string | null = "";
  do {
    const [row]: Row[] = await database.read({ sql: countSql, args: { only, after: workspace } });
    workspace = textOrNull(row!, "workspace_id");
    if (integer(row!, "places") !== integer(row!, "counted")) {
      addFault(check, { what: "other_count", place: workspace! });
    }
    await endOfTick();
  } while (workspace !== null && only === null);
  return check;
}

/** Adds the findings of a slice, and returns the row with its end. */
function addSlice(check: FeedbackCheck, found: Row[]): Row {
  const slice = found.find(({ what }) => what === "slice")!;
  check.pieces += integer(slice, "pieces");
  check.earlier += integer(slice, "earlier");
  check.waiting += integer(slice, "waiting");
  for (const row of found) {
    if (row === slice) continue;
    addFault(check, {
      what: text<FeedbackFault["what"]>(row, "what"),
      place: text(row, "place"),
      name: textOrNull(row, "name"),
      author: textOrNull(row, "author"),
    });
  }
  return slice;
}

function addFault(check: FeedbackCheck, fault: Pick<FeedbackFault, "what" | "place"> & Partial<FeedbackFault>): void {
  if (++check.faults <= maxFaults) check.rows.push({ name: null, author: null, ...fault });
}

const maxNamed = 10;

/** Describes the findings, as the end of a sentence without a period. */
export function describeFeedbackCheck({ pieces, earlier, waiting, faults, rows }: FeedbackCheck): string {
  const counts = `${pieces} piece${pieces === 1 ? "" : "s"}, ${earlier} earlier, ${waiting} waiting`;
  if (faults === 0) return counts;
  const named = rows.slice(0, maxNamed).map(({ what, place, name, author }) =>
    [place, name, author].filter((part) => part !== null && part !== "").join(" ") + ` (${what})`
  );
  return `${counts}, wrong: ${named.join(", ")}${faults > named.length ? ` and ${faults - named.length} more` : ""}`;
}

const { names, authors } = recordLimits;

/** SQL for the fault of the value of `q` against its name (n), or null. */
const nameFault = `case
      when n.kind is null then 'unknown_name'
      when case n.kind when 'label' then typeof(q.value) <> 'text' when 'boolean' then q.value not in (0, 1)
        else typeof(q.value) not in ('integer', 'real') end then 'other_kind'
    end`;

const noCounts = "null as pieces, null as earlier, null as waiting, null as end, null as end_key";

/** Where pieces (q) have more names or authors than may be. */
const overBounds = (place: string, pieces: string): string => `
  select 'too_many_names', ${place}, null, null, ${noCounts} from ${pieces} group by ${place}
  having count(distinct q.name) > :names
  union all
  select 'too_many_authors', ${place}, q.name, null, ${noCounts} from ${pieces} group by ${place}, q.name
  having count(*) > :authors`;

const nthPosition = (table: string): string =>
  `coalesce((select position from ${table} where position > :after order by position limit 1 offset :rows - 1), 1 << 62)`;
const positionsIn = (table: string): string =>
  `select position from ${table} where position > :after and position <= (select end from slice)`;
const tables = ["feedback", "earlier_feedback", "feedback_counts", "feedback_histories"];

const pieces = "place p cross join feedback q on q.position = p.position";
const earlier = "place p cross join earlier_feedback q on q.position = p.position";
const withName = "left join feedback_names n on n.workspace_id = p.workspace_id and n.name = q.name";
const numberOf = (word: string) => `(select id from feedback_words where word = ${word})`;

/** The counts of the feedback on a record, which feedback_counts must have. */
const counted = `select ${numberOf("f.name")}, iif(typeof(f.value) = 'text', ${numberOf("f.value")}, f.value), count(*)
      from feedback f where f.position = p.position group by 1, 2`;
const stored = "select name_id, value, pieces from feedback_counts where position = p.position";

// A slice ends at a position, so that all feedback on a record is in one. Feedback on a record that is not there is of the
// workspace whose call is at its position, if there is one. Comments, which are long, are never read.
const storedSql = `
  with slice(end) as materialized (select min(${tables.map(nthPosition).join(", ")})),
  place as materialized (
    select p.position, d.position is not null and c.operation = 'submit' as has_record, c.workspace_id,
      coalesce(${idAt("diag", "p.position")}, 'position ' || p.position) as place
    from (${tables.map(positionsIn).join(" union ")}) p
    left join diagnoses d on d.position = p.position
    left join calls c on c.position = (select max(position) from calls where position <= p.position)
      and p.position < c.position + c.count
    left join commits m on m.position = (select max(position) from commits where position <= p.position)
      and p.position < m.next_position
    where :only is null or c.workspace_id = :only
  ),
  fault as (
    select case when p.has_record is not 1 then 'no_record' else ${nameFault} end as what, p.place, q.name, q.author
    from ${pieces} ${withName}
    union
    select case when p.has_record is not 1 then 'no_record' else max(${nameFault}) end, p.place, q.name, q.author
    from ${earlier} ${withName} group by q.position, q.name, q.author
    union
    select 'history', p.place, q.name, q.author from ${pieces}
    where q.change <> 1 + coalesce(
      (select max(change) from earlier_feedback where position = q.position and name = q.name and author = q.author), 0
    )
    union
    select 'history', p.place, q.name, q.author from ${earlier} group by q.position, q.name, q.author
    having max(q.change) - min(q.change) + 1 <> count(*) or min(q.change) > 1 and count(*) < :kept - 1
    union
    select 'other_count', p.place, null, null from place p
    where exists (select * from (${counted} except ${stored})) or exists (select * from (${stored} except ${counted}))
      or coalesce((select changes from feedback_histories where position = p.position), 0)
        <> (select count(*) from earlier_feedback where position = p.position)
  )
  select 'slice' as what, null as place, null as name, null as author, (select count(*) from ${pieces}) as pieces,
    (select count(*) from ${earlier}) as earlier, 0 as waiting, nullif((select end from slice), 1 << 62) as end,
    null as end_key
  union all
  select *, ${noCounts} from fault where what is not null
  union all ${overBounds("p.place", pieces)}`;

const afterStart = "(q.workspace_id, q.key) > (:workspace, :key) and (:only is null or q.workspace_id = :only)";

// A slice ends at an idempotency key. `place` is the hash of the key.
const waitingSql = `
  with slice(end, end_key) as materialized (
    select workspace_id, key from waiting_feedback q where ${afterStart} order by workspace_id, key limit 1 offset :rows - 1
  ),
  piece as materialized (
    select q.workspace_id, q.key, q.name, q.author, ${nameFault} as fault from waiting_feedback q
    left join feedback_names n on n.workspace_id = q.workspace_id and n.name = q.name
    where ${afterStart}
      and (not exists (select 1 from slice) or (q.workspace_id, q.key) <= (select end, end_key from slice))
  ),
  fault as (
    select case
        when q.workspace_id not in (select id from workspaces) then 'no_workspace'
        when exists (select 1 from idempotency_keys k where k.workspace_id = q.workspace_id and k.key = q.key) then 'arrived'
        else q.fault
      end as what, q.key as place, q.name, q.author
    from piece q
    union all
    select 'no_workspace', workspace_id, name, null from feedback_names
    where :only is null and :key = '' and workspace_id not in (select id from workspaces)
  )
  select 'slice' as what, null as place, null as name, null as author, 0 as pieces, 0 as earlier,
    (select count(*) from piece) as waiting, (select end from slice) as end, (select end_key from slice) as end_key
  union all
  select *, ${noCounts} from fault where what is not null
  union all ${overBounds("q.key", "piece q")}`;

// The next workspace with waiting feedback, or with a count of it. Its waiting feedback is bounded by its places.
const countSql = `
  with next(id) as (
    select coalesce(:only, min(id)) from (
      select min(workspace_id) as id from waiting_counts where workspace_id > :after
      union all select min(workspace_id) from waiting_feedback where workspace_id > :after
    )
  )
  select id as workspace_id, coalesce((select places from waiting_counts where workspace_id = id), 0) as counted,
    (select coalesce(sum(places), 0) from waiting_feedback where workspace_id = id) as places
  from next`;
