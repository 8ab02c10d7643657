// Hash chain of the audit log: each entry has a hash of itself and of the hash before, so an entry that is altered,
// removed or swapped breaks it. Entries from before the log have no hash; the first hash covers them too. The head of
// the log counts them: no other entry can lose its hash.
import { sha256 } from "../../common/ids.ts";
import { parseJson } from "../../common/json-text.ts";
import { triggers } from "../../database/migrations.ts";
import type { Database, Statement } from "../../database/database.ts";
import { integer, integerOrNull, readerOf, text, toColumn } from "../../database/row.ts";
import { exactly, hasType, nullable } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../../schema/values.ts";
import { insertInto } from "./table.ts";

/** An entry as it is stored. `before` and `after` are JSON texts. Its hash is over its members in this order. */
const StoredEntry = exactly({
  position: v.positive,
  createdAt: v.timestamp,
  source: v.text,
  actor: v.text,
  tokenId: nullable(v.text),
  action: v.text,
  targetId: nullable(v.text),
  workspaceId: nullable(v.text),
  before: nullable(v.text),
  after: nullable(v.text),
  note: v.text,
  requestId: nullable(v.text),
});
export type StoredEntry = Infer<typeof StoredEntry>;
const members = Object.keys(StoredEntry.schema) as (keyof StoredEntry)[];

export const toEntry = readerOf(StoredEntry);

/** The newest entry; position 0 in an empty log. The hash is empty until an entry has one. */
export type Head = { position: number; hash: string };

const start: Head = { position: 0, hash: "" };

/** The hash of an entry after another one with the hash `before`. */
const hashOf = (before: string, entry: StoredEntry): Promise<string> =>
  sha256(JSON.stringify([before, ...members.map((member) => entry[member])]));

/**
 * Statements that add entries after a head: empty without entries. They break a constraint if another entry already
 * follows it.
 */
export async function addEntries(
  database: Database,
  head: Head,
  entries: Omit<StoredEntry, "position">[],
): Promise<Statement[]> {
  // Without the constraint of an entry, the head could go back behind entries that others have added.
  if (entries.length === 0) return [];
  const statements: Statement[] = [];
  let last = head.hash === "" ? { ...head, hash: (await walk(database, head, head.position)).head.hash } : head;
  for (const entry of entries) {
    const added = { position: last.position + 1, ...entry };
    last = { position: added.position, hash: await hashOf(last.hash, added) };
    statements.push(insertInto("audit_log", { ...added, hash: last.hash }));
  }
  const { position, hash } = last;
  return [...statements, { sql: "update audit_head set position = ?, hash = ? where id = 1", args: [position, hash] }];
}

/** The newest entry of the log. */
export async function readHead(database: Database): Promise<Head> {
  const [row] = await database.read({ sql: "select position, hash from audit_head where id = 1" });
  return { position: integer(row!, "position"), hash: text(row!, "hash") };
}

/** Result of a check of the chain. */
type ChainState = {
  entries: number;
  /** The first position whose entry is missing or does not fit those before it. */
  brokenAt: number | null;
  /** The hash of the newest entry; empty in a log without one. */
  head: string;
};

/** Checks the whole log. `report` receives the share that is done. */
export async function checkChain(database: Database, report?: (share: number) => void): Promise<ChainState> {
  const [row] = await database.read({
    sql:
      `select coalesce(max(position), 0) as position, coalesce(max(hash), '') as hash, coalesce(max(older), 0) as older,
        (select count(*) from audit_log) as entries, (select min(position) from audit_log) as first
      from audit_head where id = 1`,
  });
  const stored = { position: integer(row!, "position"), hash: text(row!, "hash") };
  const entries = integer(row!, "entries"), first = integerOrNull(row!, "first");
  const older = await findLogStart(database) === undefined ? 0 : integer(row!, "older");
  const { head, brokenAt } = await walk(database, stored, older, report);
  const isCut = head.position !== stored.position || stored.hash !== (stored.position > older ? head.hash : "");
  // An entry that does not belong to the log is before the first one or after the newest one.
  const extraAt = entries === stored.position ? null : first !== null && first < 1 ? 1 : stored.position + 1;
  return { entries, brokenAt: brokenAt ?? (isCut ? stored.position : extraAt), head: stored.hash };
}

/**
 * Time at which the audit log was added to the database, in Unix ms. Undefined if it was created with one: then it has
 * neither entries nor rows from before.
 */
export async function findLogStart(database: Database): Promise<number | undefined> {
  const [row] = await database.read({
    sql: `select a.applied_at from promptledger_migrations a join promptledger_migrations b on b.name glob '001-*'
      where a.name glob '013-*' and a.applied_at <> b.applied_at`,
  });
  return row && integer(row, "applied_at");
}

const pageRows = 100;

// SQLite reads a text back only up to a NUL, so no hash covers text after one.
const texts = members.filter((member) => hasType(StoredEntry.schema[member], "string")).map(toColumn);
const hasNul = texts.map((column) => `coalesce(instr(cast(${column} as blob), x'00'), 0)`).join(" + ");

/**
 * Computes the hashes of all entries up to a position, and compares them with the stored ones after the older entries.
 */
async function walk(database: Database, { position: end }: Head, older: number, report?: (share: number) => void) {
  let head = start;
  while (head.position < end) {
    const rows = await database.read({
      sql: `select *, ${hasNul} as has_nul from audit_log where position > ? and position <= ?
        order by position limit ${pageRows}`,
      args: [head.position, end],
    });
    if (rows.length === 0) return { head, brokenAt: head.position + 1 };
    // Each hash needs only the one before, which is stored too, so those of a page are computed side by side.
    const hashes = rows.map((row, index) => {
      const before = index === 0 ? head.hash : text(rows[index - 1]!, "hash");
      return index > 0 && before === "" ? undefined : hashOf(before, toEntry(row));
    });
    for (const [index, row] of rows.entries()) {
      const position = integer(row, "position"), stored = text(row, "hash");
      const hash = await (hashes[index] ?? hashOf(head.hash, toEntry(row)));
      const isIntact = stored === (position > older ? hash : "") && row.has_nul === 0;
      if (position !== head.position + 1 || !isIntact) return { head, brokenAt: head.position + 1 };
      head = { position, hash };
    }
    report?.(head.position / end);
  }
  return { head, brokenAt: null };
}

/** Names of triggers that are missing, altered or foreign. Two of the service's triggers keep entries as they are. */
export async function findTriggerFaults(database: Database): Promise<string[]> {
  const rows = await database.read({ sql: "select name, sql from sqlite_master where type = 'trigger' order by name" });
  const present = new Map(rows.map((row) => [text(row, "name"), text(row, "sql").replace(/^create trigger /i, "")]));
  const names = new Set([...Object.keys(triggers), ...present.keys()]);
  return [...names].filter((name) => triggers[name] !== present.get(name));
}

/** Members of an entry. One that is not JSON was tampered with, as the check of the chain shows. */
export const readMembers = (json: string | null): [string, unknown][] => Object.entries(parseJson(json ?? "{}") ?? {});
