// Three services on one libSQL server, and one after the other on a file, send to webhooks whose receiver fails at random, and each
// is killed in turn. Every event arrives, signed, and the first arrivals keep the order of the log. `npm run faults` does the same
// with 5,000 events.
// Runs on Node alone.
// Runs in CI alone.
import { seed, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createFolder, startSqld } from "../conformance/processes.ts";
import { findSqld } from "../conformance/sqld.ts";
import { sendWhileKilled } from "../faults/webhooks.ts";

const test = suite("webhooks of services that are killed");

const events = 400;

const sqld = await findSqld();
const folder = await createFolder();
test.after(() => folder.remove());

/** Random numbers from 0 to 1, the same in each run (mulberry32). */
function createRandom(state: number): () => number {
  return () => {
    state = state + 0x6d2b79f5 | 0;
    const mixed = Math.imul(state ^ state >>> 15, 1 | state);
    const more = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed;
    return ((more ^ more >>> 14) >>> 0) / 2 ** 32;
  };
}

const send = async (url: string, processes: number, events: number) => {
  const run = { processes, events, kills: 4, random: createRandom(seed) };
  const { faults, lost, requests } = await sendWhileKilled("Node", url, run);
  assert.equal([faults, lost], [[], 0]);
  assert.ok(requests >= 2 * events);
};

if ("binary" in sqld) {
  test("every event arrives from three services on a server, in order but for what was sent again", async () => {
    const server = await startSqld(sqld.binary, `${folder.path}/data`);
    await send(server.url, 3, events);
    await server.stop("SIGKILL");
  });
} else {
  console.log(`skipped: webhooks of services that are killed: ${sqld.missing}`);
}

test("every event arrives from services that serve a file one after the other", () =>
  send(`file:${folder.path}/ledger.db`, 1, Math.ceil(events / 4)));

test.run();
