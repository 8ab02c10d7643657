// Shows records, sessions as a list and as a tree, statistics, usage and verification.
import { conflict } from "../../common/errors.ts";
import type { DeploymentId, RecordId } from "../../common/ids.ts";
import { monthOf } from "../../common/month.ts";
import { describeDamaged } from "../../log/damaged-texts.ts";
import { describeFeedbackCheck } from "../../feedback/verify-feedback.ts";
import { compareStats } from "../../management/records/compare.ts";
import { readCosts } from "../../management/records/costs.ts";
import { percent } from "../../management/kernel/progress.ts";
import { prune } from "../../management/records/prune.ts";
import {
  deleteDiagnosis,
  deleteSession,
  getDiagnosis,
  listDiagnoses,
  listWorkspaceDiagnoses,
} from "../../management/records/records.ts";
import type { Deletion } from "../../management/records/records.ts";
import { reindex } from "../../management/records/reindex.ts";
import { listRollouts } from "../../management/deployments/rollout-operations.ts";
import { readRolloutStats } from "../../management/records/rollout-stats.ts";
import { deleteWorkspaceSession, listSessions, showSession } from "../../management/records/sessions.ts";
import type { Session } from "../../management/records/sessions.ts";
import { readStats, readWorkspaceStats } from "../../management/records/stats.ts";
import { readUsage } from "../../management/records/usage.ts";
import { verify } from "../../management/verify/verify.ts";
import type { Diagnosis } from "../../schema/ledger.ts";
import type { Arguments } from "../frame/arguments.ts";
import { costsText, usageText, usedUpText } from "../frame/charts.ts";
import { show } from "../frame/command.ts";
import type { Call, CommandContext, Outcome } from "../frame/command.ts";
import { recordCell, statsCell } from "./feedback.ts";
import { counted, format, oneLine, stripControls } from "../frame/format.ts";
import { listNewest } from "../frame/lists.ts";
import { present, repeatUntilDone } from "../frame/operation-commands.ts";
import { previewOf, recordText, statusOf, toRecordRow, toWorkspaceRow } from "./record-text.ts";
import { rolloutText } from "./rollout-text.ts";
import { comparisonText, statsText, workspaceStatsText } from "./stats-text.ts";

/** The newest rollout of a deployment. */
async function findNewest(call: Call, of: Pick<Parameters<typeof listRollouts.run>[1], "id" | "workspaceId">) {
  const { items: [newest] } = await call(listRollouts, { ...of, limit: 1 });
  if (newest === undefined) throw conflict(`Deployment ${of.id} has had no rollout`);
  return newest.id;
}

/** `support/assistant@production:7` */
function readSide(text: string): { reference: DeploymentId; version: number | undefined } {
  const [, reference, version] = /^(.*?)(?::([1-9]\d{0,14}))?$/s.exec(text)!;
  return { reference: reference as DeploymentId, version: version === undefined ? undefined : Number(version) };
}

/** A range that ends before it begins is a mistake, not a range without records. */
function checkRange(args: Arguments): string | undefined {
  const { from = 0, to = Infinity } = { from: args.findNumber("from"), to: args.findNumber("to") };
  return from > to ? "--from must be no later than --to" : undefined;
}

const showDeletion = ({ deleted }: Deletion): Outcome =>
  show({ deleted }, deleted === 0 ? "Nothing to delete" : undefined);

const statistics = <T extends { records: number }>(
  textOf: (stats: T, interval?: string, columns?: number) => string,
) => ({
  check: checkRange,
  show: (data: T, { args, terminal }: CommandContext): Outcome => ({
    data,
    text: () => stripControls(textOf(data, args.findText("interval"), terminal.columns)),
    note: data.records === 0 ? "No records" : undefined,
  }),
});

