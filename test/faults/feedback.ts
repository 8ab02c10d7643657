// Kills the service and senders of records and feedback, again and again. Ten processes send both in a random order: feedback
// before its record, batches, changed values, and again what had no answer.
import { findFreePort, startFile, startService, startSqld } from "../conformance/processes.ts";
import { requireSqld } from "../conformance/sqld.ts";
import { sha256 } from "../../src/common/ids.ts";
import type { Database } from "../../src/database/database.ts";
import { text } from "../../src/database/row.ts";
import type { Runtime } from "../runtimes.ts";
import { audit, createSeededDatabase, looking } from "./audit.ts";
import { endOf, planOf } from "./feedback-plan.ts";
import { inFolder, sleep } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { emptyOutcomes } from "./load.ts";

/** How many processes send, and how many records each. */
export const scale = { senders: 10, chains: 300 };

/** What is in the database and not planned, and the other way round. */
async function findDifferences(database: Database): Promise<string[]> {
  const rows = await database.read({
    sql: `select d.session_id as place, 1 as is_sent, f.name || ' ' || f.author || ' ' || printf('%s', f.value) as piece
        from diagnoses d left join feedback f on f.position = d.position
      union all select key, 0, name || ' ' || author || ' ' || printf('%s', value) from waiting_feedback`,
  });
  const found = new Map<string, string[]>();
  const placeOf = (isSent: boolean, place: string) => `${isSent ? "on" : "waiting for"} ${place}`;
  for (const row of rows) {
    const place = placeOf(row.is_sent === 1, text(row, "place"));
    const pieces = found.get(place) ?? [];
    if (row.piece !== null) pieces.push(text(row, "piece"));
    found.set(place, pieces);
  }
  const differences: string[] = [];
  for (let sender = 0; sender < scale.senders; sender++) {
    for (let nth = 0; nth < scale.chains; nth++) {
      const plan = planOf(sender, nth), { isSent, feedback } = endOf(plan);
      const place = placeOf(isSent, isSent ? plan.key : await sha256(plan.key));
      const actual = found.get(place) ?? (isSent ? ["no record"] : []);
      if (actual.sort().join() !== feedback.join()) {
        differences.push(`${plan.key} has ${actual.join() || "nothing"}, and not ${feedback.join() || "nothing"}`);
      }
      found.delete(place);
    }
  }
  return [...differences, ...[...found].map(([place, pieces]) => `unexpected ${place}: ${pieces.join()}`)];
}

const feedbackKilled = (open: (path: string) => Promise<{ url: string; close(): Promise<unknown> }>): Fault => ({
  rounds: 20,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const { url, close } = await open(path);
      const seeded = await createSeededDatabase(url);
      const { key, deployId } = seeded.tenant;
      const settings = { DATABASE_URL: url, PORT: String(await findFreePort()) };
      let service = await startService(runtime, settings);
      const env = { BASE: service.url, API_KEY: key, DEPLOYMENT: deployId };
      const start = (sender: number) => startSender(runtime, env, [sender, scale.chains, `${path}/journal-${sender}`]);
      const senders = await Promise.all(Array.from({ length: scale.senders }, (_, sender) => start(sender)));
      for (let round = 1; round <= rounds; round++) {
        await sleep(200 + Math.random() * 400);
        const victim = Math.floor(Math.random() * scale.senders);
        await Promise.all([service.stop("SIGKILL"), senders[victim]!.stop("SIGKILL")]);
        service = await startService(runtime, settings);
        senders[victim] = await start(victim);
        say(`${round} of ${rounds}`);
      }
      const faults: string[] = [];
      let requests = 0;
      for (const sender of senders) {
        const code = await sender.ended;
        requests += Number(/done (\d+);/.exec(sender.output())?.[1] ?? 0);
        if (code !== 0) faults.push(`a sender ended with ${code}: ${sender.output().slice(-500)}`);
      }
      await service.stop();
      const plans = Array.from({ length: scale.senders }, (_, sender) =>
        Array.from({ length: scale.chains }, (_, nth) => endOf(planOf(sender, nth)))).flat();
      const records = plans.filter(({ isSent }) =>
        isSent
      ).length;
      const pieces = plans.reduce((sum, { feedback }) => sum + feedback.length, 0);
      const found = await audit(seeded, { ...emptyOutcomes(), statuses: new Map([[201, records]]) });
      const differences = await looking(url, findDifferences);
      await close();
      faults.push(...differences.slice(0, 10), ...differences.length > 10 ? [`${differences.length} differences`] : []);
      const figures = `${records} records and ${pieces} pieces of feedback from ${scale.senders} processes`;
      return { ...found, faults: [...found.faults, ...faults], rounds, requests, figures };
    }),
});

const startSender = (runtime: Runtime, env: Record<string, string>, args: (string | number)[]) =>
  startFile(runtime, "test/faults/feedback-sender.ts", env, /(sending);/, args.map(String));

export const feedbackOnFile = feedbackKilled((path) =>
  Promise.resolve({ url: `file:${path}/ledger.db`, close: () => Promise.resolve() })
);

export const feedbackOnServer = feedbackKilled(async (path) => {
  const sqld = await startSqld(await requireSqld(), `${path}/data`);
  return { url: sqld.url, close: () => sqld.stop("SIGKILL") };
});
