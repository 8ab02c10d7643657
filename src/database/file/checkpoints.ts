// Schedules checkpoints of a served file's write-ahead log: soon after the first commit, when the log is full, and when
// it has waited for some time, so that the file itself has nearly everything. Commits do not wait for a checkpoint, and
// succeed even if it fails.
import { clearTimeout, setTimeout } from "node:timers";
import { describeError } from "../../common/log.ts";
import type { Log } from "../../common/log.ts";
import { isClosedError } from "../database.ts";

const fullPages = 4096; // 16 MiB
const morePages = 1024; // until the next attempt, where a reader holds back the end of the log

/**
 * `checkpoint` resolves with true if it has written back the whole log, and rejects with `isClosedError` once the
 * database is closed. `restMs` is the time to a checkpoint after a commit, and after a checkpoint that failed.
 */
export function createCheckpoints(
  checkpoint: () => Promise<boolean>,
  findLog: () => Log | undefined,
  restMs = 2_000,
) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let dueIn = Infinity; // ms from when the timer was set
  let isFirst = true, fails = false;
  let pages = 0, pagesAtNext = fullPages;

  function schedule(ms: number): void {
    if (ms >= dueIn) return;
    clearTimeout(timer);
    dueIn = ms;
    timer = setTimeout(() => void run(), ms).unref();
  }

  async function run(): Promise<void> {
    dueIn = Infinity;
    try {
      if (!await checkpoint()) schedule(restMs);
      if (fails) findLog()?.info("Checkpoints succeed again");
      fails = false;
    } catch (error) {
      if (isClosedError(error)) return;
      if (!fails) findLog()?.error("Checkpoint failed; it is tried again", { cause: describeError(error) });
      fails = true;
      schedule(restMs);
    }
    pagesAtNext = Math.max(fullPages, pages + morePages);
  }

  return {
    /** Notes a commit, and the number of pages in the log after it, if known. */
    noteCommit(now: number | undefined): void {
      // The log was restarted.
      if (now !== undefined && now < pages) pagesAtNext = fullPages;
      pages = now ?? pages;
      schedule(isFirst || pages >= pagesAtNext ? 0 : restMs);
      isFirst = false;
    },
    /** Makes no further checkpoint. */
    stop(): void {
      clearTimeout(timer);
      dueIn = -Infinity;
    },
  };
}