export const recordPresentations = [
  present(listWorkspaceDiagnoses, { row: toWorkspaceRow }),
  present(listDiagnoses, { row: toRecordRow }),
  present(getDiagnosis, { show: (data) => ({ data, text: () => stripControls(recordText(data)) }) }),
  present(deleteDiagnosis, { show: showDeletion }),
  present(deleteSession, { show: showDeletion }),
  present(readWorkspaceStats, statistics(workspaceStatsText)),
  present(readStats, statistics(statsText)),
  present(compareStats, {
    check: checkRange,
    async run({ args, call, terminal }, input) {
      const [a, b] = [readSide(args.text("A")), readSide(args.text("B"))];
      const sides = { a: a.reference, aVersion: a.version, b: b.reference, bVersion: b.version };
      const data = await call(compareStats, { ...input, ...sides });
      return { data, text: () => stripControls(comparisonText(data, terminal.columns)) };
    },
  }),
  present(readRolloutStats, {
    explanations: { rollout: "The id of the rollout. Default: the newest one of the deployment" },
    async run({ args, call, terminal }, input) {
      const { id, workspaceId } = input;
      const rollout = args.findText("rollout") as typeof input.rollout | undefined ??
        await findNewest(call, { id, workspaceId });
      const data = await call(readRolloutStats, { ...input, rollout });
      return { data, text: () => stripControls(rolloutText(data, terminal.columns)) };
    },
  }),
  present(readUsage, {
    async run({ call, terminal }, { workspaceId, month }) {
      const currentMonth = monthOf(Date.now());
      const input = { workspaceId, month: month ?? currentMonth };
      const usage = await call(readUsage, input);
      const costs = await call(readCosts, input);
      const textOf = (columns?: number) =>
        usedUpText(usage, workspaceId, currentMonth, columns) + usageText(usage, currentMonth, columns) +
        costsText(costs, columns);
      return { data: { ...usage, costs }, text: () => stripControls(textOf(terminal.columns)) };
    },
  }),
  present(reindex, {
    async run({ call, terminal }) {
      const sum = { records: 0, changed: 0 };
      for (let isDone = false; !isDone;) {
        const part = await call(reindex, {});
        sum.records += part.records;
        sum.changed += part.changed;
        isDone = part.isDone;
        terminal.report(`Read ${percent(part.share)}`);
      }
      return show(sum);
    },
  }),
  present(prune, repeatUntilDone(prune, "Pruned")),
  present(verify, {
    show(data, { terminal }) {
      const { total, unbalanced, ledgers, feedback, audit, damaged } = data;
      const rest = total === ledgers.length ? "" : `; ${ledgers.length} are listed, those out of balance first`;
      const balance = total === 0
        ? "No ledger yet: no request was accepted"
        : `Balanced: ${total - unbalanced} of ${total} ledgers${rest}`;
      // A service of an earlier version checks the entries alone.
      const { isIntact = true, triggers = [], differences = 0, rows = [] } = audit ?? {};
      const chain = audit && [
        isIntact ? "intact" : `broken at entry ${audit.brokenAt}`,
        counted(audit.entries, "entry", "entries"),
        ...triggers.length === 0 ? [] : [`triggers missing, altered or foreign: ${triggers.join(", ")}`],
        ...differences === 0 ? [] : [`rows that disagree with it: ${differences}`],
      ].join(", ");
      // Nor does it check feedback.
      const { faults = 0 } = feedback ?? {};
      const checked = feedback && oneLine(describeFeedbackCheck(feedback));
      const pieces = checked === undefined ? "" : `. Feedback: ${checked}`;
      const log = chain === null ? "" : `. Audit log: ${chain}`;
      // Neither does it look for damaged texts.
      const texts = damaged?.total ? `. ${describeDamaged(damaged.rows, damaged.total)}` : "";
      const text = () =>
        format({
          ...data,
          feedback: faults === 0 ? checked : feedback,
          audit: audit && `${chain}, head ${audit.head || "-"}`,
          damaged: damaged?.total === 0 ? "none" : damaged,
          ...rows.length === 0 ? {} : { rows },
        }, terminal.columns);
      const failed = !data.balanced || !isIntact || triggers.length > 0 || differences > 0 || texts !== "" ||
        faults > 0;
      const note = `${balance}${pieces}${log}${texts}`;
      return { data, text, note, failed };
    },
  }),
];

const toRow = ({ lastAt, sessionId, records, failures, cost, unpriced, feedback, firstAt }: Session) => ({
  lastAt,
  sessionId,
  records,
  failures,
  cost: unpriced === records ? null : `$${cost}`,
  unpriced,
  ...statsCell(feedback),
  firstAt,
});

type Item = { record: Diagnosis; parentId: RecordId | null };
/** `isLed`: true if it has a parent, which may be on another page. */
type Branch = { record: Diagnosis; depth: number; isLed: boolean };

/**
 * The records in the order of the tree: each below its parent, oldest first, with its depth. Records whose parents are
 * on another page are roots.
 */
function toTree(items: Item[]): Branch[] {
  const shown = new Set(items.map(({ record }) => record.id));
  const children = new Map<RecordId | null, Item[]>();
  for (const item of items) {
    const { parentId } = item;
    const parent = parentId !== null && shown.has(parentId) ? parentId : null;
    const siblings = children.get(parent) ?? [];
    siblings.push(item);
    children.set(parent, siblings);
  }
  const visit = ({ record, parentId }: Item, depth: number): Branch[] => [
    { record, depth, isLed: parentId !== null },
    ...(children.get(record.id) ?? []).flatMap((child) => visit(child, depth + 1)),
  ];
  return (children.get(null) ?? []).flatMap((item) => visit(item, 0));
}

export const sessionPresentations = [
  present(listSessions, { row: toRow }),
  present(showSession, {
    async run(context, input) {
      const outcome = await listNewest(context, showSession, input);
      const items = Array.isArray(outcome.data) ? outcome.data : (outcome.data as { items: Item[] }).items;
      const rows = toTree(items as Item[]).map(({ record, depth, isLed }) => ({
        createdAt: record.createdAt,
        deployment: `${"  ".repeat(depth)}${isLed ? "└ " : ""}${record.reference ?? record.deployId}`,
        version: record.promptVersion,
        status: statusOf(record),
        text: previewOf(record),
        ...recordCell(record),
        id: record.id,
      }));
      return { ...outcome, rows };
    },
  }),
  present(deleteWorkspaceSession, { show: showDeletion }),
];
