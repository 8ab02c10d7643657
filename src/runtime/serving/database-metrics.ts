// Metrics of the database: its size, and the quota of the workspaces that are nearest to their limits.
import type { Clock } from "../../common/domain.ts";
import type { Metrics } from "../../common/metrics.ts";
import { monthOf } from "../../common/month.ts";
import { withTimeout } from "../../common/timeout.ts";
import type { Database } from "../../database/database.ts";
import { sizeOf } from "../../database/file/maintenance.ts";
import { findQuotas, listQuotas } from "../../ledger/usage.ts";
import type { QuotaUse } from "../../ledger/usage.ts";

const maxAge = 5_000; // ms for which values are cached
const timeout = 500; // ms that a scrape waits for the database
const maxShown = 20; // workspaces
const pageRows = 1_000; // workspaces that one scrape reads

/**
 * Adds the metrics. A scrape reads them. If there are more workspaces than `pageRows`, several scrapes read them all.
 */
export function measureDatabase({ beforeText, series }: Metrics, database: Database, clock: Clock): void {
  let bytes: number | undefined;
  let shown: QuotaUse[] = [], found: QuotaUse[] = [];
  let cursor = "", readAt = -Infinity;
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    const month = monthOf(clock());
    const page = await listQuotas(database, month, cursor, pageRows);
    found = nearest([...found, ...page]);
    if (page.length < pageRows) {
      [shown, found, cursor] = [found, [], ""];
    } else {
      cursor = page.at(-1)!.workspaceId;
      shown = nearest([...await findQuotas(database, month, shown.map(({ workspaceId }) => workspaceId)), ...found]);
    }
    bytes = await sizeOf(database);
    readAt = performance.now();
  }

  beforeText(async () => {
    if (performance.now() - readAt >= maxAge) {
      // If a read fails or takes too long, the scrape shows the last values.
      reading ??= read().catch(() => {}).finally(() => void (reading = undefined));
      await withTimeout(timeout, reading, () => {});
    }
  });
  const quota = (valueOf: (use: QuotaUse) => number) => () =>
    shown.map((use): [string[], number] => [[use.workspaceId], valueOf(use)]);
  const of = `of the ${maxShown} workspaces nearest to it`;
  series("promptledger_quota_limit", `Limit of the month, ${of}`, ["workspace"], quota(({ limit }) => limit));
  series(
    "promptledger_quota_used",
    `Requests used of the month's limit, ${of}`,
    ["workspace"],
    quota(({ used }) => used),
  );
  series("promptledger_database_bytes", "Size of the database", [], () => bytes === undefined ? [] : [[[], bytes]]);
}

/** The workspaces that have used the largest shares of their limits, each once. */
function nearest(quotas: QuotaUse[]): QuotaUse[] {
  const newest = new Map(quotas.map((quota) => [quota.workspaceId, quota]));
  return [...newest.values()].filter(({ limit }) => limit > 0).sort((a, b) => b.used / b.limit - a.used / a.limit)
    .slice(0, maxShown);
}
