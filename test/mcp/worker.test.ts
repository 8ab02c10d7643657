// MCP in a Worker on workerd: a session by the official client.
// Runs on Node alone.
// Runs in CI alone.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { openDatabase } from "../../src/database/file/open.ts";
import { migrate } from "../../src/migrate.ts";
import { createFolder, startSqld } from "../conformance/processes.ts";
import { findSqld } from "../conformance/sqld.ts";
import { startWorker } from "../conformance/workerd.ts";
import { adminToken, createTenant, managementOf } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";

const test = suite("MCP in a Worker");
const sqld = await findSqld();

// workerd is a program of its own.
if (currentRuntime === "Node" && "binary" in sqld) {
  const folder = await createFolder();
  const server = await startSqld(sqld.binary, `${folder.path}/data`);
  await migrate(server.url);
  const admin = managementOf(openDatabase(server.url), Date.now);
  await createTenant(admin, 1000);
  const bindings = { DATABASE_URL: server.url, ADMIN_TOKEN: adminToken, MCP: "true" };
  const worker = await startWorker("src/worker.ts", `${folder.path}/worker`, bindings);
  test.after(async () => {
    admin.database.close();
    await worker.stop("SIGKILL");
    await server.stop("SIGKILL");
    await folder.remove();
  });

  test("a session from listing to a promotion", async () => {
    const requestInit = { headers: { Authorization: `Bearer ${adminToken}` } };
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${worker.url}/mcp`), { requestInit }));
    assert.is((await client.listTools()).tools.length, 12);
    assert.equal((await client.listPrompts()).prompts.map(({ name }) => name), ["greeting@production"]);
    const call = async (name: string, input: Record<string, unknown>) => {
      const result = await client.callTool({ name, arguments: input });
      assert.not.ok(result.isError, JSON.stringify(result));
      return result.structuredContent as Record<string, unknown>;
    };
    const edits = [{ old: "Greet", new: "Greet kindly" }];
    await call("publish_version", { prompt: "greeting", baseVersion: 1, edits });
    const promoted = await call("promote", { deployment: "greeting@production", revision: 1, version: 2 });
    assert.is(promoted.currentVersion, 2);
    await call("stats", { deployment: "greeting@production" });
    await client.close();
  });
} else if ("missing" in sqld) console.log(`skipped: MCP in a Worker: ${sqld.missing}`);

test.run();
