// The faults. Each hits a service under load and returns a report, in which `faults` lists what is wrong.
import Libsql from "libsql";
import { race } from "../conformance/load.ts";
import { memoryOf, startFile, startService, startSqld, until } from "../conformance/processes.ts";
import { requireSqld } from "../conformance/sqld.ts";
import type { Runtime } from "../runtimes.ts";
import { killedInBatches } from "./batches.ts";
import { batchesOfRecords, fullWaitingRoom, unknownSessions } from "./busy-key.ts";
import { audit, createSeededDatabase } from "./audit.ts";
import type { Audit } from "./audit.ts";
import { clientQueue } from "./client-queue.ts";
import { outOfDescriptors } from "./descriptors.ts";
import { dailyUse } from "./daily-use.ts";
import { failingCheckpoints } from "./failing-checkpoint.ts";
import { failingDisk } from "./failing-disk.ts";
import { failingStart } from "./failing-start.ts";
import { feedbackOnFile, feedbackOnServer } from "./feedback.ts";
import { inFolder, patientSettings, seconds, sleep, spread } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { fullDisk } from "./full-disk.ts";
import { fullFeedbackOnFile, fullFeedbackOnServer } from "./full-feedback.ts";
import { fullRecord } from "./full-record.ts";
import { hostileBodies } from "./hostile-bodies.ts";
import { logStalls } from "./log-reader.ts";
import { lostFile } from "./lost-file.ts";
import { emptyOutcomes, startLoad } from "./load.ts";
import { lookersSettings, startLookers } from "./lookers.ts";
import { oddAnswers } from "./odd-answers.ts";
import { startProxy } from "./proxy.ts";
import { slowClients } from "./slow-clients.ts";
import { stalledBodies } from "./stalled-bodies.ts";
import { stopped } from "./stopped.ts";
import { webhooksOnFile, webhooksOnServer } from "./webhooks.ts";

/** Starts a service on a libSQL server behind a proxy, under load. `end` stops all of it, and returns the audit. */
async function startBehindProxy(runtime: Runtime, path: string, connections: number) {
  const sqld = await startSqld(await requireSqld(), path);
  const proxy = await startProxy(sqld.url);
  const seeded = await createSeededDatabase(sqld.url);
  const service = await startService(runtime, { DATABASE_URL: proxy.url });
  const load = startLoad({ bases: [service.url], connections, tenant: seeded.tenant });

  async function end(): Promise<Audit> {
    await load.stop();
    await service.stop();
    const found = await audit(seeded, load.outcomes);
    proxy.close();
    await sqld.stop("SIGKILL");
    return found;
  }

  return { proxy, service, load, end };
}

const takeoverTime = 1_000; // ms until a service that waits for the file must serve

/** Starts a service. Unless it is the first, it waits for the one before it. */
async function startNext(runtime: Runtime, url: string, isFirst: boolean) {
  if (isFirst) {
    const service = await startService(runtime, { DATABASE_URL: url, ...lookersSettings, ...patientSettings });
    return { ...service, untilServing: () => Promise.resolve(service.url) };
  }
  const settings = { DATABASE_URL: url, PORT: "0", ...lookersSettings, ...patientSettings };
  const waiting = await startFile(runtime, "src/cli.ts", settings, /(Waiting for the process that serves)/, ["serve"]);
  return { ...waiting, untilServing: () => waiting.until(/Listening.*?(http:\/\/[\d.]+:\d+)/) };
}

/** Kills the process again and again on the same file, while the next one waits for it. */
const killed: Fault = {
  rounds: 20,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const seeded = await createSeededDatabase(`file:${path}/ledger.db`);
      const outcomes = emptyOutcomes();
      const totals: Audit = { lost: 0, doubled: 0, faults: [] };
      let service = await startNext(runtime, seeded.url, true);
      let slowest = 0;
      for (let round = 1; round <= rounds; round++) {
        const base = await service.untilServing();
        const next = await startNext(runtime, seeded.url, false);
        const load = startLoad({ bases: [base], connections: 64, tenant: seeded.tenant, outcomes });
        const lookers = startLookers(base, seeded.tenant);
        await sleep(300 + Math.random() * 700);
        await service.stop("SIGKILL");
        const killedAt = performance.now();
        await next.untilServing();
        slowest = Math.max(slowest, performance.now() - killedAt);
        await load.stop();
        totals.faults.push(...await lookers.stop());
        const found = await audit(seeded, outcomes);
        totals.lost = Math.max(totals.lost, found.lost);
        totals.doubled = Math.max(totals.doubled, found.doubled);
        totals.faults.push(...found.faults);
        say(`${round} of ${rounds}: ${outcomes.requests} requests`);
        service = next;
      }
      await service.stop();
      if (slowest > takeoverTime) totals.slow = [`the next service took over after ${seconds(slowest)}`];
      const figures = `the next service took over within ${seconds(slowest)}; ${spread(outcomes)}`;
      return { ...totals, rounds, requests: outcomes.requests, figures };
    }),
};

