// What a host's checks run on: the host as a process of its own on a database of its own, with records to export.
import { copyFile } from "node:fs/promises";
import process from "node:process";
import { migrate } from "../../src/migrate.ts";
import { serveDatabase } from "../../src/service/service.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { usedIn } from "../balanced.ts";
import { openConnection, send, serialize } from "../conformance/http-client.ts";
import type { Connection, HttpRequest } from "../conformance/http-client.ts";
import { createFolder, startFile, startSqld, until } from "../conformance/processes.ts";
import type { Running } from "../conformance/processes.ts";
import { startWorker } from "../conformance/workerd.ts";
import { adminToken, createTenant, goodBody, managementOf } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { currentRuntime } from "../runtimes.ts";
import type { Host } from "./hosts.ts";
import { limitsOf } from "./limits.ts";

export type Stage = Tenant & {
  host: Host;
  url: string;
  /** Everything the host printed so far. */
  output(): string;
  /** The targets of a read, a submit and an export. */
  targets: { read: string; submit: string; export: string };
  open(): Connection;
  /** Sends one request on a connection of its own, with the tenant's key unless other headers are given. */
  send(target: string, request?: HttpRequest): Promise<{ status: number; headers: Map<string, string>; text: string }>;
  /** The bytes of a request that leaves the connection open. */
  bytesOf(target: string, request?: HttpRequest): Uint8Array;
  /** How many requests are being answered. */
  countInFlight(): Promise<number>;
  /** Begins to look for a request whose route ends so: whether it is in flight, or has been answered in any way. */
  isArriving(route: string): Promise<() => Promise<boolean>>;
  /** Has the service closed, and resolves when `Closing` or `Closed` is printed. */
  close(): { begun: Promise<void>; done: Promise<void> };
  /** Why the host ended, if it has. */
  ended(): string | undefined;
  /** How much of the quota is used, by ledgers that balance. */
  countUsed(): Promise<number>;
  /** Ends the host, and says how it has ended, if it had before. */
  stop(): Promise<string | undefined>;
};

/**
 * With `isHasty` the service gives little time, as some hosts show it no other end of a request. With `closes` it closes the
 * service, so that the host is not used after it. With `counts` it looks at what is in flight, which is not counted on Workers.
 */
export type Check = {
  name: string;
  run(stage: Stage): Promise<void>;
  isHasty?: boolean;
  closes?: boolean;
  counts?: boolean;
};

const recordsToExport = 1024;
const recordsAtOnce = 64;
const recordLength = 16_384; // more than 16 MB in all: more than a connection takes in before anyone reads

/** Makes a database with a tenant and records. */
async function fill(url: string): Promise<Tenant> {
  await migrate(url);
  const database = openDatabase(url, "serve");
  const tenant = await createTenant(managementOf(database, Date.now), 1e9);
  const service = serveDatabase(database, limitsOf(false));
  const body = JSON.stringify({ ...goodBody, content: { input: "x".repeat(recordLength) } });
  const target = `http://ledger.test/v1/diagnosis?deployId=${tenant.deployId}`;
  const headers = { Authorization: `Bearer ${tenant.key}` };
  for (let count = 0; count < recordsToExport; count += recordsAtOnce) {
    await Promise.all(Array.from({ length: recordsAtOnce }, async () => {
      const { status } = await service.fetch(new Request(target, { method: "POST", headers, body }));
      if (status !== 201) throw new Error(`A record was answered ${status}`);
    }));
  }
  await service.close();
  return tenant;
}

/** Makes what all hosts of a test file start with. */
export async function createStages(sqld: string | undefined) {
  const folder = await createFolder();
  const tenant = await fill(`file:${folder.path}/filled.db`);
  let started = 0;

  async function open(host: Host, isHasty: boolean): Promise<Stage> {
    const name = `${folder.path}/${++started}`;
    const IS_HASTY = String(isHasty);
    if (host.isWorker) return openWorker(host, name, sqld!, IS_HASTY);
    await copyFile(`${folder.path}/filled.db`, `${name}.db`);
    const settings = { DATABASE_URL: `file:${name}.db`, ADMIN_TOKEN: adminToken, IS_HASTY };
    const child = await startFile(currentRuntime, `test/hosts/${host.file}.ts`, settings, mounted);
    return stageOf(host, child.seen, child, tenant, settings.DATABASE_URL);
  }
  return { open, remove: folder.remove };
}

const mounted = /Mounted on (http\S+)/;
/** Starts the Worker on workerd itself, which has a libSQL server for its database. */
async function openWorker(host: Host, name: string, sqld: string, IS_HASTY: string): Promise<Stage> {
  const server = await startSqld(sqld, `${name}.data`);
  const tenant = await fill(server.url);
  const bindings = { DATABASE_URL: server.url, ADMIN_TOKEN: adminToken, IS_HASTY };
  const child = await startWorker(`test/hosts/${host.file}.ts`, name, bindings);
  const stage = stageOf(host, `${child.url}/llm`, child, tenant, server.url);
  return {
    ...stage,
    async stop() {
      const end = await stage.stop();
      await server.stop("SIGKILL");
      return end;
    },
  };
}

type Child = Pick<Running, "pid" | "output" | "stop"> & { ended: Promise<number | string> };

function stageOf(host: Host, url: string, child: Child, tenant: Tenant, databaseUrl: string): Stage {
  const path = new URL(url).pathname.replace(/\/$/, "");
  const { deployId } = tenant;
  const keyed = [`Authorization: Bearer ${tenant.key}`];
  const describe = (end: number | string) => `the host ended with ${end}: ${child.output().slice(-2000)}`;
  let end: number | string | undefined;
  void child.ended.then((code) => end = code);

  const printed = (text: string) => until(() => child.output().includes(text));
  async function readMetric(pattern: RegExp): Promise<number> {
    const { text } = await send(url, `${path}/metrics`, { headers: [`Authorization: Bearer ${adminToken}`] });
    return [...text.matchAll(pattern)].reduce((sum, [, value]) => sum + Number(value), 0);
  }

  // The request that asks is in flight itself.
  const countInFlight = async () => await readMetric(/^promptledger_http_requests_in_flight (\d+)$/gm) - 1;

  return {
    ...tenant,
    host,
    url,
    output: child.output,
    targets: {
      read: `${path}/v1/prompts?deployId=${deployId}`,
      submit: `${path}/v1/diagnosis?deployId=${deployId}`,
      export: `${path}/admin/v1/deployments/${deployId}/diagnoses/export`,
    },
    open: () => openConnection(url),
    send: (target, request) => send(url, target, { headers: keyed, ...request }),
    bytesOf: (target, request) => serialize(url, target, { headers: keyed, ...request }, "keep-alive"),
    countInFlight,
    async isArriving(route) {
      const count = () => readMetric(new RegExp(`^promptledger_http_requests_total\\{.*${route}".*\\} (\\d+)$`, "gm"));
      const before = await count();
      return async () => await countInFlight() > 0 || await count() > before;
    },
    close() {
      process.kill(child.pid, "SIGUSR2");
      return { begun: printed("Closing"), done: printed("Closed") };
    },
    ended: () => end === undefined ? undefined : describe(end),
    countUsed: () => usedIn(databaseUrl),
    async stop() {
      const code = await child.stop("SIGKILL");
      return code === "SIGKILL" ? undefined : describe(code);
    },
  };
}
