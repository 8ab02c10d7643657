// The call log: one entry for each accepted request. The ledger alone writes it.
import { listCalls as list } from "../ledger/calls.ts";
import { Call } from "../schema/ledger.ts";
import { described, optional } from "../schema/struct.ts";
import * as v from "./values.ts";
import { operation, pageOf } from "./operation.ts";
import { promptVersion, timeRange } from "./records.ts";
import { requireWorkspace } from "./workspaces.ts";

export const listCalls = operation({
  id: "listCalls",
  summary: "List a workspace's accepted requests, newest first",
  method: "GET",
  path: "/workspaces/{workspaceId}/calls",
  role: "viewer",
  command: "call list --workspace ID [--deploy REF] [--key ID] [--operation read|submit] [--version N] " +
    "[--from TIME] [--to TIME] [--limit N] [--cursor CURSOR] [--all] [--page]",
  input: {
    workspaceId: v.workspaceId,
    keyId: optional(described(v.keyId, "Only with this key")),
    deployId: optional(described(v.deploymentReference, "Only to this deployment")),
    promptVersion,
    operation: optional(described(Call.schema.operation, "Only these")),
    ...timeRange,
    ...v.numberedPage,
  },
  output: pageOf(Call),
  refusals: ["not_found"],
  isLong: true,
  async run(management, { limit, cursor, ...filter }) {
    await requireWorkspace(management, filter.workspaceId);
    return await list(management.database, filter, { limit, cursor });
  },
});

export const callOperations = [listCalls];
