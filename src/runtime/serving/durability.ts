// Checks whether a libSQL server (sqld) syncs each commit before it responds. In its default mode it does not, and a
// power cut can lose acknowledged commits.
import { describeDatabase } from "../../database/location.ts";
import { describeError } from "../../common/log.ts";
import type { Log } from "../../common/log.ts";
import { outgoingFetch } from "../proxy.ts";

const timeout = 5_000; // ms

/** Logs a warning if, according to the server's admin API, commits may be lost, or if it does not respond. */
export async function warnOfWeakDurability(adminUrl: string, { warn }: Pick<Log, "warn">): Promise<void> {
  const url = describeDatabase(adminUrl);
  let mode: unknown;
  try {
    const endpoint = `${adminUrl.replace(/\/+$/, "")}/v1/namespaces/default/config`;
    const response = await outgoingFetch(endpoint, { signal: AbortSignal.timeout(timeout) });
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    mode = ((await response.json()) as { durability_mode?: unknown }).durability_mode;
  } catch (error) {
    warn("Cannot check the durability of the database server (DATABASE_ADMIN_URL)", {
      url,
      cause: describeError(error),
    });
    return;
  }
  if (mode === "strong") return;
  warn("The database server answers before it syncs: a power cut can lose commits. Set its durability_mode to strong", {
    url,
    durabilityMode: String(mode),
  });
}
