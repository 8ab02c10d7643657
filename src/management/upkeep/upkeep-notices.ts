// Notices of upkeep: retention or the deletion of a workspace begins to fail, or works again.
import type { WorkspaceId } from "../../common/ids.ts";
import { text } from "../../database/row.ts";
import { performUpkeep, toChange, toRow } from "../kernel/notices.ts";
import type { Notice } from "../kernel/notices.ts";
import type { Store } from "../kernel/operation.ts";

/** A task of upkeep for a workspace. */
export type Task = { workspaceId: WorkspaceId; work: "retention" | "deletion" };

const words = { retention: "The removal of what is past its retention", deletion: "The deletion of the workspace" };

const toNotice = (action: "upkeep.failed" | "upkeep.recovered", { workspaceId, work }: Task): Notice => ({
  ...{ action, subject: workspaceId, fact: work, workspaceId, data: { work } },
  note: action === "upkeep.failed"
    ? `${words[work]} fails. It is tried again each hour, and the log of the service says why`
    : `${words[work]} works again`,
});

/** A deletion's failure is kept until it works again, so it must not be deleted with the rest of the workspace. */
const toKept = (notice: Notice, { work }: Task): Notice =>
  work === "deletion" ? { ...notice, workspaceId: null } : notice;

const isSame = (a: Task) => (b: Task) => a.workspaceId === b.workspaceId && a.work === b.work;

/** Notes new failures, and failed tasks that have ended well, or are not due any more. */
export async function noticeUpkeep(store: Store, failed: Task[], isWhole: boolean): Promise<void> {
  const find = { sql: "select subject, fact from notices where action = 'upkeep.failed' order by subject, fact" };
  // Fast path: mostly there is no notice.
  if (failed.length === 0 && (await store.database.read(find)).length === 0) return;
  await performUpkeep(store, async ({ database, clock, commit }) => {
    const known = (await database.read(find)).map((row): Task => ({
      workspaceId: text(row, "subject"),
      work: text(row, "fact"),
    }));
    const begun = failed.filter((task, nth) => !known.some(isSame(task)) && failed.findIndex(isSame(task)) === nth);
    const ended = isWhole ? known.filter((task) => !failed.some(isSame(task))) : [];
    if (begun.length + ended.length === 0) return;
    const notices = [
      ...begun.map((task) => toNotice("upkeep.failed", task)),
      ...ended.map((task) => toNotice("upkeep.recovered", task)),
    ];
    await commit(notices.map(toChange), [
      ...begun.map((task) => toRow(toKept(toNotice("upkeep.failed", task), task), clock())),
      ...ended.map(({ workspaceId, work }) => ({
        sql: "delete from notices where action = 'upkeep.failed' and subject = ? and fact = ?",
        args: [workspaceId, work],
      })),
    ]);
  });
}
