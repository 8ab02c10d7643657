// Sessions by the official clients, the current one and the one before it, over HTTP and over standard streams.
// Runs on every runtime in CI.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OldStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as OldHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import process from "node:process";
import { suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createFolder, startService } from "../conformance/processes.ts";
import { adminToken, promptFile } from "../helpers.ts";
import { commandOf, currentRuntime, pathOf } from "../runtimes.ts";

const test = suite(`MCP: official clients on ${currentRuntime}`);

const folder = await createFolder();
const DATABASE_URL = `file:${folder.path}/ledger.db`;
const service = await startService(currentRuntime, { DATABASE_URL, ADMIN_TOKEN: adminToken, MCP: "true" });
test.after(async () => {
  assert.is(await service.stop(), 0, service.output());
  await folder.remove();
});

/** Calls management. */
async function manage<T>(path: string, body: object): Promise<T> {
  const response = await fetch(`${service.url}/admin/v1${path}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${adminToken}` },
    body: JSON.stringify(body),
  });
  assert.ok(response.ok, `${path}: ${response.status}`);
  return await response.json() as T;
}

const { id: workspaceId } = await manage<{ id: string }>("/workspaces", { name: "Acme" });
const { token: editor } = await manage<{ token: string }>("/tokens", { name: "Ada's agent", role: "editor" });
const { token: viewer } = await manage<{ token: string }>("/tokens", { name: "Viewer", role: "viewer" });

/** What the tests use of both clients. */
type Opened = Pick<OldClient, "listTools" | "listPrompts" | "listResources" | "close"> & {
  callTool(params: { name: string; arguments?: Record<string, unknown> }): Promise<object>;
  getPrompt(params: { name: string; arguments: Record<string, string> }): Promise<{ messages: object[] }>;
  readResource(params: { uri: string }): Promise<{ contents: object[] }>;
};

const info = { name: "test", version: "1" };
const mcpUrl = new URL(`${service.url}/mcp`);
const command = commandOf[currentRuntime]("src/cli.ts");
const processOf = (args: string[], env: Record<string, string>) => {
  const { PATH = "", HOME = "" } = process.env;
  return {
    command: command[0],
    args: [...command.slice(1), "mcp", ...args],
    env: { PATH, HOME, ...env },
    cwd: pathOf("."),
    stderr: "pipe" as const,
  };
};
const inDatabase = processOf(["--role", "editor"], { DATABASE_URL });
const onService = (token: string) => processOf(["--server", service.url], { PROMPTLEDGER_TOKEN: token });
const bearing = (token: string) => ({ requestInit: { headers: { Authorization: `Bearer ${token}` } } });

type Mode = { pin: string } | "auto" | "legacy";

async function openNew(transport: StreamableHTTPClientTransport | StdioClientTransport, mode: Mode): Promise<Opened> {
  const client = new Client(info, { versionNegotiation: { mode } });
  await client.connect(transport);
  return client as unknown as Opened;
}

async function openOld(transport: OldHttp | OldStdio): Promise<Opened> {
  const client = new OldClient(info);
  await client.connect(transport as Parameters<OldClient["connect"]>[0]);
  return client as unknown as Opened;
}

const pinned = { pin: "2026-07-28" };
const ways: Record<string, (token: string) => Promise<Opened>> = {
  "2.x, pinned to 2026-07-28, over HTTP": (token) =>
    openNew(new StreamableHTTPClientTransport(mcpUrl, bearing(token)), pinned),
  "2.x, which finds out, over HTTP": (token) =>
    openNew(new StreamableHTTPClientTransport(mcpUrl, bearing(token)), "auto"),
  "2.x as an older client over HTTP": (token) =>
    openNew(new StreamableHTTPClientTransport(mcpUrl, bearing(token)), "legacy"),
  "1.x over HTTP": (token) => openOld(new OldHttp(mcpUrl, bearing(token))),
  "2.x, pinned, to a database": () => openNew(new StdioClientTransport(inDatabase), pinned),
  "2.x, which finds out, to a service by the command": (token) =>
    openNew(new StdioClientTransport(onService(token)), "auto"),
  "1.x to a database": () => openOld(new OldStdio(inDatabase)),
  "1.x to a service by the command": (token) => openOld(new OldStdio(onService(token))),
};

