// The disk fails while a service starts on the files of a killed one: a database, and a write-ahead log (WAL) to recover.
import { describeError } from "../../src/common/log.ts";
import { startService } from "../conformance/processes.ts";
import type { Runtime } from "../runtimes.ts";
import { audit, createSeededDatabase } from "./audit.ts";
import type { Audit, SeededDatabase } from "./audit.ts";
import { becomesTrue, inFolder, skipped, sleep, spread } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { emptyOutcomes, startLoad } from "./load.ts";
import type { Outcomes } from "./load.ts";
import { failingCalls, findObstacle } from "./strace.ts";

const connections = 16;
const content = () => ({ input: "x".repeat(2_000) });
const recordsBefore = 500; // some MiB of WAL, too few for a checkpoint
const soundTime = 300; // ms of load

/** Starts a service, waits until it has stored `recordsBefore` more records, and kills it. */
async function serveAndKill(runtime: Runtime, { url, tenant }: SeededDatabase, outcomes: Outcomes, prefix: string[]) {
  const service = await startService(runtime, { DATABASE_URL: url }, prefix);
  const load = startLoad({ bases: [service.url], connections, tenant, content, outcomes });
  const enough = outcomes.recorded.length + recordsBefore;
  await becomesTrue(() => outcomes.recorded.length >= enough);
  await service.stop("SIGKILL");
  await load.stop();
}

/** The service must refuse to start, since it cannot read what is stored. With a sound disk it must start with all records. */
const failingAtStart = (file: "database" | "WAL", result: string, when: string): Fault => ({
  rounds: 2,
  hit: async (runtime, rounds, say) => {
    const obstacle = await findObstacle();
    if (obstacle !== undefined) return skipped(obstacle);
    return await inFolder(async (path) => {
      const totals: Audit = { lost: 0, doubled: 0, faults: [] };
      const statuses = new Map<number, number>();
      let requests = 0, refused = 0;
      for (let round = 1; round <= rounds; round++) {
        const name = `${path}/ledger-${round}.db`;
        const seeded = await createSeededDatabase(`file:${name}`);
        const outcomes = emptyOutcomes();
        await serveAndKill(runtime, seeded, outcomes, []);
        const prefix = failingCalls(file === "WAL" ? `${name}-wal` : name, { calls: "pread64", result, when });
        const said = await serveAndKill(runtime, seeded, outcomes, prefix).catch(describeError);
        if (said?.includes("cannot be used")) refused++;
        else totals.faults.push(said ?? "it started although it could not read");

        const service = await startService(runtime, { DATABASE_URL: seeded.url });
        const load = startLoad({ bases: [service.url], connections, tenant: seeded.tenant, content, outcomes });
        await sleep(soundTime);
        await load.stop();
        await service.stop();
        const { lost, doubled, faults } = await audit(seeded, outcomes);
        totals.lost += lost;
        totals.doubled += doubled;
        totals.faults.push(...faults);
        requests += outcomes.requests;
        for (const [status, count] of outcomes.statuses) statuses.set(status, (statuses.get(status) ?? 0) + count);
        say(`${round} of ${rounds}: ${lost} lost of ${outcomes.recorded.length} records`);
      }
      const figures = `${refused} of ${rounds} starts refused; ${spread({ statuses })}`;
      return { ...totals, rounds, requests, figures };
    });
  },
});

export const failingStart: Record<string, Fault> = {
  "EIO reading the WAL at the start": failingAtStart("WAL", "error=EIO", "3"),
  "end of file reading the WAL at the start": failingAtStart("WAL", "retval=0", "3"),
  "EIO reading the database at the start": failingAtStart("database", "error=EIO", "3+3"),
};
