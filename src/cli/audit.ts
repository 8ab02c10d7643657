// How the command line shows the audit log.
import { exportAuditEntries, listAuditEntries } from "../management/audit.ts";
import type { AuditEntry } from "../management/audit.ts";
import { formatValue } from "./format.ts";
import { listNewest } from "./lists.ts";
import { present } from "./operation-commands.ts";

/** What changed, in words: `monthlyLimit 10 → 20`, `version 1 → 2`, or the name of what was created or deleted. */
function describeChange({ before, after }: AuditEntry): string {
  if (before === null || after === null) {
    const { name } = after ?? before ?? {};
    return typeof name === "string" ? name : "";
  }
  return Object.keys(after).filter((member) => !["revision", "hash", "secretHash"].includes(member))
    .map((member) =>
      `${member.replace(/^(current|latest)V/, "v")} ${formatValue(member, before[member])} → ${
        formatValue(member, after[member])
      }`
    )
    .join(", ");
}

/** The most important columns come first, because a narrow terminal shows the last ones below. */
const toRow = (entry: AuditEntry) => {
  const { createdAt, action, actor, note, source, targetId, position, requestId } = entry;
  return { createdAt, action, change: describeChange(entry), actor, note, source, targetId, position, requestId };
};

const example = "deployment.promoted";

export const auditPresentations = [
  present(listAuditEntries, {
    async run(context, input) {
      const outcome = await listNewest(context, listAuditEntries, input, toRow);
      const action = context.args.findText("action");
      if (action === undefined || outcome.rows?.length !== 0) return outcome;
      const note = `Nothing to list. An action is a noun such as deployment, or a noun and a verb such as ${example}`;
      return { ...outcome, note };
    },
  }),
  present(exportAuditEntries, { exported: "entries" }),
];
