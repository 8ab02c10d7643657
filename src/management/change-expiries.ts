// Ends change requests that nobody approved in time, so that the log and its readers learn of it.
import type { Statement } from "../database/database.ts";
import { changeRequestTable, planDecision } from "./change-requests.ts";
import { batch, performUpkeep } from "./notices.ts";
import type { Store } from "./operation.ts";

// In no order, so that the index of open requests finds them, however many have ended.
const overdue = (now: number): Statement =>
  changeRequestTable.where(
    `state = 'open' and expires_at <= ? and workspace_id not in (select id from deleted_workspaces) limit ${batch}`,
    [now],
  );

/** Ends the change requests whose time is over. */
export async function expireRequests(store: Store, isOver: () => boolean): Promise<void> {
  const find = async ({ database, clock }: Store) =>
    (await database.read(overdue(clock()))).map(changeRequestTable.toItem);
  // Nearly every time there are none.
  let isMore = (await find(store)).length > 0;
  while (isMore && !isOver()) {
    isMore = await performUpkeep(store, async (management) => {
      const ended = (await find(management)).map((request) => planDecision(management, request, "expired"));
      const changes = ended.map(({ change }) => change), statements = ended.map(({ statement }) => statement);
      if (ended.length > 0) await management.commit(changes, statements);
      return ended.length === batch;
    });
  }
}
