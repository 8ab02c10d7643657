// How the command line shows records, statistics and usage.
import { invalid } from "../common/errors.ts";
import { monthOf } from "../common/month.ts";
import { deleteDiagnosis, deleteSession, exportDiagnoses, getDiagnosis } from "../management/records.ts";
import type { Deletion } from "../management/records.ts";
import { readStats } from "../management/stats.ts";
import { prune, verify } from "../management/upkeep.ts";
import { readUsage } from "../management/usage.ts";
import { statsText, usageText } from "./charts.ts";
import { show } from "./command.ts";
import type { Outcome } from "./command.ts";
import { exportTo } from "./export.ts";
import { stripControls } from "./format.ts";
import { present, repeatUntilDone } from "./operation-commands.ts";
import { recordText } from "./record-text.ts";

const showDeletion = ({ deleted }: Deletion): Outcome =>
  show({ deleted }, deleted === 0 ? "Nothing to delete" : undefined);

/** The file of an export; undefined for stdout. */
function readPath(path: string | undefined): string | undefined {
  if (path === "") throw invalid("--out must be a file name, or - for stdout");
  return path === "-" ? undefined : path;
}

export const recordPresentations = [
  present(getDiagnosis, { show: (data) => ({ data, text: () => stripControls(recordText(data)) }) }),
  present(deleteDiagnosis, { show: showDeletion }),
  present(deleteSession, { show: showDeletion }),
  present(exportDiagnoses, {
    run: async ({ args, call, terminal }, input) => {
      const target = { path: readPath(args.findText("out")), force: args.has("force") };
      return await exportTo(terminal, target, await call(exportDiagnoses, input));
    },
  }),
  present(readStats, {
    show: (data) => ({
      data,
      text: () => stripControls(statsText(data)),
      note: data.records === 0 ? "No records" : undefined,
    }),
  }),
  present(readUsage, {
    async run({ call }, { workspaceId, month }) {
      const currentMonth = monthOf(Date.now());
      const data = await call(readUsage, { workspaceId, month: month ?? currentMonth });
      return { data, text: () => stripControls(usageText(data, currentMonth)) };
    },
  }),
  present(prune, repeatUntilDone(prune, "Pruned")),
  present(verify, {
    show(data) {
      const { total, unbalanced, ledgers } = data;
      const rest = total === ledgers.length ? "" : `; ${ledgers.length} are listed, those out of balance first`;
      return { data, note: `Balanced: ${total - unbalanced} of ${total} ledgers${rest}`, failed: !data.balanced };
    },
  }),
];
