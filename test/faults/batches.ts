// Kills the process in the middle of batches, again and again. Clients keep a journal of the batches that they send, with
// idempotency keys, and send those without an answer again.
import { send } from "../conformance/http-client.ts";
import { startService } from "../conformance/processes.ts";
import { goodBody } from "../helpers.ts";
import { audit, createSeededDatabase } from "./audit.ts";
import { becomesTrue, inFolder, sleep } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { emptyOutcomes } from "./load.ts";

const clients = 4;
const maxRecords = 500;

type Entry = { idempotencyKey: string; sessionId: string };

export const killedInBatches: Fault = {
  rounds: 20,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const seeded = await createSeededDatabase(`file:${path}/ledger.db`);
      const { key, deployId } = seeded.tenant;
      const headers = [`Authorization: Bearer ${key}`, "Content-Type: application/json"];
      const outcomes = emptyOutcomes();
      const unanswered: Entry[][] = [];
      let written = 0, repeated = 0;

      const newBatch = (): Entry[] =>
        Array.from({ length: 1 + Math.floor(Math.random() * maxRecords) }, () => {
          const name = `record-${written++}`;
          return { idempotencyKey: name, sessionId: name };
        });

      /** Sends a batch. Returns whether each of its records was stored. */
      async function submit(base: string, batch: Entry[]): Promise<boolean> {
        const records = batch.map((entry) => ({ deployId, ...goodBody, ...entry }));
        const body = JSON.stringify({ records });
        outcomes.requests++;
        const answer = await send(base, "/v1/diagnoses", { method: "POST", headers, body }).catch(() => undefined);
        if (answer?.status !== 200) return false;
        const { results } = JSON.parse(answer.text) as { results: { status: number; id: string }[] };
        if (results.some(({ status }) => status !== 201)) return false;
        for (const { id } of results) outcomes.recorded.push(id);
        outcomes.statuses.set(201, (outcomes.statuses.get(201) ?? 0) + results.length);
        return true;
      }

      /** Sends the batches that had no answer, and then new ones, until the service is gone. */
      async function serve(base: string, isStopped: () => boolean): Promise<void> {
        while (!isStopped()) {
          const old = unanswered.pop();
          if (old !== undefined) repeated++;
          const batch = old ?? newBatch();
          if (await submit(base, batch)) continue;
          unanswered.push(batch);
          return;
        }
      }

      for (let round = 1; round <= rounds; round++) {
        const service = await startService(runtime, { DATABASE_URL: seeded.url });
        const work = Promise.all(Array.from({ length: clients }, () => serve(service.url, () => false)));
        await sleep(200 + Math.random() * 500);
        await service.stop("SIGKILL");
        await work;
        say(`${round} of ${rounds}: ${written} records`);
      }
      const last = await startService(runtime, { DATABASE_URL: seeded.url });
      await becomesTrue(async () => {
        await serve(last.url, () => unanswered.length === 0);
        return unanswered.length === 0;
      });
      await last.stop();
      const found = await audit(seeded, outcomes);
      if (unanswered.length > 0) found.faults.push(`${unanswered.length} batches have no answer`);
      if (outcomes.recorded.length !== written) found.lost += Math.abs(written - outcomes.recorded.length);
      const figures = `${written} records in ${outcomes.requests} batches, of which ${repeated} were sent again`;
      return { ...found, rounds, requests: outcomes.requests, figures };
    }),
};
