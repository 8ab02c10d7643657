// The process runs out of file descriptors.
import { openConnection, serialize } from "../conformance/http-client.ts";
import type { Connection } from "../conformance/http-client.ts";
import { descriptorsOf, startService } from "../conformance/processes.ts";
import { audit, createSeededDatabase } from "./audit.ts";
import { becomesTrue, inFolder, patience, seconds, sleep, spread } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { startLoad } from "./load.ts";
import { lookersSettings, startLookers } from "./lookers.ts";

const limit = 256;
const idleConnections = 400;
const shortage = 1_000; // ms
const fewFree = 8; // descriptors that may be left
const recovery = 2_000; // ms until new connections should be served afterwards
const refusalTime = 250; // ms without an answer on a new connection, which is then taken for refused

/** Whether a new connection is accepted and answered within a time. */
async function isServed(base: string, answerTime: number): Promise<boolean> {
  const connection = openConnection(base);
  try {
    connection.write(serialize(base, "/healthz", {}, "close"));
    const answer = connection.readAnswer().catch(() => undefined);
    return (await Promise.race([answer, sleep(answerTime)]) as { status?: number } | undefined)?.status === 200;
  } finally {
    connection.close();
  }
}

/** Opens more connections than there are file descriptors, and closes them again. */
export const outOfDescriptors: Fault = {
  rounds: 5,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const seeded = await createSeededDatabase(`file:${path}/ledger.db`);
      const limited = ["sh", "-c", `ulimit -n ${limit} && exec "$@"`, "sh"];
      const service = await startService(runtime, { DATABASE_URL: seeded.url, ...lookersSettings }, limited);
      const load = startLoad({ bases: [service.url], connections: 16, tenant: seeded.tenant });
      const faults: string[] = [];
      let slowest = 0, refused = 0, duringShortage = 0;
      for (let round = 1; round <= rounds; round++) {
        await sleep(200);
        const idle: Connection[] = Array.from({ length: idleConnections }, () => openConnection(service.url));
        // Bun accepts a connection only once it receives something.
        for (const { write } of idle) write("GET ");
        const isShort = async () => (await descriptorsOf(service.pid, "") ?? idle).length > limit - fewFree;
        if (!await becomesTrue(isShort)) faults.push("it has descriptors left");
        await sleep(shortage / 2);
        // The reader thread cannot start now. On connections that are new, lookers wait until the shortage ends.
        const lookers = startLookers(service.url, seeded.tenant);
        const before = load.outcomes.times.length;
        if (!await isServed(service.url, refusalTime)) refused++;
        await sleep(shortage / 2);
        duringShortage += load.outcomes.times.length - before;
        idle.forEach(({ close }) => close());
        const closed = performance.now();
        if (!await becomesTrue(() => isServed(service.url, patience))) faults.push("it never served again");
        // The load may have lost its connections as well, and must get them back.
        await load.untilSuccess();
        const wait = performance.now() - closed;
        faults.push(...await lookers.stop());
        slowest = Math.max(slowest, wait);
        say(`${round} of ${rounds}: served again after ${seconds(wait)}`);
      }
      await load.stop();
      const code = await service.stop();
      const found = await audit(seeded, load.outcomes);
      if (code !== 0) faults.push(`exit code ${code}`);
      if (refused === 0) faults.push("new connections were served all the time: there was no shortage");
      if (slowest > recovery) found.slow = [`it took ${seconds(slowest)} until new connections were served`];
      const figures = `served again within ${seconds(slowest)}; ${duringShortage} answers during shortages; ${
        spread(load.outcomes)
      }`;
      return { ...found, faults: [...found.faults, ...faults], rounds, requests: load.outcomes.requests, figures };
    }),
};
