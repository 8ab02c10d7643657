// Schedules backups of a service. Each is made by a separate process with a low priority, because copying, checking and
// compressing would hold up requests.
import { spawn } from "node:child_process";
import { constants, setPriority } from "node:os";
import process from "node:process";
import type { BackupSettings } from "../settings/backup-settings.ts";
import type { Backup, BackupState } from "../../management/upkeep/backup-notices.ts";
import type { Clock } from "../../common/domain.ts";
import { invalid, Refusal } from "../../common/errors.ts";
import { describeError } from "../../common/log.ts";
import type { Log } from "../../common/log.ts";
import type { Metrics } from "../../common/metrics.ts";
import type { Place } from "./backup-place.ts";
import { thin } from "./backup-thinning.ts";
import type { Thinned } from "./backup-thinning.ts";
import { ownCommand } from "../own-service.ts";

/** In ms: before the first check, because the start itself is busy, and after a failure. */
const usualDelays = { first: 10_000, retry: 300_000 };
const minDelay = 1_000; // ms between two checks
const maxDelay = 3_600_000; // ms until the next check whether a backup is due
const clockSkew = 60_000; // ms that a backup's time may be ahead, as another machine's clock set it

type Made = Backup & Thinned & { durationMs: number };

/** Makes a backup. `ended` is aborted once the service stops. Rejects with the cause of a failure. */
export type MakeBackup = (ended: AbortSignal) => Promise<Made>;

/** Reports the cause of failing backups or removals, or success without a cause. */
export type Notice = (cause: string | undefined) => Promise<void>;

type Parts = {
  place: Place;
  /** Selects the backups in the place that count. */
  counts: (backup: Backup) => boolean;
  settings: Pick<BackupSettings, "every" | "keep">;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  notice: Notice;
  make?: MakeBackup;
  delays?: typeof usualDelays;
};

/**
 * Start time of the next backup, in Unix ms: as long before it is due as the last one took, so that the newest backup
 * is never older than `every`.
 */
export const dueAt = (createdAt: number, every: number, took: number): number =>
  createdAt + every - Math.min(took, every / 2);

