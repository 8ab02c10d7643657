// A few rounds of the quick faults. `npm run faults` runs all of them, with more rounds.
// Runs on every runtime in CI.
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { atOnce } from "../at-once.ts";
import { findSqld } from "../conformance/sqld.ts";
import { currentRuntime } from "../runtimes.ts";
import { queueScale } from "./client-queue.ts";
import { inFolder } from "./fault.ts";
import { faults } from "./faults.ts";
import { scale } from "./feedback.ts";
import { scale as fullScale } from "./full-feedback.ts";
import { pace } from "./load.ts";
import { attack, attackNames, maxGrowth } from "./hostile-bodies.ts";

const test = suite(`faults on ${currentRuntime}`);

// They mostly wait for processes.
const testAtOnce = atOnce(test, 3);

scale.chains = 40;
fullScale.pieces = 16_000;
queueScale.step = 1_000;
// The processors are left to other files. `npm run faults` leaves them nothing.
Object.assign(pace, { thinkMs: isFull ? 30 : 80, pauseMs: 100 });

const sqld = await findSqld();
const onNode = currentRuntime === "Node";

const few: [name: string, rounds: number, needsServer?: boolean][] = [
  ["kill -9 of the service", 1],
  ["kill -9 under a client's queue", 1],
  ["reply lost after the commit", isFull ? 5 : 2, true],
  ["EIO reading the WAL", 1],
];
const more: typeof few = [
  ["out of file descriptors", 1],
  ["kill -9 in the middle of batches", 1],
  ["reply to another request", 5, true],
  ["SIGTERM under load", 1],
  ["odd answers to a client's queue", 1],
  ["kill -9 under ten senders of feedback", onNode ? 2 : 1],
  ["kill -9 under ten senders of feedback, on a server", onNode ? 2 : 1, true],
  ["feedback as much and as long as may be", 1],
  ["feedback as much and as long as may be, on a server", 1, true],
  ["kill -9 of the server", 1, true],
  ["file removed, replaced or written over", 1],
  ["lock held for 100 ms", 2],
  ["EIO reading the WAL at the start", 1],
  ["ENOSPC writing the database, from the first checkpoint on", 1],
];

for (const [name, rounds, needsServer] of [...few, ...isFull ? more : []]) {
  if (needsServer && "missing" in sqld) {
    console.log(`skipped: ${name}: ${sqld.missing}`);
    continue;
  }
  testAtOnce(`${name}: nothing is lost or stored twice, and the ledger balances`, async () => {
    const { lost, doubled, faults: found, figures } = await faults[name]!.hit(currentRuntime, rounds, () => {});
    if (figures.startsWith("skipped")) console.log(`${name}: ${figures}`);
    assert.equal({ lost, doubled, found }, { lost: 0, doubled: 0, found: [] });
  });
}

const attempts = 3;

// `npm run faults` also measures how fast other clients are served meanwhile.
for (const name of attackNames) {
  const max = maxGrowth[currentRuntime];
  test.full(`${name}: memory grows by less than ${max} MiB`, async () => {
    // How much is resident at its peak depends on when garbage is collected.
    let least = Infinity;
    for (let attempt = 1; attempt <= attempts && least >= max; attempt++) {
      await inFolder(async (path) => {
        const { growth, faults: found } = await attack(currentRuntime, name, path, 0.25);
        assert.equal(found, []);
        least = Math.min(least, growth);
      });
    }
    assert.ok(least < max, `grew by ${least} MiB`);
  });
}

test.run();
