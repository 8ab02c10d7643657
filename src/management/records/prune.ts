// Removes old calls and records.
import { pruneAll } from "../../log/prune.ts";
import { pruneWorkspace } from "../../log/retention.ts";
import { described, option, shape } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { operation } from "../kernel/operation.ts";
import { removeWithinTime } from "../kernel/paced.ts";

const Pruned = shape("Pruned", {
  calls: v.count,
  records: v.count,
  isDone: described(v.boolean, "Whether everything that old is removed. If not, repeat the request"),
});

/** Prunes in small transactions, with pauses for other requests between them. */
export const prune = operation({
  id: "prune",
  summary: "Remove calls and records older than a given age, at least a day. The ledger still balances",
  method: "POST",
  path: "/prune",
  role: "admin",
  roleOverAll: "owner",
  command: "prune --older-than AGE",
  input: {
    olderThanMs: described(v.age, "The minimum age of what is removed, in milliseconds"),
    workspaceId: option(v.workspaceId, "Only this workspace. Default: all workspaces"),
  },
  output: Pruned,
  isLong: true,
  async run(management, { olderThanMs, workspaceId }) {
    const { database, clock, report } = management;
    const before = clock() - olderThanMs;
    const change = { action: "log.pruned", id: workspaceId ?? null, workspaceId: workspaceId ?? null };
    await management.commit([{ ...change, after: { olderThan: before } }], []);
    return await removeWithinTime(
      workspaceId === undefined ? pruneAll(database, before) : pruneWorkspace(database, workspaceId, before),
      ({ calls, records }) => report?.(`Pruned ${calls} calls and ${records} records`),
    );
  },
});
