// The process that reads the log stalls, and then ends.
import process from "node:process";
import { memoryOf, startService } from "../conformance/processes.ts";
import { audit, createSeededDatabase } from "./audit.ts";
import { becomesTrue, inFolder, seconds, sleep, spread } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { emptyOutcomes, startLoad } from "./load.ts";

const stallTime = 5_000; // ms
const maxStall = 30_000; // ms until enough requests have come for lines to be dropped
const enoughRequests = 25_000;
const maxAnswerTime = 1_000; // ms that a request may take meanwhile
const maxGrowth = 64; // MiB
const dropped = /"message":"Dropped log lines: the stderr reader is too slow","count":(\d+)/g;

/** Sends stderr through a pipe, and prints the process id of the pipe's reader. */
const withReader = ["bash", "-c", `exec 2> >(exec cat >&2); echo "reader $!"; exec "$@"`, "bash"];

/** Stops the reader of the log for a while under load. Then kills it, while the load goes on. */
export const logStalls: Fault = {
  rounds: 1,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const seeded = await createSeededDatabase(`file:${path}/ledger.db`);
      const settings = { DATABASE_URL: seeded.url, LOG_LEVEL: "info", LOG_FORMAT: "json" };
      const outcomes = emptyOutcomes();
      const faults: string[] = [];
      const figures: string[] = [];
      for (let round = 1; round <= rounds; round++) {
        const service = await startService(runtime, settings, withReader);
        const reader = Number(/^reader (\d+)$/m.exec(service.output())![1]);
        const waits = runtime === "Deno";
        const startOutcomes = outcomes.requests;
        const begin = () => startLoad({ bases: [service.url], connections: 32, tenant: seeded.tenant, outcomes });

        const load = begin();
        await sleep(2_000);
        const memory = await memoryOf(service.pid, "VmRSS") ?? 0;
        outcomes.slowest = 0;
        const from = { at: performance.now(), requests: outcomes.requests };
        const stalledRequests = () => outcomes.requests - from.requests;
        process.kill(reader, "SIGSTOP");
        await sleep(stallTime);
        if (!waits) await becomesTrue(() => stalledRequests() > enoughRequests, maxStall - stallTime);
        const growth = (await memoryOf(service.pid, "VmRSS") ?? 0) - memory;
        const answered = stalledRequests();
        const stalled = performance.now() - from.at;
        process.kill(reader, "SIGCONT");
        await load.untilSuccess();
        const slowest = outcomes.slowest;
        await sleep(500);
        await load.stop();

        // Every request has a line, or is counted as dropped.
        const requests = outcomes.requests - startOutcomes;
        const countLines = () => service.output().match(/^{.*"message":"Request".*}$/gm)?.length ?? 0;
        const countDropped = () => [...service.output().matchAll(dropped)].reduce((sum, [, n]) => sum + Number(n), 0);
        const isComplete = () => countLines() + countDropped() === requests;
        if (!await becomesTrue(isComplete, 3_000)) {
          faults.push(`${requests} requests have ${countLines()} lines, and ${countDropped()} were dropped`);
        }
        if (!waits && countDropped() === 0) faults.push("no lines were dropped");
        if (!waits && slowest > maxAnswerTime) faults.push(`a request took ${seconds(slowest)} meanwhile`);
        if (growth > maxGrowth) faults.push(`memory grew by ${growth} MiB`);

        process.kill(reader, "SIGKILL");
        const served = begin();
        const wait = await served.untilSuccess();
        await sleep(1_000);
        await served.stop();
        if (wait > maxAnswerTime) faults.push(`it took ${seconds(wait)} until it served without a reader`);
        const code = await service.stop();
        if (code !== 0) faults.push(`exit code ${code}`);
        figures.push(
          `${answered} requests while the reader stood still for ${seconds(stalled)}, none longer than ${
            seconds(slowest)
          }, memory ${growth < 0 ? "" : "+"}${growth} MiB, ${countDropped()} of ${requests} lines dropped and counted`,
        );
        say(`${round} of ${rounds}: ${figures.at(-1)}`);
      }
      const found = await audit(seeded, outcomes);
      return {
        ...found,
        faults: [...found.faults, ...faults],
        rounds,
        requests: outcomes.requests,
        figures: `${figures.join("; ")}; served on without a reader; ${spread(outcomes)}`,
      };
    }),
};
