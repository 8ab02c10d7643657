// Ends change requests that were not approved in time, which adds an entry to the log.
import type { Statement } from "../../database/database.ts";
import { changeRequestTable, planDecision } from "../deployments/change-requests.ts";
import { batch, commitFound } from "../kernel/notices.ts";
import type { Store } from "../kernel/operation.ts";

// In no order: the index of open requests finds them, however many have ended.
const overdue = (now: number): Statement =>
  changeRequestTable.where(
    `state = 'open' and expires_at <= ? and workspace_id not in (select id from deleted_workspaces) limit ${batch}`,
    [now],
  );

/** Ends the change requests that have expired. */
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
