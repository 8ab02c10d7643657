// The call log has one entry for each accepted request. Only the ledger writes it.
import { listCalls as list } from "../../log/calls.ts";
import { Call } from "../../schema/ledger.ts";
import { option } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { listSealed } from "../kernel/cursors.ts";
import { listOperation } from "../kernel/declare.ts";
import { pageOf } from "../kernel/operation.ts";
import { promptVersion, rollout, timeRange } from "./record-filter.ts";

export const listCalls = listOperation({
  id: "listCalls",
  summary: "List a workspace's calls, which are its accepted requests, newest first",
  path: "/workspaces/{workspaceId}/calls",
  paged: "newest",
  command: "call list [--operation read|submit] [--limit N] [--cursor CURSOR] [--all] [--page]",
  input: {
    workspaceId: v.workspaceId,
    keyId: option(v.keyId, "Only calls with this key"),
    deployId: option(v.deploymentReference, "Only calls of this deployment"),
    promptVersion,
    rollout,
    operation: option(Call.schema.operation, "Only calls of this operation"),
    ...timeRange,
    ...v.page,
  },
  output: pageOf(Call),
  isLong: true,
  async run(management, { limit, cursor, ...filter }) {
    const { workspaceId } = filter;
    const page = { limit, cursor };
    return await listSealed(management, "calls", workspaceId, page, (page) => list(management.database, filter, page));
  },
});
