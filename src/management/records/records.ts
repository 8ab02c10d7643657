// Lists, exports and deletes diagnosis records. Only the ledger adds them.
import type { Page } from "../../common/domain.ts";
import { deleted, notFound } from "../../common/errors.ts";
import { sha256 } from "../../common/ids.ts";
import type { RecordId } from "../../common/ids.ts";
import { eachPage } from "../../database/page.ts";
import { findLogRange } from "../../ledger/blocks.ts";
import { deleteDiagnoses } from "../../log/deletions.ts";
import { removeMuchFeedbackAt } from "../../feedback/feedback-removal.ts";
import * as diagnoses from "../../log/diagnoses.ts";
import { noCosting } from "../../log/scan.ts";
import type { ScanOptions } from "../../log/scan.ts";
import { Diagnosis } from "../../schema/ledger.ts";
import { described, oneOf, option, shape } from "../../schema/struct.ts";
import type { Infer, Members } from "../../schema/struct.ts";
import { reportSearch } from "../kernel/progress.ts";
import * as v from "../kernel/values.ts";
import { exportFormats, toCsv, toLines } from "../kernel/export.ts";
import type { Export } from "../kernel/export.ts";
import { toPromptfoo } from "./promptfoo.ts";
import type { Change } from "../kernel/commit.ts";
import { readFeedbackNames } from "../terms/feedback-names.ts";
import { listSealed } from "../kernel/cursors.ts";
import { exportOperation, listOperation } from "../kernel/declare.ts";
import { operation, pageOf } from "../kernel/operation.ts";
import type { Management, Store } from "../kernel/operation.ts";
import { deployIdsOf, recordFilter, toScan } from "./record-filter.ts";
import type { Scope } from "./record-filter.ts";
import { onRecords } from "./record-scopes.ts";
import type { Records } from "./record-scopes.ts";

export const Deletion = shape("Deletion", { deleted: described(v.count, "How many records were deleted") });
export type Deletion = Infer<typeof Deletion>;

const order = option(oneOf("newest", "oldest"), "Which end of the log comes first", { default: "newest" });
const after = option(v.recordId, "Only what follows this record of the workspace in the order");
const listInput = { ...recordFilter, order, after, ...v.page };
const list = onRecords(listInput, listRecords);
const listOptions = "[--order newest|oldest] [--after ID] [--limit N] [--cursor CURSOR] [--all] [--page]";

export const listWorkspaceDiagnoses = listOperation({
  id: "listWorkspaceDiagnoses",
  summary: "List the records of a workspace in order of time. A page may be short or empty after a long search",
  path: "/workspaces/{workspaceId}/diagnoses",
  paged: "newest",
  conflicts: true,
  command: `record list ${listOptions}`,
  ...list.ofWorkspace,
  output: pageOf(Diagnosis),
  isLong: true,
});

export const listDiagnoses = listOperation({
  id: "listDiagnoses",
  summary: "List a deployment's records in order of time. A page may be short or empty after a long search",
  path: "/deployments/{deployId}/diagnoses",
  paged: "newest",
  conflicts: true,
  command: `record list --deploy REF ${listOptions}`,
  ...list.ofDeployment,
  output: pageOf(Diagnosis),
  isLong: true,
});

/** A page of records. A cursor is of the list of a workspace or of that of a deployment. */
async function listRecords(
  management: Management,
  { of, ...scope }: Records,
  { limit, cursor, order, after, ...filter }: Members<typeof listInput>,
): Promise<Page<Diagnosis>> {
  const start = after && await positionOf(management, scope, after);
  const matching = await toScan(management, scope, filter);
  const how = { order, report: reportSearch(management) };
  return await listSealed(
    management,
    of === "workspace" ? "workspace records" : "records",
    scope.workspace.id,
    { limit, cursor },
    // A cursor belongs to a page after the start.
    ({ cursor = start, ...page }) =>
      diagnoses.listDiagnoses(management.database, matching, { ...page, cursor, ...how }),
  );
}

/** The cursor of a record. It may have been deleted since, but must be of the workspace. */
async function positionOf(store: Store, { workspace }: Scope, id: RecordId): Promise<string> {
  const { position, workspaceId } = await requirePlace(store, id);
  if (workspaceId !== workspace.id) throw notFound("Record", id);
  return String(position);
}

const exportPage = 256; // records. Reading them takes about 5 ms, in which nothing else runs

/** All records that match, in pages. Only one page is held at a time. */
export async function* pagesOf(
  { database }: Store,
  matching: ScanOptions,
  order?: diagnoses.Order,
): AsyncGenerator<Diagnosis[]> {
  const range = await findLogRange(database, matching.filter);
  yield* eachPage((cursor) => diagnoses.listDiagnoses(database, matching, { limit: exportPage, cursor, order }, range));
}

const exportInput = {
  ...recordFilter,
  order,
  format: option(
    oneOf(...exportFormats),
    "One JSON document per line, or CSV (RFC 4180) with ' before text that a spreadsheet would execute, and a column for " +
      "each name of feedback, or test cases of promptfoo, one per line, with input, output and feedback",
    { default: "ndjson" },
  ),
};
const exported = onRecords(exportInput, exportRecords);
const exportOptions = "[--order newest|oldest] [--format ndjson|csv|promptfoo] [--out FILE] [--force]";