/** Starts the schedule. `stop` aborts a running backup. */
export function startBackups(
  { place, counts, settings: { every, keep }, clock, log, metrics, notice, make = makeBackup, delays = usualDelays }:
    Parts,
): { stop(): void; state(): BackupState } {
  const ending = new AbortController(), ended = ending.signal;
  const state: BackupState = { place: place.name, every, newest: undefined, failure: undefined };
  let failures = 0, failuresInRow = 0;
  let took = 0; // ms for the last backup
  let isThinned = true; // as far as this process knows
  let hasLooked = false;
  // Without a check, the age would begin at 0 and raise an alarm with each start.
  const afterLook = (read: () => number) => (): [string[], number][] => hasLooked ? [[[], read()]] : [];
  metrics.series(
    "promptledger_backup_last_success_timestamp_seconds",
    "The time of the state in the newest backup, in Unix seconds; 0 if there is none, and absent until the service has looked",
    [],
    afterLook(() => (state.newest?.createdAt ?? 0) / 1000),
  );
  metrics.series(
    "promptledger_backup_last_bytes",
    "The size of the newest backup; 0 if there is none, and absent until the service has looked",
    [],
    afterLook(() => state.newest?.bytes ?? 0),
  );
  metrics.gauge(
    "promptledger_backup_failures_total",
    "Attempts to make a backup, or to remove those that no rule keeps, that failed",
    () => failures,
    "counter",
  );
  let timer = schedule(delays.first);

  function schedule(ms: number) {
    const timer = setTimeout(() => void runOnce(), ms);
    timer.unref();
    return timer;
  }

  /** Makes a backup if one is due. The newest backup's time comes from the place, so a restart makes none too early. */
  async function runOnce(): Promise<void> {
    let next = delays.retry;
    try {
      state.newest = (await place.list()).filter(counts).find(({ createdAt }) => createdAt <= clock() + clockSkew);
      hasLooked = true;
      if (ended.aborted) return;
      const { unremoved, durationMs } = await doWhatIsDue();
      isThinned = unremoved === undefined;
      if (unremoved !== undefined) throw invalid(`A backup was made. ${unremoved}`);
      await noteSuccess();
      // A backup that takes longer than it is valid is followed by a rest of the same length.
      next = Math.max(minDelay, dueIn(), durationMs);
    } catch (error) {
      await noteFailure(error);
    }
    if (!ended.aborted) timer = schedule(Math.min(next, maxDelay));
  }

  const dueIn = (): number => state.newest === undefined ? 0 : dueAt(state.newest.createdAt, every, took) - clock();

  /** Makes a backup, or retries removals that failed. */
  async function doWhatIsDue(): Promise<Thinned & { durationMs: number }> {
    if (dueIn() <= 0) return await makeOne();
    const thinned = isThinned ? { removed: [] } : await thin(place, keep, state.newest!.createdAt, counts);
    return { ...thinned, durationMs: 0 };
  }

  async function makeOne(): Promise<Made> {
    const made = await make(ended), { name, createdAt, bytes, removed, durationMs } = made;
    state.newest = { name, createdAt, bytes };
    took = durationMs;
    log.info("Made a backup", { name, bytes, durationMs, removed: removed.length });
    return made;
  }

  async function noteSuccess(): Promise<void> {
    if (state.failure !== undefined) log.info("Backups succeed again");
    state.failure = undefined;
    failuresInRow = 0;
    await say(undefined);
  }

  /** A failure that the next attempt fixes is not an event. */
  async function noteFailure(error: unknown): Promise<void> {
    if (ended.aborted) return;
    failures++;
    failuresInRow++;
    const cause = error instanceof Refusal ? error.message : describeError(error);
    state.failure = { at: clock(), cause };
    log.error("Backup failed; it is tried again", { cause, retryInMs: delays.retry });
    if (failuresInRow > 1) await say(cause);
  }

  /** A database that cannot be written must not prevent backups. */
  async function say(cause: string | undefined): Promise<void> {
    try {
      if (!ended.aborted) await notice(cause);
    } catch (error) {
      log.error("The event of a backup cannot be stored", { cause: describeError(error) });
    }
  }

  return {
    state: () => state,
    stop() {
      ending.abort();
      clearTimeout(timer);
    },
  };
}

/** Runs this program's `backup now` as a process, with the settings of this process. */
const makeBackup: MakeBackup = (ended) =>
  new Promise((resolve, reject) => {
    const [command, ...args] = ownCommand();
    // The database is that of this process, even if PROMPTLEDGER_SERVER is set for its user.
    const { PROMPTLEDGER_SERVER: _, ...env } = process.env;
    const child = spawn(command, [...args, "backup", "now", "--json"], { env, stdio: ["ignore", "pipe", "pipe"] });
    // The next backup removes the remains of a killed one.
    const kill = () => void child.kill("SIGKILL");
    ended.addEventListener("abort", kill);
    let out = "", said = "";
    child.stdout.on("data", (data) => out += String(data));
    child.stderr.on("data", (data) => said = (said + String(data)).slice(-10_000));
    child.once("spawn", () => lowerPriority(child.pid));
    child.once("error", reject);
    child.once("close", (code, signal) => {
      ended.removeEventListener("abort", kill);
      const made = readMade(out);
      if (made !== undefined) return resolve(made);
      const [, cause] = /^promptledger: (.*)/ms.exec(said) ?? [];
      reject(
        invalid(cause?.trim() ?? `the process that made it ended with ${signal ?? `code ${code}`}. ${said}`.trim()),
      );
    });
  });

/** The backup that the process printed. Undefined if it made none. */
function readMade(out: string): Made | undefined {
  try {
    const made = JSON.parse(out) as Partial<Made> | null;
    return typeof made?.name === "string" ? made as Made : undefined;
  } catch {
    return undefined;
  }
}

/** Lowers a process's priority, where the system allows it. */
function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // Without it, the backup competes with requests for the processor.
  }
}
