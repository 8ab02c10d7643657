// Warns of exhausted quotas. Their refusals are ordinary log lines, which `LOG_LEVEL=warn` leaves out.
import type { Clock } from "../../common/domain.ts";
import type { Log } from "../../common/log.ts";
import { endOfMonth, monthOf } from "../../common/month.ts";

/** A log that adds a warning to the first refusal of a workspace in a month. */
export function warnOfUsedQuotas(log: Log, clock: Clock): Log {
  let month = "";
  const warned = new Set<unknown>();
  return {
    ...log,
    info(message, fields) {
      log.info(message, fields);
      if (fields?.error !== "quota_exhausted") return;
      const now = monthOf(clock());
      if (now !== month) warned.clear();
      month = now;
      const { workspaceId } = fields;
      if (warned.has(workspaceId)) return;
      warned.add(workspaceId);
      const until = new Date(endOfMonth(month)).toISOString();
      log.warn("Quota is used up. Requests are refused until it resets or is raised", { workspaceId, until });
    },
  };
}
