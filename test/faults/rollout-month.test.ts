// A simulated month with rollouts, of one service on a file and of three on a libSQL server: services are killed and replies are
// lost, between apps and services and between services and the server. Apps get nothing but the base or the candidate, each
// record counts for the version that was used, and quotas are exact.
// Runs on Node alone.
// Runs in CI alone.
import { seed, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { listRollouts } from "../../src/management/deployments/rollout-operations.ts";
import { readRolloutStats } from "../../src/management/records/rollout-stats.ts";
import { text } from "../../src/database/row.ts";
import type { Database } from "../../src/database/database.ts";
import { call, managementOf } from "../actions.ts";
import { atOnce } from "../at-once.ts";
import { verifyBalanced } from "../balanced.ts";
import { startSqld } from "../conformance/processes.ts";
import { findSqld } from "../conformance/sqld.ts";
import type { Tenant } from "../helpers.ts";
import { createSeededDatabase, looking } from "./audit.ts";
import { inFolder, sleep } from "./fault.ts";
import { startProxy } from "./proxy.ts";
import { liveMonth, steps } from "./rollout-month.ts";
import type { Month, Used } from "./rollout-month.ts";
import { startServices } from "./rollout-services.ts";

const test = suite("a month of rollouts");

// They mostly wait for processes.
const testAtOnce = atOnce(test, 2);

/** Numbers from 0 to below 1 that a seed repeats. */
function createRandom(state: number): () => number {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The 12th of the month after the next one: most of the simulated month is in it, and the rest in the one that follows. */
function findStart(): number {
  const now = new Date();
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 2, 12);
}

/** Compares the records of a database with those that apps were told are stored. */
async function checkRecords(database: Database, { deployId: id }: Tenant, { used, limit }: Month): Promise<void> {
  const rows = await database.read({
    sql: `select d.session_id, d.prompt_version || ' ' || coalesce(c.rollout_id, '') as used from diagnoses d
      cross join calls c on c.position = (select max(position) from calls where position <= d.position)`,
  });
  const stored = rows.map((row) => [text(row, "session_id"), text(row, "used")]);
  const expected = [...used].map(([session, { version, rollout = "" }]) => [session, `${version} ${rollout}`]);
  assert.equal(stored.sort(), expected.sort());
  const admin = managementOf(database, Date.now);
  const [first, second, ...others] = await verifyBalanced(admin);
  assert.equal([first!.used, others], [limit, []], "the quota of the first month is used up, and not more");
  assert.ok(second!.used > 0);
  assert.is(first!.records + second!.records, used.size);
  const count = (of: (used: Used) => boolean) => [...used.values()].filter(of).length;
  for (const { id: rollout, version, baseVersion } of (await call(listRollouts, admin, { id, limit: 100 })).items) {
    const { base, candidate } = await call(readRolloutStats, admin, { id, rollout });
    const ofArm = (arm: number) => count((each) => each.rollout === rollout && each.version === arm);
    assert.equal([base.records, candidate.records], [ofArm(baseVersion), ofArm(version)], rollout);
  }
}

/** What happened, for whoever reads the log. */
function tell(name: string, { used, actions, figures }: Month, lost: number, ms: number): void {
  const counts = [...actions].map(([action, count]) => `${count} × ${action}`).join(", ");
  console.log(
    `${name}: ${steps / 2} days in ${
      Math.round(ms / 1000)
    } s; ${counts}; ${figures.reads} reads and ${used.size} records, ` +
      `${figures.refused} refused for the quota, ${figures.kills} services killed, ${lost} replies lost`,
  );
}

async function live(name: string, path: string, url: string, services: number, direct = url): Promise<void> {
  const startedAt = performance.now();
  const seeded = await createSeededDatabase(direct, 1_000_000);
  const running = await startServices(url, services, path, findStart());
  let month: Month;
  try {
    month = await liveMonth(running, seeded.tenant, findStart(), createRandom(seed + services));
  } finally {
    await running.stop();
  }
  tell(name, month, running.lost(), performance.now() - startedAt);
  assert.equal(month.faults.slice(0, 5), []);
  await looking(direct, (database) => checkRecords(database, seeded.tenant, month));
}

testAtOnce(
  "on a file, apps get the base or the candidate, and each record counts for what was used",
  () => inFolder((path) => live("on a file", path, `file:${path}/ledger.db`, 1)),
);

const sqld = await findSqld();
if ("missing" in sqld) console.log(`skipped: a month of rollouts on a server: ${sqld.missing}`);
else {
  testAtOnce("the same with three services on a server, whose replies are lost too", () =>
    inFolder(async (path) => {
      const server = await startSqld(sqld.binary, `${path}/data`);
      const proxy = await startProxy(server.url);
      let isOver = false;
      const losing = (async () => {
        while (!isOver) {
          await sleep(500);
          proxy.mode = "deaf";
          await sleep(10);
          proxy.mode = "sound";
        }
      })();
      try {
        await live("on a server", path, proxy.url, 3, server.url);
        assert.ok(proxy.lost > 0);
      } finally {
        isOver = true;
        await losing;
        proxy.close();
        await server.stop("SIGKILL");
      }
    }));
}

test.run();
