// How the command line shows sessions: a list, and the records of one as a tree.
import type { RecordId } from "../common/ids.ts";
import { deleteWorkspaceSession, listSessions, showSession } from "../management/sessions.ts";
import type { Session } from "../management/sessions.ts";
import type { Diagnosis } from "../schema/ledger.ts";
import { showDeletion } from "./records.ts";
import { recordCell, statsCell } from "./feedback.ts";
import { listNewest } from "./lists.ts";
import { present } from "./operation-commands.ts";
import { previewOf, statusOf } from "./record-text.ts";

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
/** `isLed`: whether it has a parent, which may be on another page. */
type Branch = { record: Diagnosis; depth: number; isLed: boolean };

/**
 * The records in the order of the tree: each below its parent, oldest first, with how deep it stands. Those whose
 * parents are on another page stand on their own.
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
