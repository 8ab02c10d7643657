// Ends change requests that nobody approved in time, so that the log and its readers learn of it.
import type { Statement } from "../database/database.ts";
import { changeRequestTable, planDecision } from "./change-requests.ts";
import { batch, commitFound } from "./notices.ts";
import type { Store } from "./operation.ts";

// In no order, so that the index of open requests finds them, however many have ended.
const overdue = (now: number): Statement =>
  changeRequestTable.where(
    `state = 'open' and expires_at <= ? and workspace_id not in (select id from deleted_workspaces) limit ${batch}`,
    [now],
  );

/** Ends the change requests whose time is over. */
export const expireRequests = (store: Store, isOver: () => boolean): Promise<void> =>
  commitFound(
    store,
    isOver,
    async ({ database, clock }) => (await database.read(overdue(clock()))).map(changeRequestTable.toItem),
    (management, requests) => {
      const ended = requests.map((request) => planDecision(management, request, "expired"));
      return management.commit(ended.map(({ change }) => change), ended.map(({ statement }) => statement));
    },
  );
