// How long a connection may be idle. A proxy that finds one closed on which it sends a POST answers 502.
// Runs on Node alone.
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { currentRuntime } from "../runtimes.ts";
import { findListen } from "./listen.ts";

const test = suite("idle connections");

// Bun and Deno do not tell.
if (currentRuntime === "Node") {
  test("stay open for longer than proxies keep them: nginx for 60 s, those in Go for 90 s, and Caddy for 120 s", async () => {
    const listen = await findListen();
    const server = await listen(() => Promise.resolve(new Response()), { host: "127.0.0.1", port: 0 }, () => {});
    const { headers } = await fetch(`http://127.0.0.1:${server.port}`);
    const [, seconds] = /^timeout=(\d+)$/.exec(headers.get("Keep-Alive")!)!;
    assert.ok(Number(seconds) > 120);
    await server.stop(() => Promise.resolve());
  });
}

test.run();
