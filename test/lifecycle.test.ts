// Services that come and go in one process: opened and closed again, side by side, and made by several copies of the code, as
// a development server has after it reloads. Nothing of them may stay: no lock, no descriptor, no timer.
// Runs on every runtime in CI.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readlink, rm, writeFile } from "node:fs/promises";
import process from "node:process";
import { promisify } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { build } from "esbuild";
import { suite } from "./suite.ts";
import * as assert from "uvu/assert";
import { openService } from "../src/index.ts";
import type { Service } from "../src/index.ts";
import { management } from "../src/management.ts";
import { usedIn } from "./balanced.ts";
import { createFolder, startCommand, until } from "./conformance/processes.ts";
import { goodBody, promptFile } from "./helpers.ts";
import { commandOf, currentRuntime, pathOf } from "./runtimes.ts";

const test = suite(`services that come and go on ${currentRuntime}`);

const folder = await createFolder();
const bundles: string[] = [];
test.after(async () => {
  await folder.remove();
  for (const path of bundles) await rm(path);
});

const target = { key: "", deployId: "greeting@production" };
let files = 0;

/** Opens a service on a new file, with a tenant, whose calls `use` makes. */
async function openNew() {
  const url = `file:${folder.path}/${++files}.db`;
  const service = await openService({ database: url, faces: [management()] });
  const { id: workspaceId } = await service.admin.createWorkspace({ name: "Acme" });
  const { key } = await service.admin.createApiKey({ workspaceId });
  const { id: promptId } = await service.admin.createPrompt({ workspaceId, ...promptFile });
  await service.admin.createDeployment({ workspaceId, promptId, name: "production" });
  return { url, service, key };
}

const use = async ({ readPrompt, recordDiagnosis }: Service, key: string) => {
  await readPrompt({ ...target, key });
  await recordDiagnosis({ ...target, key }, goodBody);
};

/** What this process has open of the database. */
async function openFilesOf(url: string): Promise<string[]> {
  const path = url.slice("file:".length);
  const names = await readdir("/proc/self/fd");
  const links = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => "")));
  return links.filter((link) => link === path || link.startsWith(`${path}-`)).map((link) => link.slice(path.length));
}

/** Runs the garbage collector, and what it has left to the event loop. */
async function collect(): Promise<void> {
  const { Bun } = globalThis as { Bun?: { gc(isSync: boolean): void } };
  if (Bun !== undefined) Bun.gc(true);
  else {
    setFlagsFromString("--expose-gc");
    (runInNewContext("gc") as () => void)();
  }
  await new Promise((resolve) => setTimeout(resolve, 10));
}

/** libSQL has no way to close a statement, so the rest of a closed connection waits for the garbage collector. */
const untilNothingIsOpen = (url: string) =>
  until(async () => {
    await collect();
    return (await openFilesOf(url)).length === 0;
  });

// Only Linux lists what a process has open. Deno cannot be told to collect garbage.
const canCount = existsSync("/proc/self/fd");
const canCollect = canCount && currentRuntime !== "Deno";

test("a file is opened and closed 20 times: its lock is free at once, and no descriptor is left", async () => {
  const { url, service, key } = await openNew();
  await use(service, key);
  await service.close();
  for (let round = 0; round < 20; round++) {
    const again = await openService({ database: url });
    await use(again, key);
    if (canCount) assert.ok((await openFilesOf(url)).includes("-lock"));
    await again.close();
    if (canCount) assert.not.ok((await openFilesOf(url)).includes("-lock"));
  }
  if (canCollect) await untilNothingIsOpen(url);
  assert.is(await usedIn(url), 42);
});

test("services of several files and of one leave nothing when they are closed, in any order", async () => {
  const opened = await Promise.all([openNew(), openNew(), openNew()]);
  const { url, key } = opened[0]!;
  const beside = await Promise.all([1, 2].map(() => openService({ database: url })));
  const services = [...opened, ...beside.map((service) => ({ url, key, service }))];
  await Promise.all(services.map(({ service, key }) => use(service, key)));
  for (const { service, key } of services.reverse()) {
    await use(service, key);
    await service.close();
  }
  for (const { url } of opened) {
    if (canCount) assert.not.ok((await openFilesOf(url)).includes("-lock"));
    if (canCollect) await untilNothingIsOpen(url);
    assert.is(await usedIn(url), url === opened[0]!.url ? 12 : 4);
  }
});

/** The package in one file. Each file is a copy of its own. */
async function bundle(name: string, contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: pathOf("src"), loader: "ts" },
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    // Each copy shares the native module, as copies in a development server do.
    external: ["libsql", "@libsql/client"],
  });
  const path = pathOf(`.cache/${name}-${process.pid}-${currentRuntime}.mjs`);
  await mkdir(pathOf(".cache"), { recursive: true });
  await writeFile(path, outputFiles[0]!.contents);
  bundles.push(path);
  return path;
}

// Bun frees descriptors only when it collects garbage, which it does less often under load.
if (canCount && currentRuntime !== "Bun") {
  test.full("a process that opens and closes without a pause does not run out of descriptors", async () => {
    const { url, service } = await openNew();
    await service.close();
    const [program, ...args] = commandOf[currentRuntime]("test/reopen.ts");
    const command = ["sh", "-c", 'ulimit -n 1024; exec "$0" "$@"', program, ...args, url, "400"];
    const child = startCommand(command, {});
    assert.is(await child.ended, 0, child.output());
  });
}

test("copies of the code, as after a hot reload, share a file, and the last one frees it", async () => {
  const { url, service, key } = await openNew();
  const path = await bundle("reloaded", 'export { openService } from "./index.ts";');
  for (let reload = 0; reload < 3; reload++) {
    const copy: { openService: typeof openService } = await import(`file://${path}?${reload}`);
    const reloaded = await copy.openService({ database: url });
    await Promise.all([use(service, key), use(reloaded, key)]);
    await reloaded.close();
    await use(service, key);
  }
  await service.close();
  if (canCount) assert.not.ok((await openFilesOf(url)).includes("-lock"));
  if (canCollect) await untilNothingIsOpen(url);
  assert.is(await usedIn(url), 18);
});

test("a process ends by itself once its service is closed", async () => {
  const { url, service, key } = await openNew();
  await service.close();
  const path = await bundle(
    "ends",
    `import { openService } from "./index.ts";
    const service = await openService({ database: ${JSON.stringify(url)}, schema: "check" });
    await service.readPrompt(${JSON.stringify({ ...target, key })});
    await service.close();
    console.log("closed");`,
  );
  const command = { Node: ["node"], Bun: ["bun"], Deno: ["deno", "run", "--quiet", "--allow-all"] }[currentRuntime];
  const [program, ...args] = command as [string, ...string[]];
  const { stdout } = await promisify(execFile)(program, [...args, path], { timeout: 120_000 });
  assert.is(stdout, "closed\n");
});

test.run();
