// The memory that a process takes to look at feedback that is as much and as long as it may be.
// Runs on every runtime in CI.
import process from "node:process";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { migrate } from "../../src/migrate.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { recordLimits } from "../../src/feedback/feedback-state.ts";
import { call, managementOf } from "../actions.ts";
import { createAlert } from "../../src/management/events/alerts.ts";
import { fillHistory } from "../bench/fill.ts";
import { createFolder, memoryOf, startFile } from "../conformance/processes.ts";
import { createTenant } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import { longest, storeFeedback } from "../stored-feedback.ts";

const test = suite(`memory for feedback on ${currentRuntime}`);

const records = isFull ? 1_024 : 256;
const maxGrowth = currentRuntime === "Deno" ? 180 : 150; // MiB. Deno collects garbage later
const attempts = 3;

/** A file with records that have as much feedback as they may have, all labels different, and some with as much as before. */
async function fill(path: string) {
  await migrate(`file:${path}`);
  const database = openDatabase(`file:${path}`, "manage");
  const admin = managementOf(database, Date.now);
  const tenant = await createTenant(admin, 1e9);
  await fillHistory(admin, tenant, { count: records, days: 2 });
  const pieces = (count: number, first: number) =>
    Array.from({ length: count }, (_, nth) => ({
      ...{
        name: longest.name(nth % 50),
        author: longest.author(Math.floor(nth / 50)),
        value: longest.label(first + nth),
      },
    }));
  for (let position = 1; position <= records; position++) {
    const count = position % 64 === 0 ? 1_000 : recordLimits.pieces;
    await storeFeedback(database, tenant.workspaceId, [position], pieces(count, 1_000 * position));
  }
  for (const condition of ["records>1", "feedback.other>1"]) {
    await call(createAlert, admin, { workspaceId: tenant.workspaceId, condition, overMs: 86_400_000 });
  }
  await database.close();
  return tenant;
}

test(`statistics, alerts and all that looks at feedback take less than ${maxGrowth} MiB`, async () => {
  const { path, remove } = await createFolder();
  const file = `${path}/ledger.db`, tenant = await fill(file);
  // How much is resident at its peak depends on when garbage is collected.
  let least = Infinity;
  for (let attempt = 1; attempt <= attempts && least >= maxGrowth; attempt++) {
    const looker = await startFile(
      currentRuntime,
      "test/runtime/feedback-looker.ts",
      {},
      /before: (\d+) MiB/,
      [file, JSON.stringify(tenant)],
    );
    await looker.until(/(has looked)/);
    // Linux alone reports it.
    least = Math.min(least, (await memoryOf(looker.pid, "VmHWM") ?? 0) - Number(looker.seen));
    await looker.stop("SIGKILL");
  }
  if (process.env.VERBOSE) console.log(`grew by ${least} MiB`);
  assert.ok(least < maxGrowth, `grew by ${least} MiB`);
  await remove();
});

test.run();
