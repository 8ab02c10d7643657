// Long management requests to a client with a short idle timeout: service and command line, on the runtime that runs
// the tests.
// Runs on every runtime.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { connectTo } from "../../src/cli/remote.ts";
import { verify } from "../../src/management/upkeep.ts";
import { terminal } from "../../src/runtime/terminal.ts";
import { adminToken } from "../helpers.ts";
import { openGated } from "../http/gated.ts";
import { currentRuntime } from "../runtimes.ts";
import { findListen } from "./listen.ts";

const test = suite(`long responses, on ${currentRuntime}`);

const timeoutMs = 987_654; // of the client, by which its timers are known

/**
 * Puts the client's timers on a clock of their own, which moves by most of the timeout each time that the client begins to
 * wait. Returns what puts them back.
 */
function slowDown(onWait: () => void): () => void {
  const { setTimeout, clearTimeout } = globalThis;
  const timers = new Map<unknown, () => void>(); // by themselves, which are when they are due
  let now = 0;
  Object.assign(globalThis, {
    setTimeout(run: () => void, ms: number, ...more: unknown[]) {
      if (ms !== timeoutMs) return setTimeout(run, ms, ...more);
      now += 0.9 * timeoutMs;
      for (const [due, giveUp] of timers) if (Number(due) <= now) giveUp();
      const due = Object(now + timeoutMs);
      timers.set(due, run);
      onWait();
      return due;
    },
    clearTimeout(timer: Parameters<typeof clearTimeout>[0]) {
      if (!timers.delete(timer)) clearTimeout(timer);
    },
  });
  return () => void Object.assign(globalThis, { setTimeout, clearTimeout });
}

test("reach a client whose idle timeout is shorter than they take", async () => {
  const gated = await openGated(1, 60_000, 10);
  const listen = await findListen();
  const server = await listen(gated.fetch, { host: "127.0.0.1", port: 0 }, () => {});
  const env = { ADMIN_TOKEN: adminToken };
  const call = connectTo(`http://127.0.0.1:${server.port}`, { ...terminal, env }, { timeoutMs });
  let waits = 0;
  const restore = slowDown(() => void (++waits === 20 && gated.state.pass(true)));
  gated.close();
  try {
    assert.ok((await call(verify, {})).balanced);
    assert.ok(waits >= 20);
  } finally {
    restore();
    gated.state.pass(true);
    await server.stop(() => Promise.resolve());
  }
});

test.run();
