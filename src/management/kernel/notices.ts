// Notices: conditions without an author become an entry of the audit log, and so an event, once, however many services
// find them, and however often.
import type { WorkspaceId } from "../../common/ids.ts";
import type { Statement } from "../../database/database.ts";
import { exactly } from "../../schema/struct.ts";
import type { Change } from "./commit.ts";
import { perform } from "./operation.ts";
import type { Management, Session, Store } from "./operation.ts";
import { insertInto } from "./table.ts";

/** A notice. `fact` distinguishes it from other notices of the same action and subject. */
export type Notice = {
  /** As in `quota.reached`. */
  action: string;
  /** Id of the subject. */
  subject: string;
  fact: string;
  workspaceId: WorkspaceId | null;
  /** Ids, percents, amounts and periods, for programs. */
  data: object;
  /** Human-readable text. */
  note: string;
};

/** SQL condition: a notice was not made yet. Its members are in SQL. */
export const isNew = (action: string, subject: string, fact: string): string =>
  `not exists (select 1 from notices where action = '${action}' and subject = ${subject} and fact = ${fact})`;

/**
 * SQL condition: neither a threshold nor a higher one has a notice yet. `thresholds` is a JSON array of all of them, of
 * which one is in `t.value`. `fact` is made of one.
 */
export const isHighest = (
  action: string,
  subject: string,
  thresholds: string,
  fact: (threshold: string) => string,
): string =>
  `not exists (
      select 1 from json_each(${thresholds}) h cross join notices n
      where h.value >= t.value and n.action = '${action}' and n.subject = ${subject} and n.fact = ${fact("h.value")}
    )`;

/** Changes something on behalf of the service. `run` runs again if another change was made meanwhile. */
export async function performUpkeep<T>(store: Store, run: (management: Management) => Promise<T>): Promise<T> {
  const session: Session = { ...store, caller: { source: "embedded", actor: "upkeep", role: "owner" } };
  return await perform({ input: exactly({}), role: "owner", run }, session, { value: {} });
}

/** Audit log entry of a notice. It changes no member of its subject. */
export const toChange = ({ action, subject: id, workspaceId, data, note }: Notice): Change => ({
  ...{ action, id, workspaceId, before: {}, after: data, note },
});

/** The statement that keeps a notice from being made again. */
export const toRow = ({ action, subject, fact, workspaceId }: Notice, createdAt: number): Statement =>
  insertInto("notices", { action, subject, fact, workspaceId, createdAt });

/** Maximum items of one `find`. */
export const batch = 100;

/** Commits the results of `find`, a batch at a time, until none is left, or it is over after the first batch. */
export async function commitFound<T>(
  store: Store,
  isOver: () => boolean,
  find: (store: Store) => Promise<T[]>,
  commit: (management: Management, found: T[]) => Promise<unknown>,
): Promise<void> {
  // Fast path: mostly nothing is found.
  let isMore = (await find(store)).length > 0;
  while (isMore) {
    isMore = await performUpkeep(store, async (management) => {
      const found = await find(management);
      if (found.length > 0) await commit(management, found);
      return found.length === batch && !isOver();
    });
  }
}

/** Makes the new notices of `find`. */
export const announce = (store: Store, isOver: () => boolean, find: (store: Store) => Promise<Notice[]>) =>
  commitFound(store, isOver, find, (management, notices) => {
    const now = management.clock();
    return management.commit(notices.map(toChange), notices.map((each) => toRow(each, now)));
  });

const day = 86_400_000; // ms

/**
 * Start of the periods that notices consider, in Unix ms. A period's notice is made up to a day after its end, so a
 * clock that is ahead by less does not suppress it.
 */
export const startOfNotice = (now: number): number => now - day;
