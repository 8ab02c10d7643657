// How the command line shows records, statistics, usage and verification.
import { monthOf } from "../common/month.ts";
import { deleteDiagnosis, deleteSession, exportDiagnoses, getDiagnosis } from "../management/records.ts";
import type { Deletion } from "../management/records.ts";
import { reindex } from "../management/reindex.ts";
import { readStats } from "../management/stats.ts";
import { percent } from "../management/operation.ts";
import { prune, verify } from "../management/upkeep.ts";
import { readUsage } from "../management/usage.ts";
import { statsText, usageText } from "./charts.ts";
import { show } from "./command.ts";
import type { Outcome } from "./command.ts";
import { exporting } from "./export.ts";
import { format, stripControls } from "./format.ts";
import { present, repeatUntilDone } from "./operation-commands.ts";
import { recordText } from "./record-text.ts";

const showDeletion = ({ deleted }: Deletion): Outcome =>
  show({ deleted }, deleted === 0 ? "Nothing to delete" : undefined);

export const recordPresentations = [
  present(getDiagnosis, { show: (data) => ({ data, text: () => stripControls(recordText(data)) }) }),
  present(deleteDiagnosis, { show: showDeletion }),
  present(deleteSession, { show: showDeletion }),
  exporting(exportDiagnoses, "records"),
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
    show(data) {
      const { total, unbalanced, ledgers, audit } = data;
      const rest = total === ledgers.length ? "" : `; ${ledgers.length} are listed, those out of balance first`;
      const chain = audit &&
        `${audit.isIntact ? "intact" : `broken at entry ${audit.brokenAt}`}, ${audit.entries} entries`;
      const text = () => format({ ...data, audit: audit && `${chain}, head ${audit.head || "-"}` });
      const log = chain === null ? "" : `. Audit log: ${chain}`;
      const failed = !data.balanced || audit?.isIntact === false;
      return { data, text, note: `Balanced: ${total - unbalanced} of ${total} ledgers${rest}${log}`, failed };
    },
  }),
];
