// Sessions of a workspace: an application's records under one session id, across deployments.
import { decimalText } from "../../support/decimal.ts";
import type { Page } from "../../common/domain.ts";
import type { RecordId } from "../../common/ids.ts";
import * as diagnoses from "../../log/diagnoses.ts";
import { toFeedbackStats } from "../../tallies/feedback-tally.ts";
import { createLabels } from "../../feedback/feedback-words.ts";
import type { Labels } from "../../feedback/feedback-words.ts";
import { noCosting } from "../../log/scan.ts";
import * as sessions from "../../tallies/sessions.ts";
import type { SessionTally } from "../../tallies/sessions.ts";
import { totalCost } from "../../tallies/tally.ts";
import { Diagnosis, feedback, usd } from "../../schema/ledger.ts";
import { described, option, orNull, shape } from "../../schema/struct.ts";
import type { Infer, Struct } from "../../schema/struct.ts";
import { reportRead, reportSearch } from "../kernel/progress.ts";
import * as v from "../kernel/values.ts";
import { listSealed } from "../kernel/cursors.ts";
import { listOperation } from "../kernel/declare.ts";
import { operation, pageOf } from "../kernel/operation.ts";
import { findParents } from "./parents.ts";
import { deployIdsOf, inWorkspace, recordFilter, scopeOfWorkspace, toCount, toFilter } from "./record-filter.ts";
import { Deletion, sessionDeletion } from "./records.ts";
import { failuresOf } from "../kernel/statuses.ts";

const Session = shape("Session", {
  sessionId: v.text,
  records: described(
    v.count,
    "How many records it has: of the deployment and the time, if they are given, and whatever the other conditions",
  ),
  failures: orNull(v.count, "How many of them failed. Null if no status counts as a failure in the workspace"),
  cost: described(usd, "What its records cost in USD, as an exact decimal text"),
  unpriced: described(v.count, "How many of its records have no cost"),
  feedback,
  firstAt: described(v.timestamp, "When its first record was stored, in Unix milliseconds"),
  lastAt: described(v.timestamp, "When its last record was stored, in Unix milliseconds"),
});
export type Session = Infer<typeof Session>;

const sessionId = described(v.clientName, "The client's name for the session");

export const listSessions = listOperation({
  id: "listSessions",
  summary:
    "List the sessions of a workspace across its deployments, the one with the newest record first. A page may " +
    "be short or empty after a long search",
  path: "/workspaces/{workspaceId}/sessions",
  paged: "newest",
  conflicts: true,
  command: "session list [--session-contains TEXT] " +
    "[--limit N] [--cursor CURSOR] [--all] [--page]",
  input: {
    ...inWorkspace,
    ...recordFilter,
    sessionId: option(v.clientName, "Only this session, however old it is"),
    sessionContains: option(v.needle, "Only sessions with this text in their id. Case does not matter"),
    ...v.page,
  },
  output: pageOf(Session),
  isLong: true,
  async run(
    management,
    { workspaceId, deployId, sessionId, limit, cursor, from, to, ...conditions },
  ): Promise<Page<Session>> {
    const { database } = management;
    const scope = await scopeOfWorkspace(management, { workspaceId, deployId });
    const counted = await toCount(management, scope, { from, to }, "all");
    const matching = Object.values(conditions).every((condition) => condition === undefined)
      ? counted
      : { ...counted, filter: await toFilter(management, scope, { from, to, ...conditions }) };
    const scan = { matching, counted }, labels = createLabels();
    const namesFailures = failuresOf(scope.workspace.statuses) !== undefined;
    const toItems = async (tallies: SessionTally[]) => {
      const items = tallies.map((tally) => toSession(tally, namesFailures, labels));
      await labels.read(database);
      return items;
    };
    const report = reportRead(management);
    if (sessionId !== undefined) {
      const tally = await sessions.findSession(database, scan, sessionId, report);
      return { items: await toItems(tally === undefined ? [] : [tally]), nextCursor: null };
    }
    const found = reportSearch(management) && ((count: number) => management.report?.(`Sessions found: ${count}`));
    const page = await listSealed(
      management,
      "sessions",
      workspaceId,
      { limit, cursor },
      (page) => sessions.listSessions(database, scan, page, { found, counted: report }),
    );
    return { items: await toItems(page.items), nextCursor: page.nextCursor };
  },
});

function toSession(
  { sessionId, records, failures, cost, feedback, firstAt, lastAt }: SessionTally,
  namesFailures: boolean,
  labels: Labels,
): Session {
  return {
    sessionId,
    records,
    failures: namesFailures ? failures : null,
    cost: decimalText(totalCost(cost)),
    unpriced: records - cost.records,
    feedback: toFeedbackStats(feedback, labels),
    firstAt,
    lastAt,
  };
}

const neighbours = 1000; // records of a session, among which parents are looked for

/** A record of a session, with its place in the tree. */
const SessionRecord = shape("SessionRecord", {
  record: Diagnosis,
  parentId: orNull(
    v.textAs<RecordId>(),
    "The record that additional_properties.parent_id names: by its id, or by the id or the span_id in its " +
      `additional_properties. It is looked for on this page and among the ${neighbours} records before and behind it. ` +
      "Null if it is not there",
  ),
}) as Struct<{ record: Diagnosis; parentId: RecordId | null }, unknown>;

export const showSession = listOperation({
  id: "showSession",
  summary: "Show the records of a session across the deployments of a workspace, oldest first, as a tree",
  path: "/workspaces/{workspaceId}/session-records",
  paged: "newest",
  command: "session show SESSION [--limit N] [--cursor CURSOR] [--all] [--page]",
  input: { workspaceId: v.workspaceId, sessionId, ...v.page },
  output: pageOf(SessionRecord),
  isLong: true,
  async run(management, { workspaceId, sessionId, limit, cursor }) {
    const deployIds = deployIdsOf(await scopeOfWorkspace(management, { workspaceId }));
    const matching = { filter: { deployIds, sessionIds: [sessionId] }, costing: noCosting };
    const report = reportSearch(management);
    return await listSealed(management, "session", workspaceId, { limit, cursor }, async (page) => {
      const list = (request: diagnoses.ListRequest) =>
        diagnoses.listDiagnoses(management.database, matching, { ...page, ...request });
      const { items, nextCursor } = await list({ order: "oldest", report });
      const listBy = (cursor: string, order: diagnoses.Order) => list({ limit: neighbours, cursor, order });
      const parents = await findParents(
        items,
        // A page in this order begins below its cursor.
        async () =>
          page.cursor === undefined ? [] : (await listBy(`${Number(page.cursor) + 1}`, "newest")).items.reverse(),
        async () => nextCursor === null ? [] : (await listBy(nextCursor, "oldest")).items,
      );
      return { items: items.map((record) => ({ record, parentId: parents.get(record.id) ?? null })), nextCursor };
    });
  },
});

export const deleteWorkspaceSession = operation({
  id: "deleteWorkspaceSession",
  summary: "Delete all records of a session in all deployments of a workspace",
  method: "DELETE",
  path: "/workspaces/{workspaceId}/sessions",
  role: "admin",
  command: "session delete SESSION",
  input: { workspaceId: v.workspaceId, sessionId },
  output: Deletion,
  isLong: true,
  run: sessionDeletion.ofWorkspace.run,
});

export const sessionOperations = [listSessions, showSession, deleteWorkspaceSession];
