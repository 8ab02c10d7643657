// The service is killed outright while a client has thousands of records queued, again and again. The client is a process of
// its own, on the same runtime as the service.
import { findFreePort, memoryOf, startFile, startService } from "../conformance/processes.ts";
import { audit, createSeededDatabase } from "./audit.ts";
import { inFolder, seconds } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { emptyOutcomes } from "./load.ts";

/** How many records are stored between one kill and the next. */
export const queueScale = { step: 5_000 };
const bounds = { queued: 10_000, queuedBytes: 32 * 1024 * 1024 };

export const clientQueue: Fault = {
  rounds: 20,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const seeded = await createSeededDatabase(`file:${path}/ledger.db`);
      const settings = { DATABASE_URL: seeded.url, PORT: String(await findFreePort()) };
      const { step } = queueScale;
      // Some are left after the last kill.
      const records = step * (rounds + 1);
      let service = await startService(runtime, settings);
      const env = { PROMPTLEDGER_URL: service.url, PROMPTLEDGER_API_KEY: seeded.tenant.key };
      const args = [String(records), String(step)];
      const began = performance.now();
      const app = await startFile(runtime, "test/faults/recording-app.ts", env, /(stored \d+);/, args);
      let memory = 0;
      for (let round = 1; round <= rounds; round++) {
        await app.until(new RegExp(`(stored ${step * round});`));
        memory = Math.max(memory, await memoryOf(app.pid, "VmHWM") ?? 0);
        await service.stop("SIGKILL");
        service = await startService(runtime, settings);
        say(`${round} of ${rounds}: ${step * round} records`);
      }
      const totals = JSON.parse(await app.until(/(\{.*\})/)) as Record<string, number>;
      const time = performance.now() - began;
      const code = await app.ended;
      await service.stop();

      const found = await audit(seeded, { ...emptyOutcomes(), statuses: new Map([[201, records]]) });
      const { sent, dropped, failed, queued, queuedBytes, failures } = totals;
      if (code !== 0) found.faults.push(`exit code ${code}`);
      if (sent !== records || dropped !== 0 || failed !== 0) {
        found.faults.push(`the client says ${JSON.stringify(totals)}`);
      }
      if (queued! > bounds.queued || queuedBytes! > bounds.queuedBytes) found.faults.push("the queue was not bounded");
      const figures = `${records} records in ${seconds(time)}, at most ${queued} and ${
        (queuedBytes! / 1024 / 1024).toFixed(1)
      } MiB queued; ${failures} failed requests; the client's memory at most ${memory} MiB`;
      return { ...found, rounds, requests: records, figures };
    }),
};