/** Three processes use one quota on a libSQL server. */
const raced: Fault = {
  rounds: 1,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const limit = 1000, requests = 5000;
      const sqld = await startSqld(await requireSqld(), path);
      const totals: Audit = { lost: 0, doubled: 0, faults: [] };
      for (let round = 1; round <= rounds; round++) {
        const seeded = await createSeededDatabase(sqld.url, limit);
        const services = await Promise.all([1, 2, 3].map(() => startService(runtime, { DATABASE_URL: seeded.url })));
        const { key, deployId } = seeded.tenant;
        const bases = services.map(({ url }) => url);
        const statuses = await race({ bases, connections: 150, requests, keys: [key], deployId });
        for (const service of services) await service.stop();
        const accepted = (statuses.get(200) ?? 0) + (statuses.get(201) ?? 0);
        totals.lost += Math.max(0, limit - accepted);
        totals.doubled += Math.max(0, accepted - limit);
        const { faults } = await audit(seeded, { ...emptyOutcomes(), statuses });
        totals.faults.push(...faults);
        if (statuses.get(429) !== requests - limit) totals.faults.push(`429 was answered ${statuses.get(429)} times`);
        say(`${round} of ${rounds}: ${accepted} accepted`);
      }
      await sqld.stop("SIGKILL");
      return { ...totals, rounds, requests: rounds * requests, figures: `${limit} of ${requests} accepted` };
    }),
};

/** Kills the libSQL server, and restarts it after a while. */
const serverKilled: Fault = {
  rounds: 5,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const binary = await requireSqld();
      let sqld = await startSqld(binary, path);
      const seeded = await createSeededDatabase(sqld.url);
      const service = await startService(runtime, { DATABASE_URL: sqld.url });
      const load = startLoad({ bases: [service.url], connections: 32, tenant: seeded.tenant });
      let slowest = 0;
      for (let round = 1; round <= rounds; round++) {
        await sleep(1000);
        await sqld.stop("SIGKILL");
        await sleep(1000 + Math.random() * 2000);
        sqld = await startSqld(binary, path, Number(new URL(sqld.url).port));
        const wait = await load.untilSuccess();
        slowest = Math.max(slowest, wait);
        say(`${round} of ${rounds}: served again ${seconds(wait)} after the server's return`);
      }
      await load.stop();
      await service.stop();
      const found = await audit(seeded, load.outcomes);
      await sqld.stop("SIGKILL");
      if (slowest > 5000) found.slow = [`it took ${seconds(slowest)} until a request succeeded`];
      const figures = `served again within ${seconds(slowest)}; ${spread(load.outcomes)}`;
      return { ...found, rounds, requests: load.outcomes.requests, figures };
    }),
};

/** The libSQL server accepts requests and never answers. */
const serverSilent: Fault = {
  rounds: 2,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const { proxy, service, load, end } = await startBehindProxy(runtime, path, 32);
      let slowest = 0, growth = 0;
      for (let round = 1; round <= rounds; round++) {
        await sleep(2000);
        const before = await memoryOf(service.pid, "VmRSS") ?? 0;
        proxy.mode = "silent";
        await sleep(20_000);
        growth = Math.max(growth, (await memoryOf(service.pid, "VmRSS") ?? 0) - before);
        proxy.mode = "sound";
        const wait = await load.untilSuccess();
        slowest = Math.max(slowest, wait);
        say(`${round} of ${rounds}: served again after ${seconds(wait)}`);
      }
      const found = await end();
      const { requests, slowest: longest } = load.outcomes;
      if (longest > 17_000) found.slow = [`a request took ${seconds(longest)}`];
      if (growth > 50) found.faults.push(`memory grew by ${growth.toFixed(0)} MiB`);
      const figures = `every request ended within ${seconds(longest)}, memory ${growth < 0 ? "" : "+"}${
        growth.toFixed(0)
      } MiB, served again within ${seconds(slowest)}; ${spread(load.outcomes)}`;
      return { ...found, rounds, requests, figures };
    }),
};