async function output<T>(client: Opened, name: string, input: Record<string, unknown>): Promise<T> {
  const result = await client.callTool({ name, arguments: input }) as { isError?: boolean; structuredContent?: T };
  assert.not.ok(result.isError, JSON.stringify(result));
  return result.structuredContent!;
}

let count = 0;
for (const [way, open] of Object.entries(ways)) {
  test(`${way}: from listing to a promotion`, async () => {
    const prompt = `prompt-${++count}`, deployment = `${prompt}@production`;
    const content = { ...promptFile, name: prompt, deploy: "production" };
    await manage(`/workspaces/${workspaceId}/publish`, content);
    const client = await open(editor);
    try {
      const names = (await client.listTools()).tools.map(({ name }) => name);
      assert.equal([names.length, names.includes("promote"), names.includes("rollback")], [11, true, false]);
      const listed = (await client.listPrompts()).prompts.find(({ name }) => name === deployment);
      assert.equal(listed?.arguments, [{ name: "name", required: true }]);
      const { messages } = await client.getPrompt({ name: deployment, arguments: { name: "Ada" } });
      assert.equal(messages, [{ role: "user", content: { type: "text", text: "Greet Ada" } }]);
      const resource = (await client.listResources()).resources.find(({ name }) => name === prompt)!;
      assert.is((await client.readResource({ uri: resource.uri })).contents.length, 1);
      const { version } = await output<{ version: number }>(client, "get_prompt", { prompt });
      const edits = [{ old: "Greet", new: "Greet kindly" }];
      const published = await output<{ version: number }>(client, "publish_version", {
        ...{ prompt, baseVersion: version, edits, note: "Grüße 😀" },
      });
      const { items: [live] } = await output<{ items: { revision: number }[] }>(client, "list_deployments", { prompt });
      const { currentVersion } = await output<{ currentVersion: number }>(client, "promote", {
        ...{ deployment, revision: live!.revision, version: published.version },
      });
      assert.is(currentVersion, 2);
      const { isError } = await client.callTool({ name: "get_prompt", arguments: { prompt: "none" } }) as {
        isError?: boolean;
      };
      assert.ok(isError);
    } finally {
      await client.close();
    }
  });
}

for (const [way, open] of Object.entries(ways).filter(([way]) => !way.endsWith("database"))) {
  // What a viewer sees does not depend on the way.
  const add = way === "2.x, which finds out, over HTTP" ? test : test.full;
  add(`${way}: a viewer sees no tool that writes`, async () => {
    const client = await open(viewer);
    try {
      const { tools } = await client.listTools();
      assert.equal(tools.filter(({ annotations }) => !annotations?.readOnlyHint), []);
      assert.is(tools.length, 8);
      const promote = { deployment: "prompt-1@production", revision: 2, version: 1 };
      const { isError } = await client.callTool({ name: "promote", arguments: promote }) as { isError?: boolean };
      assert.ok(isError);
    } finally {
      await client.close();
    }
  });
}

test("the log has each promotion, and who made it", async () => {
  const response = await fetch(`${service.url}/admin/v1/audit?action=deployment.promoted&limit=100`, {
    headers: { Authorization: `Bearer ${adminToken}` },
  });
  const { items } = await response.json() as { items: { source: string; actor: string }[] };
  assert.is(items.length, count);
  assert.equal(items.filter(({ source }) => source !== "mcp"), []);
  assert.is(items.filter(({ actor }) => actor === "Ada's agent").length, count - 2);
});

test("without a token, or with a wrong one, no client connects", async () => {
  for (const options of [{}, bearing("wrong")]) {
    for (
      const open of [
        () => openNew(new StreamableHTTPClientTransport(mcpUrl, options), pinned),
        () => openOld(new OldHttp(mcpUrl, options)),
      ]
    ) {
      await open().then(() => assert.unreachable(), (error: Error) => assert.instance(error, Error));
    }
  }
});

test.run();
