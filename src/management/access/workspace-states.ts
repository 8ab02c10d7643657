// Present states of workspaces, for their list in the console.
import { monthOf } from "../../common/month.ts";
import { integer, text } from "../../database/row.ts";
import { findQuotas } from "../../ledger/usage.ts";
import { exactly } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { operation, pageOf } from "../kernel/operation.ts";
import { listWorkspaces, Workspace } from "../kernel/workspaces.ts";

const WorkspaceState = exactly({ ...Workspace.schema, used: v.count, firing: v.count });
export type WorkspaceState = Infer<typeof WorkspaceState>;

const firingOf = `select workspace_id, count(*) as alerts from alerts
  where state = 'firing' and workspace_id in (select value from json_each(?)) group by workspace_id`;

/** Uses the same number of queries for many workspaces as for one. */
export const listWorkspaceStates = operation({
  id: "listWorkspaceStates",
  summary: "List workspaces with the requests of this month and how many alerts fire, newest first",
  method: "GET",
  path: "/workspaces/states",
  input: v.page,
  output: pageOf(WorkspaceState),
  isScoped: true,
  async run(management, page) {
    const { database, clock } = management;
    const { items, nextCursor } = await listWorkspaces.run(management, page), ids = items.map(({ id }) => id);
    const [quotas, rows] = await Promise.all([
      findQuotas(database, monthOf(clock()), ids),
      database.read({ sql: firingOf, args: [JSON.stringify(ids)] }),
    ]);
    const used = new Map(quotas.map((quota) => [quota.workspaceId, quota.used]));
    const firing = new Map(rows.map((row): [string, number] => [text(row, "workspace_id"), integer(row, "alerts")]));
    const states = items.map((each) => ({ ...each, used: used.get(each.id) ?? 0, firing: firing.get(each.id) ?? 0 }));
    return { items: states, nextCursor };
  },
});
