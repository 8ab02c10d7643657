// What happens without anybody doing it becomes an entry of the audit log, and so an event, once: however many services find it,
// and however often.
import type { WorkspaceId } from "../common/ids.ts";
import type { Statement } from "../database/database.ts";
import { exactly } from "../schema/struct.ts";
import type { Change } from "./commit.ts";
import { perform } from "./operation.ts";
import type { Management, Session, Store } from "./operation.ts";
import { insertInto } from "./table.ts";

/** Something to say. `fact` tells it from whatever else is said of the same thing by the same action. */
export type Notice = {
  /** As in `quota.reached`. */
  action: string;
  /** The id of what it is about. */
  subject: string;
  fact: string;
  workspaceId: WorkspaceId | null;
  /** Ids, percents, amounts and periods, for programs. */
  data: object;
  /** The same as a sentence. */
  note: string;
};

/** The condition that a notice was not made yet. Its members are in SQL. */
export const isNew = (action: string, subject: string, fact: string): string =>
  `not exists (select 1 from notices where action = '${action}' and subject = ${subject} and fact = ${fact})`;

/**
 * The condition that neither a threshold nor a higher one has a notice yet. `thresholds` is a JSON array of all of them, of which
 * one is in `t.value`. `fact` is made of one.
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

/** The entry of a notice. It changes no member of what it is about. */
export const toChange = ({ action, subject: id, workspaceId, data, note }: Notice): Change => ({
  ...{ action, id, workspaceId, before: {}, after: data, note },
});

/** The statement that keeps a notice from being made again. */
export const toRow = ({ action, subject, fact, workspaceId }: Notice, createdAt: number): Statement =>
  insertInto("notices", { action, subject, fact, workspaceId, createdAt });

/** How many things `find` may return at once. */
export const batch = 100;

/** Commits what `find` finds, a batch at a time, until there is no more, or it is over after the first batch. */
export async function commitFound<T>(
  store: Store,
  isOver: () => boolean,
  find: (store: Store) => Promise<T[]>,
  commit: (management: Management, found: T[]) => Promise<unknown>,
): Promise<void> {
  // Nearly every time there is nothing.
  let isMore = (await find(store)).length > 0;
  while (isMore) {
    isMore = await performUpkeep(store, async (management) => {
      const found = await find(management);
      if (found.length > 0) await commit(management, found);
      return found.length === batch && !isOver();
    });
  }
}

/** Makes the notices that `find` finds to be new. */
export const announce = (store: Store, isOver: () => boolean, find: (store: Store) => Promise<Notice[]>) =>
  commitFound(store, isOver, find, (management, notices) => {
    const now = management.clock();
    return management.commit(notices.map(toChange), notices.map((each) => toRow(each, now)));
  });

const day = 86_400_000; // ms

/**
 * From when on periods are looked at, in Unix ms. What has happened in a period is said up to a day after its end. A clock that is
 * ahead by less does not keep it from being said.
 */
export const startOfNotice = (now: number): number => now - day;
