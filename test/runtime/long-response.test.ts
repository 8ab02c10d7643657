// Long management requests to a client with a short idle timeout: service and command line, on the runtime that runs
// the tests.
// Runs on every runtime.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { connectTo } from "../../src/cli/frame/remote.ts";
import { verify } from "../../src/management/verify/verify.ts";
import { terminal } from "../../src/runtime/terminal.ts";
import { holdTimers } from "../cli/held-timers.ts";
import { adminToken } from "../helpers.ts";
import { openGated } from "../http/gated.ts";
import { currentRuntime } from "../runtimes.ts";
import { findListen } from "./listen.ts";

const test = suite(`long responses, on ${currentRuntime}`);

const timeoutMs = 1_234_000; // of the client, by which its timers are known

test("reach a client whose idle timeout is shorter than they take", async () => {
  const gated = await openGated(1, 60_000, 10);
  const listen = await findListen();
  const server = await listen(gated.fetch, { host: "127.0.0.1", port: 0 }, () => {});
  const env = { ADMIN_TOKEN: adminToken };
  const call = connectTo(`http://127.0.0.1:${server.port}`, { ...terminal, env }, { timeoutMs });
  gated.close();
  // The client waits anew for each part, and no longer for those before it.
  let waits = 0;
  const timers = holdTimers(timeoutMs, () => {
    assert.is(timers.count(), 1);
    if (++waits === 20) gated.state.pass(true);
  });
  try {
    assert.ok((await call(verify, {})).balanced);
    assert.ok(waits >= 20);
    assert.is(timers.count(), 0);
  } finally {
    timers.restore();
    gated.state.pass(true);
    await server.stop(() => Promise.resolve());
  }
});

test.run();
