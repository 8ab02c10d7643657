// The disk of the database is full. It is a small one, which only root on Linux can make.
import { execFile, spawnSync } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import process from "node:process";
import { promisify } from "node:util";
import { send } from "../conformance/http-client.ts";
import { startService } from "../conformance/processes.ts";
import { adminToken } from "../helpers.ts";
import type { Runtime } from "../runtimes.ts";
import { audit, createSeededDatabase } from "./audit.ts";
import type { Audit, SeededDatabase } from "./audit.ts";
import { becomesTrue, inFolder, seconds, skipped, sleep } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { startLoad } from "./load.ts";

const mebibyte = 1024 * 1024;
const ballast = 20; // MiB that are freed in the end: more than the log and its checkpoint take
/** MiB. On the first disk the log fills it, on the second a checkpoint of the log into the file. */
const sizes = [24, 44];
const filling = 60_000; // ms until the load must have filled the disk
const minFailures = 100; // requests that fail before the disk counts as full
const fullTime = 1_000; // ms
const readinessTime = 1_100; // ms until /readyz must have noticed
const recovery = 2_000; // ms until requests must succeed once there is space

/** Mounts a disk of this size in a folder. Says why if that is impossible. */
export async function mount(path: string, size: number): Promise<{ unmount(): void } | { missing: string }> {
  if (process.platform !== "linux") return { missing: "small disks are made on Linux only" };
  try {
    await mkdir(path, { recursive: true });
    await promisify(execFile)("mount", ["-t", "tmpfs", "-o", `size=${size}m`, "promptledger-test", path]);
  } catch (error) {
    return { missing: `a disk cannot be mounted: ${error instanceof Error ? error.message.trim() : error}` };
  }
  function unmount(): void {
    // Lazily, so that open files do not prevent it.
    spawnSync("umount", ["--lazy", path]);
    process.removeListener("exit", unmount);
  }
  process.on("exit", unmount);
  return { unmount };
}

/** Checks the answers to requests that need no writes. Returns what is wrong. */
async function checkReads(base: string, { key, deployId, workspaceId }: SeededDatabase["tenant"]): Promise<string[]> {
  const bearer = (token: string) => ({ headers: [`Authorization: Bearer ${token}`] });
  const requests = [
    ["/healthz", {}, 200],
    ["/readyz", {}, 503],
    ["/v1/usage", bearer(key), 200],
    ["/admin/v1/workspaces", bearer(adminToken), 200],
    [`/admin/v1/workspaces/${workspaceId}`, bearer(adminToken), 200],
    [`/admin/v1/deployments/${deployId}/diagnoses?limit=5`, bearer(adminToken), 200],
  ] as const;
  const faults: string[] = [];
  for (const [target, request, expected] of requests) {
    const { status, text } = await send(base, target, request);
    if (status !== expected) faults.push(`${target.replace(/\?.*/, "")} was answered ${status} on a full disk`);
    if (status === 503 && text !== '{"error":"Disk is full"}') faults.push(`/readyz says ${text} on a full disk`);
  }
  return faults;
}

type Round = Audit & { requests: number; failed: number; wait: number; causes: string[] };

async function fillAndFree(runtime: Runtime, disk: string): Promise<Round> {
  await writeFile(`${disk}/ballast`, new Uint8Array(ballast * mebibyte));
  const seeded = await createSeededDatabase(`file:${disk}/ledger.db`);
  const service = await startService(runtime, { DATABASE_URL: seeded.url, ADMIN_TOKEN: adminToken });
  const content = () => ({ input: "x".repeat(2_000) });
  const load = startLoad({ bases: [service.url], connections: 16, tenant: seeded.tenant, content });
  const { statuses } = load.outcomes;
  const countFailed = () => statuses.get(500) ?? 0;
  const faults: string[] = [];

  if (!await becomesTrue(() => countFailed() >= minFailures, filling)) faults.push("the disk was never full");
  await sleep(readinessTime);
  for (const until = performance.now() + fullTime; performance.now() < until;) {
    faults.push(...await checkReads(service.url, seeded.tenant));
    await sleep(100);
  }
  await rm(`${disk}/ballast`);
  const wait = await load.untilSuccess();
  await sleep(200);
  const failedBefore = countFailed();
  await sleep(200);
  if (countFailed() > failedBefore) faults.push("requests failed after there was space again");
  if (wait > recovery) faults.push(`it took ${seconds(wait)} until a request succeeded`);
  await load.stop();
  const code = await service.stop();
  if (code !== 0) faults.push(`exit code ${code}`);

  const causes = new Set(service.output().match(/(?<= error=internal cause=)("[^"]*"|\S+)/g));
  if (statuses.has(0)) faults.push(`${statuses.get(0)} requests were not answered`);
  // Requests that got a 500 have had no effect.
  const answered = new Map([...statuses].filter(([status]) => status !== 500));
  const found = await audit(seeded, { ...load.outcomes, statuses: answered });
  const { lost, doubled } = found;
  const figures = { requests: load.outcomes.requests, failed: countFailed(), wait, causes: [...causes] };
  return { lost, doubled, faults: [...found.faults, ...new Set(faults)], ...figures };
}

/** A load fills the disk. It stays full for a while, and then has space again. */
export const fullDisk: Fault = {
  rounds: 4,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const done: Round[] = [];
      for (let round = 1; round <= rounds; round++) {
        const disk = `${path}/disk-${round}`;
        const mounted = await mount(disk, sizes[(round - 1) % sizes.length]!);
        if ("missing" in mounted) return skipped(mounted.missing);
        try {
          done.push(await fillAndFree(runtime, disk));
        } finally {
          mounted.unmount();
        }
        const { failed, wait } = done.at(-1)!;
        say(`${round} of ${rounds}: ${failed} requests failed, served again after ${seconds(wait)}`);
      }
      const sum = (count: (round: Round) => number) => done.reduce((total, round) => total + count(round), 0);
      const causes = new Set(done.flatMap(({ causes }) => causes));
      const figures = `${sum(({ failed }) => failed)} × 500; served again within ${
        seconds(Math.max(...done.map(({ wait }) => wait)))
      } of the space; the log says ${[...causes].join(" or ")}`;
      return {
        lost: sum(({ lost }) => lost),
        doubled: sum(({ doubled }) => doubled),
        faults: done.flatMap(({ faults }) => faults),
        rounds,
        requests: sum(({ requests }) => requests),
        figures,
      };
    }),
};
