// Changes the catalog: in one transaction with entries in the audit log, one change after the other.
import type { Clock } from "../../common/domain.ts";
import { invalidAdminToken } from "../../common/errors.ts";
import { withoutSecrets } from "../../common/ids.ts";
import type { WorkspaceId } from "../../common/ids.ts";
import { isConstraintError } from "../../database/database.ts";
import type { Database, Row, Statement } from "../../database/database.ts";
import { addEntries, readHead } from "./audit-chain.ts";
import type { StoredEntry } from "./audit-chain.ts";

/** A change of one thing in the catalog, as the audit log has it. */
export type Change = {
  /** A noun and what happened to it: `deployment.promoted`. */
  action: string;
  /** Id of the changed thing; null if all workspaces changed. */
  id: string | null;
  workspaceId: WorkspaceId | null;
  /**
   * The thing before and after; the log gets the members that differ. Neither has a secret or the text of a prompt;
   * keys in names are masked. A creation has no `before`, a deletion no `after`.
   */
  before?: object;
  after?: object;
  /** The reason for this change. Default: that of the commit. */
  note?: string | undefined;
};

/** Author of a change, how and why it is made, and the repository commit that it comes from. */
export type Cause = Pick<StoredEntry, "source" | "actor" | "tokenId" | "note" | "requestId"> & {
  origin?: object | undefined;
};

/**
 * Runs statements and adds changes to the audit log, in one transaction. Throws `overtaken` and writes nothing if
 * another change was made since the commit was opened: data read since then is still true, and the statements need no
 * conditions. An operation commits at most once.
 */
export type Commit = (changes: Change[], statements: Statement[]) => Promise<Row[][]>;

/** Thrown if another change was made first. */
export const overtaken = new Error("Another change was made first");

/**
 * Opens a commit. All reads from now on belong to it. Refuses a token that was revoked since its request came. The log
 * gets no key, no token and none of `secrets`.
 */
export async function openCommit(
  database: Database,
  clock: Clock,
  { actor, note, origin, ...cause }: Cause,
  secrets: readonly string[] = [],
): Promise<Commit> {
  const mask = (text: string) => withoutSecrets(text.toWellFormed(), secrets);
  const head = await readHead(database);
  if (cause.tokenId !== null) await requireUnrevoked(database, cause.tokenId);
  let isCommitted = false;
  return async (changes, statements) => {
    if (isCommitted) throw new TypeError("An operation may commit only once");
    isCommitted = true;
    const createdAt = clock();
    const entries = changes.map(({ action, id: targetId, workspaceId, before, after, note: own = note }) => ({
      ...{ ...cause, actor: mask(actor), note: mask(own), createdAt, action, targetId, workspaceId },
      before: before === undefined ? null : toDifference(mask, before, after),
      after: after === undefined
        ? null
        : toDifference(mask, origin === undefined ? after : { ...after, origin }, before),
    }));
    const added = await addEntries(database, head, entries);
    try {
      return (await database.write([...added, ...statements])).slice(added.length);
    } catch (error) {
      const isOvertaken = isConstraintError(error) && (await readHead(database)).position > head.position;
      throw isOvertaken ? overtaken : error;
    }
  };
}

async function requireUnrevoked(database: Database, tokenId: string): Promise<void> {
  const sql = "select 1 from management_tokens where id = ? and revoked_at is null";
  if ((await database.read({ sql, args: [tokenId] })).length === 0) throw invalidAdminToken();
}

/** Members of a thing that differ from another one, as JSON. */
function toDifference(mask: (text: string) => string, thing: object, other: object = {}): string {
  const others = new Map(Object.entries(other));
  const differing = Object.entries(thing).filter(([name, value]) => others.get(name) !== value);
  const masked = (_: string, value: unknown) => typeof value === "string" ? mask(value) : value;
  return JSON.stringify(Object.fromEntries(differing), masked);
}
