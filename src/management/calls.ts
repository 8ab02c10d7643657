// The call log: one entry for each accepted request. The ledger alone writes it.
import { listCalls as list } from "../ledger/calls.ts";
import { described, exactly, named, optional } from "../schema/struct.ts";
import type { Infer } from "../schema/struct.ts";
import * as v from "./values.ts";
import { operation, pageOf } from "./operation.ts";
import { promptVersion, timeRange } from "./records.ts";
import { requireWorkspace } from "./workspaces.ts";

const Call = named(
  "Call",
  exactly({
    id: v.text,
    operation: v.operation,
    number: described(v.positive, "Its number among the requests of its workspace and month, from 1"),
    month: v.month,
    keyId: v.text,
    deployId: v.text,
    promptVersion: v.positive,
    createdAt: v.timestamp,
  }),
);
export type Call = Infer<typeof Call>;

export const listCalls = operation({
  id: "listCalls",
  tag: "Ledger",
  summary: "List a workspace's accepted requests, newest first",
  method: "GET",
  path: "/workspaces/{workspaceId}/calls",
  role: "viewer",
  command: "call list --workspace ID [--deploy ID] [--key ID] [--operation read|submit] [--version N] " +
    "[--from TIME] [--to TIME] [--limit N] [--cursor CURSOR] [--all] [--page]",
  input: {
    workspaceId: v.id,
    keyId: optional(described(v.id, "Only with this key")),
    deployId: optional(described(v.id, "Only to this deployment")),
    promptVersion,
    operation: optional(described(v.operation, "Only these")),
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
