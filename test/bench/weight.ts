// `weight`: what the service and the clients cost to install and to run: packages, MB, seconds, processes, memory, bytes on disk,
// and requests of the client. What does not depend on the machine has a budget (test/budgets.ts).
import { execFile } from "node:child_process";
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import process from "node:process";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { createClient } from "../../src/client/index.ts";
import { createFolder, memoryOf, startProgram } from "../conformance/processes.ts";
import { pathOf } from "../runtimes.ts";
import { callOf, load, warmUp } from "./load.ts";
import type { Method } from "./load.ts";
import type { Options } from "./options.ts";
import { createTenants, say, withFreshService } from "./stage.ts";
import type { Stage } from "./stage.ts";
import { round } from "./tables.ts";
import type { Row, Table } from "./tables.ts";

const million = 1_000_000;

const run = async (cwd: string, command: string, ...args: string[]): Promise<string> =>
  (await promisify(execFile)(command, args, { cwd, maxBuffer: 64 * 1024 * 1024 })).stdout.trim();

export async function weight(options: Options): Promise<Table[]> {
  const folder = await createFolder();
  try {
    const rows: Row[] = [];
    const add = (what: string, figures: Record<string, string | number>) => {
      const row = { what, ...figures };
      rows.push({ what, figures: Object.entries(figures).map(([name, value]) => `${value} ${name}`).join(", ") });
      say(`weight: ${JSON.stringify(row)}`);
    };
    add("from a clone to the first prompt read", await timeFirstRead(`${folder.path}/clone`));
    add("the checkout, installed", await installed(`${folder.path}/clone`));
    add("the package, installed", await installPackage(`${folder.path}/clone`, `${folder.path}/app`));
    add("promptledger-client, installed", await installClient(`${folder.path}/clone`, `${folder.path}/page`));
    add("promptledger-client in a page", await weighBundle());
    add("the client for Python", await weighPython());
    await withFreshService("Node", "file", async (stage) => {
      add("a service that idles", await weighService(stage));
      let sent = 0;
      for (const method of ["GET", "POST"] as const) {
        const what = method === "GET" ? "a read" : "a record of 350 bytes, with its call";
        for (
          const [connections, workspaces] of [[1, 1], [options.connections, 1], [options.connections, 50]] as const
        ) {
          const { bytes, requests } = await weighRequests(stage, method, workspaces, { ...options, connections });
          add(`${what}, on ${connections} connections, of ${workspaces} workspaces`, { bytes });
          sent += requests;
        }
      }
      sent += await sendUpTo(stage, million - sent, options);
      add(`a service after ${sent} requests`, await weighService(stage));
      add("1,000 prompts of the client, one after the other, and their records", await countRequests(stage));
    }, { LOG_LEVEL: "warn" });
    return [{ title: "weight", rows }];
  } finally {
    await folder.remove();
  }
}

/** The packages and the MB below a folder, without the history of git. */
async function installed(folder: string): Promise<Record<string, number>> {
  const { packages } = JSON.parse(await readFile(`${folder}/node_modules/.package-lock.json`, "utf8"));
  return { packages: Object.keys(packages).length, MB: round(await kilobytesOf(folder) / 1e3, 1) };
}

/** What a folder takes on the disk. */
const kilobytesOf = async (folder: string): Promise<number> =>
  parseInt(await run(folder, "du", "-sk", "--exclude=.git", ".")) * 1.024;

const seconds = (start: number): number => round((performance.now() - start) / 1_000, 1);

/** Clones this repository, and does what the README says until a prompt is read. */
async function timeFirstRead(clone: string): Promise<Record<string, number>> {
  const start = performance.now();
  await run(".", "git", "clone", "--quiet", pathOf("."), clone);
  await run(clone, "npm", "ci", "--silent");
  const afterInstall = seconds(start);
  const env = { DATABASE_URL: `file:${clone}/weight.db`, PORT: "0" };
  const command = [process.execPath, "--import", "tsx", "src/cli.ts"];
  const service = await startProgram([...command, "serve"], env, /(http:\/\/[\d.]+:\d+)/, clone);
  try {
    const cli = async (...args: string[]) => {
      const options = { cwd: clone, env: { ...process.env, ...env } };
      const { stdout } = await promisify(execFile)(process.execPath, [...command.slice(1), ...args, "--json"], options);
      return JSON.parse(stdout) as Record<string, string>;
    };
    await writeFile(
      `${clone}/assistant.json`,
      JSON.stringify({ title: "Assistant", messages: [{ role: "user", content: "{{question}}" }], llmConfig: {} }),
    );
    await cli("workspace", "create", "--name", "Mine");
    const { key } = await cli("key", "create");
    await cli("prompt", "push", "assistant.json", "--deploy", "production");
    const url = `${service.seen}/v1/prompts?deployId=assistant@production`;
    const { status } = await fetch(url, { headers: { Authorization: `Bearer ${key}` } });
    if (status !== 200) throw new Error(`The first read got ${status}`);
    return { s: seconds(start), "s of them to install": afterInstall };
  } finally {
    await service.stop();
    await rm(`${clone}/weight.db`, { force: true });
  }
}

