// `npm run hosts [-- NAME…]`: the service in frameworks that are built first. Each application in `apps` is installed with the
// packed package, built and started, outside of this repository: as dependencies of it they would slow every `npm ci`.
import { execFile } from "node:child_process";
import { cp, readdir } from "node:fs/promises";
import process from "node:process";
import { promisify } from "node:util";
import { openService } from "../../src/index.ts";
import { management } from "../../src/management.ts";
import { usedIn } from "../balanced.ts";
import { createFolder, findFreePort, startProgram, until } from "../conformance/processes.ts";
import { bearer, goodBody, promptFile } from "../helpers.ts";
import { pathOf } from "../runtimes.ts";

/** The ways to start an application once it is built, and where the service is in it. */
type Start = { name: string; command: string[]; path: string };

const npmStart = ["npm", "start", "--silent"];
// The files that a page needs go beside the standalone server. These applications have none.
const standalone = ["node", ".next/standalone/server.js"];
const apps: Record<string, Start[]> = {
  next: [
    { name: "Next, a route handler", command: npmStart, path: "/llm" },
    { name: "Next standalone, a route handler", command: standalone, path: "/llm" },
    { name: "Next, an API route in pages", command: npmStart, path: "/api/node" },
    { name: "Next standalone, an API route in pages", command: standalone, path: "/api/node" },
  ],
  sveltekit: [{ name: "SvelteKit", command: npmStart, path: "/llm" }],
  "react-router": [{ name: "React Router", command: npmStart, path: "/llm" }],
  nitro: [{ name: "Nitro", command: npmStart, path: "/llm" }],
};

const run = (cwd: string, command: string, ...args: string[]) =>
  promisify(execFile)(command, args, { cwd, env: { ...process.env, ...quiet }, maxBuffer: 64 * 1024 * 1024 });

const quiet = { NEXT_TELEMETRY_DISABLED: "1", CI: "1" };

/** Throws unless a request is answered with a status. */
async function expect(status: number, url: string, init?: RequestInit): Promise<void> {
  const response = await fetch(url, init);
  const text = await response.text();
  if (response.status !== status) throw new Error(`${init?.method ?? "GET"} ${url}: ${response.status} ${text}`);
}

async function check({ command, path }: Start, cwd: string, database: string, key: string): Promise<void> {
  const port = await findFreePort();
  const settings = { PORT: String(port), HOST: "127.0.0.1", HOSTNAME: "127.0.0.1", DATABASE_URL: database, ...quiet };
  const child = await startProgram(command, settings, /()/, cwd);
  const base = `http://127.0.0.1:${port}${path}/v1`;
  try {
    await until(() => fetch(base).then(() => true, () => false));
    const query = "?deployId=greeting@production";
    const headers = { ...bearer(key), Origin: `http://127.0.0.1:${port}` };
    await expect(200, `${base}/prompts${query}`, { headers });
    await expect(200, `${base}/prompts${query}`, { headers, method: "HEAD" });
    await expect(401, `${base}/prompts${query}`);
    const post = { method: "POST", headers: { ...headers, "Content-Type": "application/json" } };
    await expect(201, `${base}/diagnosis${query}`, { ...post, body: JSON.stringify(goodBody) });
    const large = { ...goodBody, content: { input: "x".repeat(400_000) } };
    await expect(201, `${base}/diagnosis${query}`, { ...post, body: JSON.stringify(large) });
    await expect(400, `${base}/diagnosis${query}`, { ...post, body: "{" });
    await expect(404, `${base}/nothing`, { headers });
  } catch (error) {
    throw new Error(child.output().slice(-2000), { cause: error });
  } finally {
    for (const pid of (await descendantsOf(child.pid)).reverse()) process.kill(pid, "SIGKILL");
  }
}

async function descendantsOf(pid: number): Promise<number[]> {
  const { stdout } = await run(".", "ps", "-eo", "pid=,ppid=");
  const processes = stdout.trim().split("\n").map((line) => line.trim().split(/\s+/).map(Number));
  const childrenOf = (parent: number): number[] =>
    processes.filter(([, each]) => each === parent).flatMap(([child]) => [child!, ...childrenOf(child!)]);
  return [pid, ...childrenOf(pid)];
}

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(apps);
const folder = await createFolder();
let failed = 0;
try {
  await run(pathOf("."), "npm", "pack", "--silent", "--pack-destination", folder.path);
  const [tarball] = (await readdir(folder.path)).filter((name) => name.endsWith(".tgz"));
  for (const name of names) {
    const app = `${folder.path}/${name}`;
    await cp(pathOf(`test/hosts/apps/${name}`), app, { recursive: true });
    const database = `file:${app}/ledger.db`;
    const service = await openService({ database, faces: [management()] });
    const { id: workspaceId } = await service.admin.createWorkspace({ name: "Acme" });
    const { key } = await service.admin.createApiKey({ workspaceId });
    const { id: promptId } = await service.admin.createPrompt({ workspaceId, ...promptFile });
    await service.admin.createDeployment({ workspaceId, promptId, name: "production" });
    await service.close();
    const began = performance.now();
    await run(app, "npm", "install", "--no-audit", "--no-fund", `../${tarball}`);
    await run(app, "npm", "run", "build");
    console.log(`${name} is installed and built: ${Math.round((performance.now() - began) / 1000)} s`);
    for (const start of apps[name]!) {
      const before = await usedIn(database);
      const outcome = await check(start, app, database, key).then(() => "ok", (error: Error) => {
        failed++;
        return `FAILED: ${error.cause instanceof Error ? error.cause.message : ""}\n${error.message}`;
      });
      console.log(`${start.name}: ${outcome}, ${await usedIn(database) - before} calls`);
    }
  }
} finally {
  await folder.remove();
}
process.exit(failed === 0 ? 0 : 1);
