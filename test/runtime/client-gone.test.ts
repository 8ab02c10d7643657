// Long work stops when its client closes the connection, on the runtime that runs the tests.
// Runs on every runtime.
import { connect } from "node:net";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { until } from "../conformance/processes.ts";
import { adminToken } from "../helpers.ts";
import { openGated } from "../http/gated.ts";
import { currentRuntime } from "../runtimes.ts";
import { findListen } from "./listen.ts";

const test = suite(`clients that leave, on ${currentRuntime}`);

for (const path of ["verify", "deployments/DEPLOYMENT/diagnoses?text=x", "workspaces/WORKSPACE/calls"]) {
  test(`/${path.replace(/\?.*/, "")} reads nothing more once its client has closed the connection`, async () => {
    const gated = await openGated(1, 60_000);
    await gated.addCall();
    let signal: AbortSignal | undefined;
    const listen = await findListen();
    const server = await listen(
      (request, isGone) => {
        signal = request.signal;
        return gated.fetch(request, isGone);
      },
      { host: "127.0.0.1", port: 0 },
      () => {},
    );
    gated.close();
    const target = path.replace("DEPLOYMENT", gated.deployId).replace("WORKSPACE", gated.workspaceId);
    const socket = connect(server.port, "127.0.0.1");
    socket.write(`GET /admin/v1/${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${adminToken}\r\n\r\n`);
    await gated.asked();
    const { reads } = gated.state;
    socket.destroy();
    await until(() => signal!.aborted);
    gated.state.pass(true);
    await until(() => gated.logged.length > 0);
    assert.is(gated.state.reads, reads);
    assert.is(JSON.parse(gated.logged[0]!).error, "client_gone");
    await server.stop(() => Promise.resolve());
  });
}

test.run();
