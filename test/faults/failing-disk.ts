// The disk fails under load: strace makes system calls on the database file or on its write-ahead log (WAL) fail.
import { describeError } from "../../src/common/log.ts";
import { send } from "../conformance/http-client.ts";
import { startService } from "../conformance/processes.ts";
import type { Running } from "../conformance/processes.ts";
import { adminToken } from "../helpers.ts";
import type { Runtime } from "../runtimes.ts";
import { audit, createSeededDatabase } from "./audit.ts";
import type { Audit } from "./audit.ts";
import { becomesTrue, inFolder, patience, seconds, skipped, sleep, spread } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { startLoad } from "./load.ts";
import type { Outcomes } from "./load.ts";
import { failCalls, findObstacle } from "./strace.ts";
import type { FailingCalls } from "./strace.ts";

/**
 * `file` is the suffix of the file's name, for the WAL or its index. `isVisible` says whether requests must fail. They need not
 * if only checkpoints fail, since SQLite makes those after a successful commit, and does not report their failure.
 */
type Injection = FailingCalls & { file: "" | "-wal" | "-shm"; isVisible: boolean; recordsBefore?: number };

const minInjected = 5; // calls that fail in a round
const failingTime = 1_000; // ms for which calls fail, at least
const recovery = 2_000; // ms until requests should succeed once calls do
const soundTime = 300; // ms of load before and after
const connections = 16;
/** More than SQLite's page cache, and than the 16 MiB of WAL after which the service checkpoints. */
const manyRecords = 2_500;
/** More than SQLite's page cache alone, so that the WAL is read. */
const moreThanCached = 600;
/** 8 kB that identify their record. */
const content = (number: number) => ({ input: `${number} `.padEnd(8, "x").repeat(1_000) });

const countFailed = ({ statuses }: Outcomes) => (statuses.get(500) ?? 0) + (statuses.get(503) ?? 0);

const isAsSent = ({ sessionId, content: { input } }: { sessionId: string; content: { input: string } }) =>
  input === content(Number(sessionId.replace("session-", ""))).input;

/** Reads stored records, one after the other. `stop` returns how many differed from what was sent. */
function startReader(base: string, { recorded }: Outcomes): { stop(): Promise<number>; countFailed(): number } {
  const headers = [`Authorization: Bearer ${adminToken}`];
  let isStopped = false, wrong = 0, failed = 0;
  async function read(): Promise<void> {
    const id = recorded[Math.floor(Math.random() * recorded.length)];
    const { status, text } = await send(base, `/admin/v1/diagnoses/${id}`, { headers });
    if (status >= 500) return void failed++;
    if (status !== 200 || !isAsSent(JSON.parse(text))) wrong++;
  }
  async function readAll(): Promise<number> {
    // Without an answer there is nothing to compare.
    while (!isStopped) await read().catch(() => sleep(10));
    return wrong;
  }
  const reading = readAll();
  return { stop: () => (isStopped = true, reading), countFailed: () => failed };
}

/** Stops a service that may hang. */
async function stop(service: Running, faults: string[]): Promise<void> {
  const code = await Promise.race([service.stop(), sleep(patience)]);
  if (code !== 0) faults.push(code === undefined ? "it does not stop" : `exit code ${code}`);
  await service.stop("SIGKILL");
}

type Round = Audit & { outcomes: Outcomes; injected: number; wait: number; causes: string[] };