/** The reply is lost after the commit, or the reply before it arrives instead. */
const replyLost = (mode: "deaf" | "stale"): Fault => ({
  rounds: 100,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const { proxy, load, end } = await startBehindProxy(runtime, path, 16);
      for (let round = 1; round <= rounds; round++) {
        await sleep(20 + Math.random() * 60);
        proxy.mode = mode;
        await until(() => proxy.lost >= round);
        proxy.mode = "sound";
        if (round % 20 === 0) say(`${round} of ${rounds} replies lost`);
      }
      const found = await end();
      const failed = load.outcomes.requests - (load.outcomes.statuses.get(200) ?? 0) - load.outcomes.recorded.length;
      if (failed > 0) found.faults.push(`${failed} requests failed`);
      return { ...found, rounds: proxy.lost, requests: load.outcomes.requests, figures: spread(load.outcomes) };
    }),
});

/** Another process locks the file. */
const lockHeld = (time: number): Fault => ({
  rounds: 20,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const seeded = await createSeededDatabase(`file:${path}/ledger.db`);
      const service = await startService(runtime, { DATABASE_URL: seeded.url });
      const load = startLoad({ bases: [service.url], connections: 16, tenant: seeded.tenant });
      const foreign = new Libsql(`${path}/ledger.db`, { timeout: 5000 });
      let slowest = 0;
      for (let round = 1; round <= rounds; round++) {
        await sleep(300);
        foreign.exec("begin immediate");
        await sleep(time);
        foreign.exec("rollback");
        const wait = await load.untilSuccess();
        slowest = Math.max(slowest, wait);
        say(`${round} of ${rounds}: served again after ${seconds(wait)}`);
      }
      foreign.close();
      await load.stop();
      await service.stop();
      const found = await audit(seeded, load.outcomes);
      if (slowest > 1000) found.slow = [`it took ${seconds(slowest)} until a request succeeded`];
      const figures = `served again within ${seconds(slowest)}; ${spread(load.outcomes)}`;
      return { ...found, rounds, requests: load.outcomes.requests, figures };
    }),
});

export const faults: Record<string, Fault> = {
  "kill -9 of the service": killed,
  "kill -9 in the middle of batches": killedInBatches,
  "kill -9 under a client's queue": clientQueue,
  "odd answers to a client's queue": oddAnswers,
  "kill -9 under ten senders of feedback": feedbackOnFile,
  "kill -9 under ten senders of feedback, on a server": feedbackOnServer,
  "feedback as much and as long as may be": fullFeedbackOnFile,
  "feedback as much and as long as may be, on a server": fullFeedbackOnServer,
  "kill -9 while webhooks get events": webhooksOnFile,
  "kill -9 while webhooks get events, on a server": webhooksOnServer,
  "quota race on a server": raced,
  "kill -9 of the server": serverKilled,
  "server that never answers": serverSilent,
  "reply lost after the commit": replyLost("deaf"),
  "reply to another request": replyLost("stale"),
  "lock held for 100 ms": lockHeld(100),
  "lock held for 2 s": lockHeld(2_000),
  "lock held for 10 s": lockHeld(10_000),
  "SIGTERM under load": stopped,
  "disk full": fullDisk,
  "file removed, replaced or written over": lostFile,
  "feedback of one key on sessions that do not exist": unknownSessions,
  "feedback of one key for a full waiting room": fullWaitingRoom,
  "batches of records of one key": batchesOfRecords,
  "hostile bodies": hostileBodies,
  "stalled bodies": stalledBodies,
  "all feedback on one record": fullRecord,
  "1,000 slow clients": slowClients,
  "out of file descriptors": outOfDescriptors,
  "the log's reader stalls": logStalls,
  ...failingDisk,
  ...failingStart,
  ...failingCheckpoints,
  "nothing, for minutes": dailyUse,
};
