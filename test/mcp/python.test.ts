// Sessions by the official client for Python, which checks each result against the schema of its tool and raises if it does not fit.
// It is used where it is installed. In full it is installed, where pip finds it.
// Runs on Node alone.
import { execFile } from "node:child_process";
import process from "node:process";
import { promisify } from "node:util";
import { isFull, suite } from "../suite.ts";
import * as assert from "uvu/assert";
import { createFolder, startService } from "../conformance/processes.ts";
import { adminToken, goodBody, promptFile } from "../helpers.ts";
import { makeOnce } from "../packages.ts";
import { commandOf, pathOf } from "../runtimes.ts";

const test = suite("MCP: the official client for Python");

const version = "2.3.0";
const run = promisify(execFile);

/** A Python with the client, and where it finds it. */
async function findClient(): Promise<{ python: string; path: string } | string> {
  const can = (python: string, script: string, path = "") =>
    run(python, ["-c", script], { env: { ...process.env, PYTHONPATH: path } }).then(() => true, () => false);
  const imports = "from mcp import Client; import httpx2";
  for (const python of ["python3", "/usr/bin/python3"]) {
    if (await can(python, imports)) return { python, path: "" };
    if (!isFull || !await can(python, "import sys, pip; assert sys.version_info >= (3, 10)")) continue;
    const { stdout } = await run(python, ["-c", "import sys; print(sys.implementation.cache_tag)"]);
    const path = pathOf(`.cache/python-mcp-${version}-${stdout.trim()}`);
    const install = ["-m", "pip", "install", "--quiet", "--retries", "1", "--timeout", "5"];
    try {
      await makeOnce(path, (part) => run(python, [...install, "--target", part, `mcp==${version}`]));
      return { python, path };
    } catch (error) {
      return `pip does not find it: ${String((error as { stderr?: string }).stderr).trim().split("\n").at(-1)}`;
    }
  }
  return "it is not installed";
}

const client = await findClient();
if (typeof client === "string") {
  console.log(`skipped: MCP by Python's client: ${client}`);
  test.skip("each tool is called by the official client", () => {});
} else {
  const { python, path } = client;
  const folder = await createFolder();
  const DATABASE_URL = `file:${folder.path}/ledger.db`;
  const service = await startService("Node", { DATABASE_URL, ADMIN_TOKEN: adminToken, MCP: "true" });
  test.after(async () => {
    assert.is(await service.stop(), 0, service.output());
    await folder.remove();
  });

  const send = async <T>(path: string, body: object, token = adminToken): Promise<T> => {
    const headers = { Authorization: `Bearer ${token}` };
    const response = await fetch(`${service.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    assert.ok(response.ok, `${path}: ${response.status}`);
    return await response.json() as T;
  };

  const { id: workspaceId } = await send<{ id: string }>("/admin/v1/workspaces", { name: "Acme" });
  const { key } = await send<{ key: string }>(`/admin/v1/workspaces/${workspaceId}/keys`, { name: "app" });
  const { PATH = "", HOME = "" } = process.env;
  const [command, ...args] = commandOf.Node("src/cli.ts");
  const onDatabase = {
    command,
    args: [...args, "mcp", "--role", "admin"],
    env: { PATH, HOME, DATABASE_URL },
    cwd: pathOf("."),
  };
  const overHttp = { url: `${service.url}/mcp`, token: adminToken };

  type Result = { isError: boolean; output: Record<string, unknown> | null };

  let count = 0;
  for (
    const [way, connection] of Object.entries({
      "2026-07-28 over HTTP": { ...overHttp, mode: "2026-07-28" },
      "what it finds out over HTTP": { ...overHttp, mode: "auto" },
      "an older version over HTTP": { ...overHttp, mode: "legacy" },
      "what it finds out, to a database": { ...onDatabase, mode: "auto" },
    })
  ) {
    test(`calls every tool with ${way}`, async () => {
      const prompt = `prompt-${++count}`, deployment = `${prompt}@production`;
      await send(`/admin/v1/workspaces/${workspaceId}/publish`, { ...promptFile, name: prompt, deploy: "production" });
      const query = `deployId=${encodeURIComponent(deployment)}`;
      const { id: record } = await send<{ id: string }>(`/v1/diagnosis?${query}`, goodBody, key);
      for (const status of [0, 2, -1]) {
        await send(`/v1/diagnosis?${query}`, { ...goodBody, status, latency: 12.5 }, key);
      }
      const declarations = [{ name: "größe", type: "text", example: "M" }, { name: "count", type: "number" }];
      const calls: [tool: string, input: Record<string, unknown>][] = [
        ["list_prompts", {}],
        ["get_prompt", { prompt }],
        ["publish_version", { prompt, baseVersion: 1, edits: [{ old: "Greet", new: "Greet kindly" }], declarations }],
        ["get_prompt", { prompt, version: 2 }],
        ["diff_versions", { prompt, from: 1 }],
        ["list_deployments", { prompt }],
        ["promote", { deployment, revision: 1, version: 2 }],
        ["rollback", { deployment, revision: 2 }],
        ["give_feedback", { record, name: "correct", value: "true" }],
        ["give_feedback", { record, name: "score", value: "0.5", comment: "Half" }],
        ["stats", { deployment }],
        ["compare", { a: deployment, aVersion: 1, b: deployment, bVersion: 2 }],
        ["list_records", { deployment }],
        ["get_record", { record }],
        ["get_prompt", { prompt: "none" }],
      ];
      const script = [pathOf("test/mcp/official_client.py"), JSON.stringify({ ...connection, calls })];
      const env = { ...process.env, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: "1", NO_PROXY: "*" };
      const { stdout } = await run(python, script, { env, maxBuffer: 2 ** 26 });
      const { tools, results } = JSON.parse(stdout) as { tools: string[]; results: Result[] };
      assert.equal([...new Set(calls.map(([tool]) => tool))].sort(), tools.sort());
      const wrong = results.slice(0, -1).filter(({ isError }) => isError);
      assert.equal([wrong, results.at(-1)!.isError], [[], true]);
      assert.equal((results[3]!.output as { declarations: object }).declarations, {
        größe: { type: "text", example: "M" },
        count: { type: "number" },
      });
    });
  }
}

test.run();