export const exportWorkspaceDiagnoses = exportOperation({
  id: "exportWorkspaceDiagnoses",
  summary: "Export the records of a workspace in order of time, as JSON lines, CSV or test cases",
  path: "/workspaces/{workspaceId}/diagnoses/export",
  formats: exportFormats,
  conflicts: true,
  command: `record export ${exportOptions}`,
  ...exported.ofWorkspace,
});

export const exportDiagnoses = exportOperation({
  id: "exportDiagnoses",
  summary: "Export a deployment's records in order of time, as JSON lines, CSV or test cases",
  path: "/deployments/{deployId}/diagnoses/export",
  formats: exportFormats,
  conflicts: true,
  command: `record export --deploy REF ${exportOptions}`,
  ...exported.ofDeployment,
});

async function exportRecords(
  management: Management,
  scope: Scope,
  { order, format = "ndjson", ...filter }: Members<typeof exportInput>,
): Promise<Export> {
  const matching = await toScan(management, scope, filter);
  const pages = pagesOf(management, matching, order);
  if (format === "ndjson") return { name: "records", format, text: toLines(pages) };
  const names = await readFeedbackNames(management, scope.workspace.id);
  const write = format === "csv" ? toCsv : toPromptfoo;
  return { name: "records", format, text: write(pages, names.map(({ name }) => name)) };
}

export const getDiagnosis = operation({
  id: "getDiagnosis",
  summary: "Show a record. The command shows messages in its input and output as a conversation",
  method: "GET",
  path: "/diagnoses/{id}",
  command: "record show ID",
  input: { id: v.recordId },
  output: Diagnosis,
  refusals: ["gone"],
  async run(management, { id }) {
    const diagnosis = await diagnoses.findDiagnosis(management.database, id);
    if (diagnosis === undefined) throw notFound("Record", id);
    if (diagnosis === null) throw deleted("Record", id);
    return diagnosis;
  },
});

export const deleteDiagnosis = operation({
  id: "deleteDiagnosis",
  summary: "Delete a record. The ledger still balances",
  method: "DELETE",
  path: "/diagnoses/{id}",
  role: "admin",
  command: "record delete ID",
  input: { id: v.recordId },
  output: Deletion,
  async run(management, { id }) {
    const { position, workspaceId, promptVersion } = await requirePlace(management, id);
    if (promptVersion === null) return { deleted: 0 };
    const change = { action: "record.deleted", id, workspaceId, before: { promptVersion } };
    // Retention may have removed it since.
    await removeMuchFeedbackAt(management.database, [position]);
    const [deleted] = await management.commit([change], deleteDiagnoses([position], management.clock()));
    return { deleted: deleted!.length };
  },
});

const deletionBatch = 200; // records in a transaction, if they are small

export const sessionDeletion = onRecords(
  { sessionId: described(v.clientName, "The session of the records") },
  deleteRecords,
);

export const deleteSession = operation({
  id: "deleteSession",
  summary: "Delete all records of a session in a deployment",
  method: "DELETE",
  path: "/deployments/{deployId}/diagnoses",
  conflicts: true,
  role: "admin",
  command: "record delete --deploy REF --session S",
  ...sessionDeletion.ofDeployment,
  output: Deletion,
  isLong: true,
});

/** Deletes the records of a session. The audit log names the workspace or the deployment that they are of. */
async function deleteRecords(
  { database, clock, report, commit }: Management,
  records: Records,
  { sessionId }: { sessionId: string },
): Promise<Deletion> {
  const { of, workspace, deployments } = records, deployIds = deployIdsOf(records);
  const target = { id: of === "workspace" ? workspace.id : deployments[0]!.id, workspaceId: workspace.id };
  // The log gets only a hash, because the session may be the name of a person who wants to be forgotten.
  const before = { sessionHash: await sha256(sessionId) };
  const entry: Change[] = [{ action: "session.deleted", ...target, before }];
  const matching = { filter: { deployIds, sessionIds: [sessionId] }, costing: noCosting };
  let count = 0, isLogged = false;
  const batches = eachPage((cursor) => diagnoses.listPositions(database, matching, { limit: deletionBatch, cursor }));
  for await (const positions of batches) {
    if (positions.length === 0) continue;
    await removeMuchFeedbackAt(database, positions);
    const statements = deleteDiagnoses(positions, clock());
    const [deleted] = await (isLogged ? database.write(statements) : commit(entry, statements));
    isLogged = true;
    count += deleted!.length;
    report?.(`Deleted ${count} records`);
  }
  return { deleted: count };
}

/** Finds the place of a record. Throws if there was never one with the id. */
export async function requirePlace({ database }: Store, id: RecordId): Promise<diagnoses.RecordPlace> {
  const found = await diagnoses.findPlace(database, id);
  if (found === undefined) throw notFound("Record", id);
  return found;
}

/** Finds the place of a record. Throws if it is missing or was deleted. */
export async function requireRecord(store: Store, id: RecordId): Promise<diagnoses.RecordPlace> {
  const found = await requirePlace(store, id);
  if (found.promptVersion === null) throw deleted("Record", id);
  return found;
}

export const recordOperations = [
  listWorkspaceDiagnoses,
  listDiagnoses,
  exportWorkspaceDiagnoses,
  exportDiagnoses,
  getDiagnosis,
  deleteDiagnosis,
  deleteSession,
];