async function install(tarball: string, folder: string): Promise<number> {
  await mkdir(folder);
  await writeFile(`${folder}/package.json`, `{"private":true,"type":"module"}`);
  const start = performance.now();
  await run(folder, "npm", "install", "--silent", tarball);
  return seconds(start);
}

async function installPackage(clone: string, folder: string): Promise<Record<string, number>> {
  const tarball = `${clone}/${(await run(clone, "npm", "pack", "--silent")).split("\n").at(-1)}`;
  const s = await install(tarball, folder);
  return { "kB packed": round((await stat(tarball)).size / 1e3, 0), ...await installed(folder), s };
}

async function installClient(clone: string, folder: string): Promise<Record<string, number>> {
  const tarball = `${clone}/${(await run(clone, "npm", "run", "--silent", "pack:client")).split("\n").at(-1)}`;
  const s = await install(tarball, folder);
  return {
    "kB packed": round((await stat(tarball)).size / 1e3, 0),
    ...await installed(folder),
    s,
  };
}

/** What every page gets that loads the client. What it loads when it is first used is apart. */
async function weighBundle(): Promise<Record<string, number>> {
  const { outputFiles } = await build({
    ...{ entryPoints: [pathOf("src/client/index.ts")], outdir: "out", bundle: true, minify: true, write: false },
    ...{ splitting: true, format: "esm", target: "es2023", platform: "browser" },
  });
  const { contents } = outputFiles.find(({ path }) => path.endsWith("/index.js"))!;
  const kilobytes = (bytes: Uint8Array) => round(bytes.length / 1e3, 1);
  return { "kB minified": kilobytes(contents), "kB compressed": kilobytes(gzipSync(contents, { level: 9 })) };
}

async function weighPython(): Promise<Record<string, number>> {
  return { packages: 1, kB: round(await kilobytesOf(pathOf("src/client/python/src")), 0) };
}

/** The processes of the service, and its resident memory. */
async function weighService({ pid }: Stage): Promise<Record<string, number>> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "");
  const mebibytes = await memoryOf(pid, "VmRSS");
  return {
    processes: 1 + children.trim().split(/\s+/).filter(Boolean).length,
    "MiB resident": mebibytes ?? NaN,
  };
}

/** Bytes of the database for each request of a load. */
async function weighRequests(
  { url, admin, store }: Stage,
  method: Method,
  workspaces: number,
  options: Options,
): Promise<{ bytes: number; requests: number }> {
  const calls = (await createTenants(admin, workspaces)).map(callOf(method));
  const pages = async () => {
    const sql = "select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()";
    return Number((await admin.database.read({ sql }))[0]!.bytes);
  };
  await warmUp(url, calls, options);
  const before = await pages();
  const { requests, failed } = await load(url, calls, options);
  if (failed > 0) throw new Error(`${failed} requests failed on ${store.kind}`);
  return { bytes: round((await pages() - before) / requests, 1), requests };
}

/** Sends reads until they are as many, or more. */
async function sendUpTo({ url, admin }: Stage, count: number, options: Options): Promise<number> {
  const calls = (await createTenants(admin, 1)).map(callOf("GET"));
  let sent = 0;
  while (sent < count) sent += (await load(url, calls, { ...options, seconds: 10 })).requests;
  return sent;
}

/** What an application that asks for 1,000 prompts, and submits as many records, sends. */
async function countRequests({ url, admin }: Stage): Promise<Record<string, number>> {
  const [tenant] = await createTenants(admin, 1);
  const requests = { prompts: 0, records: 0 };
  const client = createClient({
    url,
    apiKey: tenant!.key,
    fetch: (request: Request) => {
      requests[request.method === "GET" ? "prompts" : "records"]++;
      return fetch(request);
    },
  });
  for (let nth = 0; nth < 1_000; nth++) {
    const prompt = await client.prompt(tenant!.deployId);
    prompt.call({ sessionId: `order-${nth}` }).done({ status: 1, input: "Hello", output: "Hi" });
  }
  await client.close();
  return { "requests for prompts": requests.prompts, "for records": requests.records };
}
