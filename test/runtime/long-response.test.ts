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

/** Verifies by a request that takes longer than the idle timeout of its client. */
async function verifySlowly(): Promise<boolean> {
  const gated = await openGated(1, 10_000, 50);
  const listen = await findListen();
  const server = await listen(gated.fetch, { host: "127.0.0.1", port: 0 }, () => {});
  const env = { ADMIN_TOKEN: adminToken };
  const call = connectTo(`http://127.0.0.1:${server.port}`, { ...terminal, env }, { timeoutMs: 1_000 });
  gated.close();
  setTimeout(() => gated.state.pass(true), 2_000);
  try {
    return (await call(verify, {})).balanced;
  } finally {
    gated.state.pass(true);
    await server.stop(() => Promise.resolve());
  }
}

const attempts = 5; // a machine that stalls for as long as the timeout fails one

test("reach a client whose idle timeout is shorter than they take", async () => {
  let result: boolean | undefined;
  for (let attempt = 1; result === undefined; attempt++) {
    result = await verifySlowly().catch((error: unknown) => {
      if (attempt === attempts) throw error;
      return undefined;
    });
  }
  assert.is(result, true);
});

test.run();
