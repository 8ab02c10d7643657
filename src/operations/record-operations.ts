// What was recorded and counted.
import { toText } from "../admin/export.ts";
import * as records from "../admin/records.ts";
import { described, oneOf, optional } from "../schema/struct.ts";
import * as v from "../schema/values.ts";
import { operation, pageOf } from "./operation.ts";
import { Call, Deletion, Diagnosis, MonthUsage, Pruned, Stats, Usage, Verification } from "./record-answers.ts";

const range = {
  from: optional(described(v.timestamp, "From this moment on, in Unix milliseconds")),
  to: optional(described(v.timestamp, "Before this moment, in Unix milliseconds")),
};
const promptVersion = optional(described(v.positive, "Only of this version of the prompt"));
const sessionId = described(v.text, "Only of this session");
const filter = {
  deployId: v.id,
  sessionId: optional(sessionId),
  status: optional(described(v.integer, "Only with this status")),
  promptVersion,
  ...range,
  text: optional(
    described(v.needle, "Only with this text in the input or the output, whatever the case of its ASCII letters"),
  ),
};

export const listDiagnoses = operation({
  id: "listDiagnoses",
  tag: "Records",
  summary: "List a deployment's records, newest first; a page may be short or empty where much had to be looked at",
  method: "GET",
  path: "/deployments/{deployId}/diagnoses",
  input: { ...filter, ...v.numberedPage },
  output: pageOf(Diagnosis),
  refusals: ["not_found"],
  isLong: true,
  run: (admin, { limit, cursor, ...filter }) => records.listDiagnoses(admin, filter, { limit, cursor }),
});

/** Its output is text in parts, so that it need not be held in memory. */
export const exportDiagnoses = operation({
  id: "exportDiagnoses",
  tag: "Records",
  summary: "Export a deployment's records, newest first, as one JSON document per line or as CSV",
  method: "GET",
  path: "/deployments/{deployId}/diagnoses/export",
  input: {
    ...filter,
    format: optional(
      described(
        oneOf("ndjson", "csv"),
        "One JSON document per line, or RFC 4180 with ' before a text that a spreadsheet would run",
        { default: "ndjson" },
      ),
    ),
  },
  output: v.text,
  refusals: ["not_found"],
  isLong: true,
  run: async (admin, { format = "ndjson", ...filter }) => ({
    format,
    text: toText(await records.exportDiagnoses(admin, filter), format),
  }),
});

export const getDiagnosis = operation({
  id: "getDiagnosis",
  tag: "Records",
  summary: "Show a record",
  method: "GET",
  path: "/diagnoses/{id}",
  input: { id: v.id },
  output: Diagnosis,
  refusals: ["not_found", "gone"],
  run: (admin, { id }) => records.getDiagnosis(admin, id),
});

export const deleteDiagnosis = operation({
  id: "deleteDiagnosis",
  tag: "Records",
  summary: "Delete a record; the books still balance",
  method: "DELETE",
  path: "/diagnoses/{id}",
  input: { id: v.id },
  output: Deletion,
  refusals: ["not_found"],
  run: (admin, { id }) => records.deleteDiagnosis(admin, id),
});

export const deleteSession = operation({
  id: "deleteSession",
  tag: "Records",
  summary: "Delete all records of a session with a deployment",
  method: "DELETE",
  path: "/deployments/{deployId}/diagnoses",
  input: { deployId: v.id, sessionId },
  output: Deletion,
  refusals: ["not_found"],
  isLong: true,
  run: (admin, { deployId, ...session }) => records.deleteSession(admin, deployId, session),
});

export const listCalls = operation({
  id: "listCalls",
  tag: "Ledger",
  summary: "List a workspace's accepted requests, newest first",
  method: "GET",
  path: "/workspaces/{workspaceId}/calls",
  input: {
    workspaceId: v.id,
    keyId: optional(described(v.id, "Only with this key")),
    deployId: optional(described(v.id, "Only to this deployment")),
    promptVersion,
    operation: optional(described(v.operation, "Only these")),
    ...range,
    ...v.numberedPage,
  },
  output: pageOf(Call),
  refusals: ["not_found"],
  isLong: true,
  run: (admin, { limit, cursor, ...filter }) => records.listCalls(admin, filter, { limit, cursor }),
});

export const listMonths = operation({
  id: "listMonths",
  tag: "Ledger",
  summary: "List the months in which a workspace used anything, newest first",
  method: "GET",
  path: "/workspaces/{workspaceId}/usage",
  input: { workspaceId: v.id, ...v.page },
  output: pageOf(MonthUsage),
  refusals: ["not_found"],
  run: (admin, { workspaceId, ...page }) => records.listMonths(admin, workspaceId, page),
});

export const readUsage = operation({
  id: "readUsage",
  tag: "Ledger",
  summary: "Show what a workspace used of a month's quota, by day too",
  method: "GET",
  path: "/workspaces/{workspaceId}/usage/{month}",
  input: { workspaceId: v.id, month: v.month },
  output: Usage,
  refusals: ["not_found"],
  isLong: true,
  run: (admin, { workspaceId, month }) => records.readUsage(admin, workspaceId, month),
});

export const readStats = operation({
  id: "readStats",
  tag: "Records",
  summary: "Show each version's records in numbers: shares of statuses, percentiles of latency, sums of tokens",
  method: "GET",
  path: "/deployments/{deployId}/stats",
  input: { deployId: v.id, promptVersion, ...range },
  output: Stats,
  refusals: ["not_found"],
  isLong: true,
  run: records.readStats,
});

export const prune = operation({
  id: "prune",
  tag: "Ledger",
  summary: "Take calls and records out of the log that are older than a time, for 5 s at most; repeat until it is done",
  method: "POST",
  path: "/prune",
  input: { olderThanMs: described(v.age, "How old what is taken out is at least, in milliseconds") },
  output: Pruned,
  refusals: [],
  isLong: true,
  run: records.prune,
});

export const verify = operation({
  id: "verify",
  tag: "Ledger",
  summary: "Recount the books of a workspace, or of all, and say of each month whether they balance",
  method: "GET",
  path: "/verify",
  input: { workspaceId: optional(described(v.id, "All workspaces unless given")) },
  output: Verification,
  refusals: ["not_found"],
  isLong: true,
  run: (admin, { workspaceId }) => records.verify(admin, workspaceId),
});

export const recordOperations = [
  listDiagnoses,
  exportDiagnoses,
  getDiagnosis,
  deleteDiagnosis,
  deleteSession,
  readStats,
  listCalls,
  listMonths,
  readUsage,
  prune,
  verify,
];
