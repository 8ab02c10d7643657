// Checkpoints fail from the first one on: strace makes system calls on the database file or on its write-ahead log (WAL) fail.
// Commits do not need them.
import { readFile } from "node:fs/promises";
import { send } from "../conformance/http-client.ts";
import { startService } from "../conformance/processes.ts";
import { audit, createSeededDatabase } from "./audit.ts";
import { becomesTrue, inFolder, skipped, sleep, spread } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { emptyOutcomes, startLoad } from "./load.ts";
import { failCalls, findObstacle } from "./strace.ts";
import type { FailingCalls } from "./strace.ts";

const connections = 4;
const failingTime = 3_000; // ms, longer than the service waits between two attempts

/** Every request must succeed while checkpoints fail and afterwards, and the next start must find everything. */
const failingCheckpoint = (suffix: "" | "-wal", failing: FailingCalls): Fault => ({
  rounds: 1,
  hit: async (runtime, rounds, say) => {
    const obstacle = await findObstacle();
    if (obstacle !== undefined) return skipped(obstacle);
    return await inFolder(async (path) => {
      const faults: string[] = [];
      const outcomes = emptyOutcomes();
      let lost = 0, doubled = 0;
      for (let round = 1; round <= rounds; round++) {
        const file = `${path}/${round}.db`;
        const seeded = await createSeededDatabase(`file:${file}`);
        const service = await startService(runtime, { DATABASE_URL: seeded.url });
        const tracer = await failCalls(service.pid, file + suffix, failing);
        const content = (number: number) => ({ input: `record ${round}.${number}` });
        const load = startLoad({ bases: [service.url], connections, tenant: seeded.tenant, content, outcomes });
        const isSaid = (text: string) => becomesTrue(() => service.output().includes(text));
        if (!await isSaid("Checkpoint failed")) faults.push("the log does not say that a checkpoint failed");
        await sleep(failingTime);
        const { status } = await send(service.url, "/readyz");
        if (status !== 200) faults.push(`/readyz is ${status} while checkpoints fail`);
        await tracer.detach();
        if (!await isSaid("Checkpoints succeed again")) faults.push("checkpoints do not succeed again");
        const isInFile = async () => (await readFile(file, "latin1")).includes(`record ${round}.1`);
        if (!await becomesTrue(isInFile)) faults.push("a record is not in the file itself");
        await load.stop();
        await service.stop("SIGKILL");
        const found = await audit(seeded, outcomes);
        lost += found.lost;
        doubled += found.doubled;
        faults.push(...found.faults);
        say(`${round} of ${rounds}: ${tracer.countInjected()} calls failed`);
      }
      const failed = [...outcomes.statuses].filter(([status]) => status >= 400 || status === 0);
      if (failed.length > 0) faults.push(`requests failed: ${spread(outcomes)}`);
      return { lost, doubled, faults, rounds, requests: outcomes.requests, figures: spread(outcomes) };
    });
  },
});

export const failingCheckpoints: Record<string, Fault> = {
  "ENOSPC writing the database, from the first checkpoint on": failingCheckpoint("", {
    calls: "pwrite64",
    result: "error=ENOSPC",
    when: "1+1",
  }),
  "EIO syncing the database, from the first checkpoint on": failingCheckpoint("", {
    calls: "fsync,fdatasync",
    result: "error=EIO",
    when: "1+1",
  }),
};
