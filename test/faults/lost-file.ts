// The database file is removed, replaced or overwritten while it is served.
import { copyFile, readFile, rename, rm, truncate } from "node:fs/promises";
import { send } from "../conformance/http-client.ts";
import { startService } from "../conformance/processes.ts";
import { adminToken, createTenant, managementOf } from "../helpers.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { removeLog } from "../../src/database/file/maintenance.ts";
import { audit, createSeededDatabase } from "./audit.ts";
import type { Audit } from "./audit.ts";
import { becomesTrue, inFolder, isUnready, seconds, sleep } from "./fault.ts";
import type { Fault } from "./fault.ts";
import { emptyOutcomes, startLoad } from "./load.ts";
import { lookersSettings, startLookers } from "./lookers.ts";

const noticeTime = 2_000; // ms until /readyz should be 503

/** What happens to the file, and whether a sound database takes its place. */
const mishaps: Record<string, { happen(file: string): Promise<unknown>; leavesFile: boolean }> = {
  "removed": { happen: (file) => rm(file), leavesFile: false },
  "replaced": { happen: (file) => rename(`${file}.backup`, file), leavesFile: true },
  "copied over": { happen: (file) => copyFile(`${file}.backup`, file), leavesFile: true },
  "without its log": { happen: (file) => rm(`${file}-wal`), leavesFile: false },
  "with an empty log": { happen: (file) => truncate(`${file}-wal`), leavesFile: false },
  // What follows the first page may be left from before a checkpoint, and nobody misses that.
  "with less than the first page of its log": { happen: (file) => truncate(`${file}-wal`, 2_000), leavesFile: false },
};

/**
 * Whether the log of a file has pages that no checkpoint has taken to the file. Nobody misses others, so that a log without any
 * may be emptied. The index of the log says where it ends, and up to where it was taken.
 */
async function holdsCommits(file: string): Promise<boolean> {
  const { buffer } = Uint8Array.from(await readFile(`${file}-shm`));
  const [end, taken] = [16, 96].map((offset) => new Uint32Array(buffer, offset, 1)[0]!);
  return end! - taken! >= 16;
}

/** Makes a sound database that is not the service's. */
async function makeBackup(url: string, backup: string): Promise<void> {
  const database = openDatabase(url);
  await database.read({ sql: "vacuum into ?", args: [backup] });
  database.close();
  const copy = openDatabase(`file:${backup}`);
  await createTenant(managementOf(copy, Date.now));
  await removeLog(copy);
  copy.close();
}

/** Tries each mishap under load. No later request may succeed, and the file that takes its place must stay as it is. */
export const lostFile: Fault = {
  rounds: 1,
  hit: (runtime, rounds, say) =>
    inFolder(async (path) => {
      const totals: Audit = { lost: 0, doubled: 0, faults: [] };
      let requests = 0, slowest = 0;
      for (let round = 1; round <= rounds; round++) {
        for (const [name, { happen, leavesFile }] of Object.entries(mishaps)) {
          const file = `${path}/${round}-${name.replaceAll(" ", "-")}.db`;
          const seeded = await createSeededDatabase(`file:${file}`);
          await makeBackup(seeded.url, `${file}.backup`);
          const service = await startService(runtime, { DATABASE_URL: seeded.url, ...lookersSettings });
          const lookers = startLookers(service.url, seeded.tenant);
          const before = startLoad({ bases: [service.url], connections: 16, tenant: seeded.tenant });
          await sleep(500);
          await becomesTrue(() => holdsCommits(file));
          await happen(file);
          const after = startLoad({ bases: [service.url], connections: 16, tenant: seeded.tenant });
          const start = performance.now();
          if (!await becomesTrue(() => isUnready(service.url))) {
            totals.faults.push(`${name}: /readyz is not 503`);
          }
          slowest = Math.max(slowest, performance.now() - start);
          await sleep(500);
          totals.faults.push(...await lookers.stop());
          const { status } = await send(service.url, "/admin/v1/verify", {
            headers: [`Authorization: Bearer ${adminToken}`],
          });
          if (status !== 503) totals.faults.push(`${name}: verify got ${status}`);
          for (const load of [before, after]) {
            await load.stop();
            requests += load.outcomes.requests;
          }
          // A request that was sent before may have succeeded before.
          const { statuses } = after.outcomes;
          totals.doubled += (statuses.get(200) ?? 0) + (statuses.get(201) ?? 0);
          if (!await becomesTrue(() => service.output().includes("Database is unavailable"))) {
            totals.faults.push(`${name}: the log does not say so`);
          }
          const code = await service.stop();
          if (code !== 0) totals.faults.push(`${name}: exit code ${code}`);
          if (leavesFile) {
            // The log beside it belongs to the lost file.
            await rm(`${file}-wal`, { force: true });
            const found = await audit(seeded, emptyOutcomes());
            totals.doubled += found.doubled;
            totals.faults.push(...found.faults);
          }
          say(`${round} of ${rounds}, ${name}: ${statuses.get(503) ?? 0} × 503`);
        }
      }
      if (slowest > noticeTime) totals.slow = [`it took ${seconds(slowest)} until /readyz was 503`];
      return { ...totals, rounds, requests, figures: `/readyz is 503 within ${seconds(slowest)}` };
    }),
};
