// Stores feedback with SQL, also more than the service takes: until migration 040 a record might have 50 names of 20 authors.
import type { WorkspaceId } from "../src/common/ids.ts";
import { toSqlJson } from "../src/common/json-text.ts";
import type { Database } from "../src/database/database.ts";

const emoji = "\u{1f600}"; // the longest character in UTF-8

/** The longest of what a piece consists of, each with a number in it. */
export const longest = {
  name: (nth: number) => `n${nth}.`.padEnd(64, "x"),
  author: (nth: number) => `${nth}`.padEnd(8, "-") + emoji.repeat(120),
  label: (nth: number) => `${nth}`.padEnd(8, "-") + emoji.repeat(192),
};

/** What an author gave under a name, and in the rounds before with the same value. */
export type StoredPiece = { name: string; author: string; value: number | string; comment?: string };

/** Stores the same pieces on each of these records, each given in so many rounds. */
export async function storeFeedback(
  database: Database,
  workspaceId: WorkspaceId,
  positions: number[],
  pieces: StoredPiece[],
  rounds = 1,
): Promise<void> {
  const kinds = new Map(pieces.map(({ name, value }) => [name, typeof value === "string" ? "label" : "number"]));
  const rows = pieces.map(({ name, author, value, comment = "" }) => [name, author, value, comment]);
  const columns = ["name", "author", "value", "comment"].map((name, nth) => `e.value ->> ${nth} as ${name}`).join();
  const args = { positions: JSON.stringify(positions), rows: toSqlJson(rows), rounds };
  await database.write([
    {
      sql: `insert into feedback_names (workspace_id, name, kind, is_declared)
        select :workspaceId, value ->> 0, value ->> 1, 0 from json_each(:kinds) where true on conflict do nothing`,
      args: { workspaceId, kinds: toSqlJson([...kinds]) },
    },
    {
      sql: `insert into feedback (position, name, author, value, comment, source, given_at, change)
        select p.value, q.name, q.author, q.value, q.comment, 'user', :rounds, :rounds
        from json_each(:positions) p cross join (select ${columns} from json_each(:rows) e) q`,
      args,
    },
    {
      sql:
        `with recursive round(nth) as (select 1 where :rounds > 1 union all select nth + 1 from round where nth + 1 < :rounds)
        insert into earlier_feedback (position, name, author, change, value, comment, source, given_at, ended_at)
        select p.value, q.name, q.author, r.nth, q.value, q.comment, 'user', r.nth, r.nth + 1
        from json_each(:positions) p cross join (select ${columns} from json_each(:rows) e) q cross join round r`,
      args,
    },
    {
      sql:
        `insert into changed_blocks (number, changes) select distinct value >> 8, 1 from json_each(:positions) where true
        on conflict do update set changes = changes + 1`,
      args: { positions: JSON.stringify(positions) },
    },
  ]);
}
