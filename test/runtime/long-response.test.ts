// Long management requests to a client with a short idle timeout: service and command line, on the runtime that runs
// the tests.
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { connectTo } from "../../src/cli/remote.ts";
import { verify } from "../../src/management/upkeep.ts";
import { terminal } from "../../src/runtime/terminal.ts";
import { adminToken } from "../helpers.ts";
import { openGated } from "../http/gated.ts";
import { currentRuntime } from "../runtimes.ts";
import { findListen } from "./listen.ts";

const test = suite(`long responses, on ${currentRuntime}`);

test("reach a client whose idle timeout is shorter than they take", async () => {
  const gated = await openGated(1, 10_000, 50);
  const listen = await findListen();
  const server = await listen(gated.fetch, { host: "127.0.0.1", port: 0 }, () => {});
  const env = { ADMIN_TOKEN: adminToken };
  const call = connectTo(`http://127.0.0.1:${server.port}`, { ...terminal, env }, { timeoutMs: 3_000 });
  gated.close();
  const verified = call(verify, {});
  setTimeout(() => gated.state.pass(true), 4_000);
  assert.is((await verified).balanced, true);
  await server.stop(() => Promise.resolve());
});

test.run();
