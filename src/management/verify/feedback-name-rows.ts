// Compares the names of feedback that workspaces declared with the audit log. Names that were only used have no entry.
import { groupBy } from "../../support/group-by.ts";
import { isMaskOf } from "../../common/ids.ts";
import type { Database } from "../../database/database.ts";
import { text } from "../../database/row.ts";
import { readMembers, toEntry } from "../kernel/audit-chain.ts";
import type { RowFault } from "./audit-faults.ts";
import { toRule } from "../terms/feedback-names.ts";

const pageRows = 64; // workspaces
const pageEntries = 512;

const idsSql = `select id from workspaces where id > ? and id not in (select id from deleted_workspaces)
  order by id limit ${pageRows}`;
const rowsSql = "select * from feedback_names where workspace_id in (select value from json_each(?)) order by name";
const entriesSql = `
  select * from audit_log
  where target_id in (select value from json_each(:ids)) and action glob 'feedback_name.*'
    and (target_id, position) > (:id, :position) order by target_id, position limit ${pageEntries}`;

/** Members of a name that was only used, without its kind. Entries have the members that they change. */
const ofUse = ["minimum", "maximum", "labels", "better"].map((member): [string, string] => [member, "null"]);

/** State of a name after its entries: the JSON text of each member in them. */
type History = { state: Map<string, string>; position: number };

/**
 * Compares the names of the workspaces after an id. `last` is the start of the next page; undefined on the last one.
 */
export async function compareNames(database: Database, after: string) {
  const ids = (await database.read({ sql: idsSql, args: [after] })).map((row) => text(row, "id"));
  const faults: RowFault[] = [];
  const add = (what: RowFault["what"], id: string, name: string, position: number | null, members: string[] = []) =>
    void faults.push({ what, noun: "feedback_name", id: `${id}:${name}`, members, position });
  const histories = await readHistories(database, ids, add);
  const rows = await database.read({ sql: rowsSql, args: [JSON.stringify(ids)] });
  const rulesOf = groupBy(rows, (row) => text(row, "workspace_id"));
  for (const id of ids) {
    const rules = new Map((rulesOf.get(id) ?? []).map(toRule).map((rule) => [rule.name, rule]));
    for (const [name, { state, position }] of histories.get(id) ?? []) {
      // The log masks secrets, even in names.
      const rule = rules.get(name) ?? [...rules.values()].find((each) => isMaskOf(name, each.name));
      if (rule === undefined) {
        add("removed", id, name, position);
        continue;
      }
      rules.delete(rule.name);
      const members = Object.entries(rule).filter(([member, value]) =>
        state.has(member) && !isMaskOf(state.get(member)!, JSON.stringify(value))
      );
      if (members.length > 0) add("changed", id, rule.name, position, members.map(([member]) => member));
    }
    for (const { name, isDeclared } of rules.values()) if (isDeclared) add("added", id, name, null);
  }
  return { faults, last: ids.length < pageRows ? undefined : ids.at(-1) };
}

/** Histories of names by workspace. Calls `add` with entries whose `before` differs from the earlier entries. */
async function readHistories(
  database: Database,
  ids: string[],
  add: (what: "found", id: string, name: string, position: number, members: string[]) => void,
): Promise<Map<string, Map<string, History>>> {
  const all = new Map(ids.map((id) => [id, new Map<string, History>()]));
  for (let id = "", position = 0, isLast = false; !isLast;) {
    const rows = await database.read({ sql: entriesSql, args: { ids: JSON.stringify(ids), id, position } });
    for (const row of rows) {
      const { before, after, ...entry } = toEntry(row), own = all.get(text(row, "target_id"))!;
      ({ position } = entry);
      id = text(row, "target_id");
      const now = readMembers(after), name = String(new Map(now).get("name"));
      const { state } = own.get(name) ?? { state: new Map(ofUse) };
      const found = readMembers(before).filter(([member, value]) =>
        state.has(member) && state.get(member) !== JSON.stringify(value)
      );
      if (found.length > 0) add("found", id, name, position, found.map(([member]) => member));
      for (const [member, value] of now) state.set(member, JSON.stringify(value));
      own.set(name, { state, position });
    }
    isLast = rows.length < pageEntries;
  }
  return all;
}