/** Makes calls fail under load. Then kills the process meanwhile or waits until it has recovered, and restarts it. */
async function failAndRestart(
  runtime: Runtime,
  path: string,
  injection: Injection,
  isKilled: boolean,
): Promise<Round> {
  const seeded = await createSeededDatabase(`file:${path}`);
  const { tenant } = seeded;
  const faults: string[] = [];
  const settings = { DATABASE_URL: seeded.url, ADMIN_TOKEN: adminToken };
  const service = await startService(runtime, settings);
  const load = startLoad({ bases: [service.url], connections, tenant, content });
  const { outcomes } = load;
  const { recordsBefore = manyRecords } = injection;
  await becomesTrue(() => outcomes.recorded.length >= recordsBefore);
  const reader = startReader(service.url, outcomes);
  const tracer = await failCalls(service.pid, path + injection.file, injection);
  const since = performance.now();
  if (!await becomesTrue(() => tracer.countInjected() >= minInjected)) {
    faults.push(`only ${tracer.countInjected()} calls failed`);
  }
  await sleep(Math.max(0, failingTime - (performance.now() - since)));
  const failed = countFailed(outcomes) + reader.countFailed();
  if (injection.isVisible && failed === 0) faults.push("no request failed");
  if (outcomes.statuses.has(0)) faults.push(`${outcomes.statuses.get(0)} requests were not answered`);

  let wait = 0;
  if (!isKilled) {
    await tracer.detach();
    wait = await load.untilSuccess();
    const failedBefore = countFailed(outcomes);
    await sleep(soundTime);
    if (countFailed(outcomes) > failedBefore + connections) faults.push("requests failed on a sound disk");
  }
  let wrong = await reader.stop();
  if (!isKilled) await load.stop();
  if (isKilled) await service.stop("SIGKILL");
  else await stop(service, faults);
  await load.stop();
  await tracer.detach();

  const restarted = await startService(runtime, settings).catch(describeError);
  if (typeof restarted === "string") {
    faults.push(`it does not start again: ${restarted}`);
  } else {
    const again = startLoad({ bases: [restarted.url], connections, tenant, content, outcomes });
    const reader = startReader(restarted.url, outcomes);
    await sleep(soundTime);
    wrong += await reader.stop();
    await again.stop();
    await stop(restarted, faults);
  }
  if (wrong > 0) faults.push(`${wrong} records differed from what was sent`);
  const found = await audit(seeded, outcomes);
  const causes = service.output().match(/(?<= error=internal cause=)("[^"]*"|\S+)/g) ?? [];
  return { ...found, faults: [...faults, ...found.faults], outcomes, injected: tracer.countInjected(), wait, causes };
}

/** Every other round kills the process while calls fail. */
const failing = (injection: Injection): Fault => ({
  rounds: 2,
  hit: async (runtime, rounds, say) => {
    const obstacle = await findObstacle();
    if (obstacle !== undefined) return skipped(obstacle);
    return await inFolder(async (path) => {
      const done: Round[] = [];
      for (let round = 1; round <= rounds; round++) {
        const found = await failAndRestart(runtime, `${path}/ledger-${round}.db`, injection, round % 2 === 0);
        done.push(found);
        say(`${round} of ${rounds}: ${found.injected} calls failed; ${spread(found.outcomes)}`);
      }
      const sum = (count: (round: Round) => number) => done.reduce((total, round) => total + count(round), 0);
      const causes = [...new Set(done.flatMap(({ causes }) => causes))];
      const statuses = new Map<number, number>();
      for (const [status, count] of done.flatMap(({ outcomes }) => [...outcomes.statuses])) {
        statuses.set(status, (statuses.get(status) ?? 0) + count);
      }
      const slowest = Math.max(...done.map(({ wait }) => wait));
      const figures = [
        `${sum(({ injected }) => injected)} calls failed`,
        spread({ statuses }),
        `served again after ${seconds(slowest)}`,
        ...(causes.length === 0 ? [] : [`the log says ${causes.join(" or ")}`]),
      ];
      return {
        slow: slowest > recovery ? [`it took ${seconds(slowest)} until a request succeeded`] : [],
        lost: sum(({ lost }) => lost),
        doubled: sum(({ doubled }) => doubled),
        faults: [...new Set(done.flatMap(({ faults }) => faults))],
        rounds,
        requests: sum(({ outcomes }) => outcomes.requests),
        figures: figures.join("; "),
      };
    });
  },
});

const read = { calls: "pread64", when: "30+20" };
const write = { calls: "pwrite64", when: "30+50" };
const sync = { calls: "fsync,fdatasync", result: "error=EIO" };

const injections: Record<string, Injection> = {
  "EIO reading the WAL": {
    ...read,
    file: "-wal",
    result: "error=EIO",
    isVisible: false,
    recordsBefore: moreThanCached,
  },
  "end of file reading the WAL": { ...read, file: "-wal", result: "retval=0", isVisible: false },
  "EIO reading the database": { ...read, file: "", result: "error=EIO", when: "5+5", isVisible: true },
  "EIO writing the WAL": { ...write, file: "-wal", result: "error=EIO", isVisible: true },
  "ENOSPC writing the WAL": { ...write, file: "-wal", result: "error=ENOSPC", isVisible: true },
  "EIO writing the database": { ...write, file: "", result: "error=EIO", isVisible: false },
  "ENOSPC writing the database": { ...write, file: "", result: "error=ENOSPC", isVisible: false },
  "EIO syncing the WAL": { ...sync, file: "-wal", when: "3+3", isVisible: true },
  "EIO syncing the database": { ...sync, file: "", when: "1+2", isVisible: false },
  "EIO truncating the database": { calls: "ftruncate", file: "", result: "error=EIO", when: "1+2", isVisible: false },
  "EIO asking for the database's size": {
    calls: "fstat,newfstatat",
    file: "",
    result: "error=EIO",
    when: "1+2",
    isVisible: false,
  },
  "ENOSPC growing the WAL index": {
    calls: "pwrite64",
    file: "-shm",
    result: "error=ENOSPC",
    when: "1+2",
    isVisible: true,
    recordsBefore: 50,
  },
};

export const failingDisk: Record<string, Fault> = Object.fromEntries(
  Object.entries(injections).map(([name, injection]) => [name, failing(injection)]),
);
