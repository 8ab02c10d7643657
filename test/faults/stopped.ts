// Stops the process while it serves.
import { holdRequest } from "../conformance/held.ts";
import { openConnection, serialize } from "../conformance/http-client.ts";
import { startService } from "../conformance/processes.ts";
import { goodBody } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import type { Runtime } from "../runtimes.ts";
import { audit, createSeededDatabase } from "./audit.ts";
import type { Audit, SeededDatabase } from "./audit.ts";
import { becomesTrue, inFolder, isUnready, patientSettings, seconds, sleep, spread } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { emptyOutcomes, startLoad } from "./load.ts";
import { lookersSettings, startLookers } from "./lookers.ts";

const connections = 60;
const unreadyTime = 5_000; // ms until /readyz should be 503
const stopTime = 10_000; // ms that a stop should take, the default of SHUTDOWN_TIMEOUT
const heldTime = 500; // ms for which a client delays the stop
const repeatTime = 1_100; // ms after the first signal: earlier ones count as the same
const secondTime = 1_000; // ms until a second signal should have ended the process

/** Sends half of a submit, which delays the stop of a service until `end` sends the rest. */
async function holdSubmit(base: string, { key, deployId }: Tenant, sessionId: string) {
  const connection = openConnection(base);
  const body = JSON.stringify({ ...goodBody, sessionId });
  const headers = [`Authorization: Bearer ${key}`];
  const bytes = serialize(base, `/v1/prompts?deployId=${deployId}`, { method: "POST", headers, body }, "keep-alive");
  const half = bytes.length - Math.floor(body.length / 2);
  connection.write(bytes.subarray(0, half));
  // Under load nothing shows when the service has received it.
  await sleep(200);
  return {
    end() {
      connection.write(bytes.subarray(half));
      return connection.readAnswer();
    },
    close: connection.close,
  };
}

/**
 * SIGTERM under load. In every other round a submit is halfway, which leaves time to observe the draining. In the end a second
 * SIGTERM, to another process.
 */
export const stopped: Fault = {
  rounds: 10,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const seeded = await createSeededDatabase(`file:${path}/ledger.db`);
      const { tenant } = seeded;
      const outcomes = emptyOutcomes();
      const totals: Audit = { lost: 0, doubled: 0, faults: [] };
      const slowest = { stop: 0, unready: 0 };
      let inFlight = 0;
      for (let round = 1; round <= rounds; round++) {
        const service = await startService(runtime, {
          DATABASE_URL: seeded.url,
          ...lookersSettings,
          ...patientSettings,
        });
        const lookers = startLookers(service.url, tenant);
        const load = startLoad({ bases: [service.url], connections, tenant, outcomes });
        await sleep(300 + Math.random() * 400);
        const held = round % 2 === 1 ? undefined : await holdSubmit(service.url, tenant, `held-${round}`);

        const atSignal = load.inFlight();
        const signalled = performance.now();
        const ended = service.stop();
        const sinceSignal = () => performance.now() - signalled;
        if (held !== undefined) {
          if (!await becomesTrue(() => isUnready(service.url))) {
            totals.faults.push("/readyz was never 503");
          }
          slowest.unready = Math.max(slowest.unready, sinceSignal());
          await sleep(Math.max(0, heldTime - sinceSignal()));
          const { status, text } = await held.end();
          outcomes.requests++;
          outcomes.statuses.set(status, (outcomes.statuses.get(status) ?? 0) + 1);
          if (status === 201) outcomes.recorded.push(JSON.parse(text).id);
          else totals.faults.push(`the submit that was halfway was answered ${status}`);
        }
        const code = await ended;
        slowest.stop = Math.max(slowest.stop, sinceSignal());
        if (code !== 0) totals.faults.push(`exit code ${code}`);
        held?.close();
        await load.stop();
        totals.faults.push(...await lookers.stop());
        inFlight += atSignal.count;

        const unanswered = atSignal.countUnanswered();
        const found = await audit(seeded, outcomes);
        totals.lost = Math.max(totals.lost, found.lost) + unanswered;
        totals.doubled = Math.max(totals.doubled, found.doubled);
        totals.faults.push(...found.faults);
        say(`${round} of ${rounds}: of ${atSignal.count} requests in flight ${unanswered} were never answered`);
      }
      const second = await endBySecondSignal(runtime, seeded);
      if (second.code !== 1) totals.faults.push(`exit code ${second.code} after a second signal`);
      totals.slow = [
        ...second.time > secondTime ? [`a second signal took ${seconds(second.time)}`] : [],
        ...slowest.unready > unreadyTime ? [`/readyz was 503 after ${seconds(slowest.unready)}`] : [],
        ...slowest.stop > stopTime ? [`a stop took ${seconds(slowest.stop)}`] : [],
      ];
      const figures = `${inFlight} requests were in flight at the signal; 503 from /readyz within ${
        seconds(slowest.unready)
      }; exit 0 within ${seconds(slowest.stop)}, of which a client held it up for ${
        seconds(heldTime)
      }; a second signal ended it in ${seconds(second.time)}; ${spread(outcomes)} (broken: sent after the signal)`;
      return { ...totals, rounds, requests: outcomes.requests, figures };
    }),
};

async function endBySecondSignal(runtime: Runtime, { url }: SeededDatabase) {
  const service = await startService(runtime, { DATABASE_URL: url, ...lookersSettings, ...patientSettings });
  const held = await holdRequest(service.url);
  void service.stop();
  await becomesTrue(() => isUnready(service.url));
  await sleep(repeatTime);
  const signalled = performance.now();
  const code = await service.stop();
  held.close();
  return { code, time: performance.now() - signalled };
}
