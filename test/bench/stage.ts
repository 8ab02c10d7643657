// What scenarios run on: a store in its own folder, the service on it, and tenants. In the end the ledger is verified.
import { readFile, rm, stat } from "node:fs/promises";
import process from "node:process";
import type { Session } from "../../src/management/kernel/operation.ts";
import { verifyBalanced } from "../balanced.ts";
import { openDatabase } from "../../src/database/file/open.ts";
import { createFolder, startFile, startSqld } from "../conformance/processes.ts";
import { requireSqld } from "../conformance/sqld.ts";
import { createTenant, managementOf } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import type { Runtime } from "../runtimes.ts";
import { methods } from "./load.ts";
import type { Method } from "./load.ts";
import type { Options, StoreKind } from "./options.ts";
import type { Row } from "./tables.ts";

export type Store = { kind: StoreKind; url: string; folder: string };

/** A running service. `admin` manages its database from this process. */
export type Stage = { url: string; pid: number; store: Store; admin: Session; printed(): string };

export const say = (text: string) => void process.stderr.write(`${text}\n`);

/** Makes an empty store, and removes it in the end. */
export async function withStore<T>(kind: StoreKind, use: (store: Store) => Promise<T>): Promise<T> {
  const folder = await createFolder();
  const sqld = kind === "sqld" ? await startSqld(await requireSqld(), folder.path) : undefined;
  try {
    return await use({ kind, url: sqld?.url ?? `file:${folder.path}/ledger.db`, folder: folder.path });
  } finally {
    await sqld?.stop("SIGKILL");
    await folder.remove();
  }
}

let logs = 0;

/** A folder in memory, so that the log does not load the disk of the store. If there is none, the store's own folder. */
const logFolder = ({ folder }: Store) => stat("/dev/shm").then(() => "/dev/shm", () => folder);

/** Starts the service on a store, and stops it in the end. It is an error if the service does not exit with 0. */
export async function withService<T>(
  runtime: Runtime,
  store: Store,
  use: (stage: Stage) => Promise<T>,
  settings: Record<string, string> = {},
): Promise<T> {
  const env = { DATABASE_URL: store.url, PORT: "0", ...settings };
  const logFile = `${await logFolder(store)}/promptledger-bench-${process.pid}-${++logs}.log`;
  const service = await startFile(runtime, "test/bench/service.ts", env, /url=(\S+)/, [], logFile);
  const database = openDatabase(store.url, "manage");
  try {
    const admin = managementOf(database, Date.now);
    const result = await use({ url: service.seen, pid: service.pid, store, admin, printed: service.out });
    const code = await service.stop();
    if (code !== 0) throw new Error(`The service on ${runtime} ended with ${code}`);
    return result;
  } finally {
    const complaints = (await readFile(logFile, "utf8")).match(/^(?!\S+ info ).+$/gm) ?? [];
    if (complaints.length > 0) say(`The service on ${runtime} said: ${complaints.join("\n").slice(0, 2000)}`);
    await rm(logFile);
    database.close();
    await service.stop("SIGKILL");
  }
}

/** Starts the service on a store of its own, and verifies the ledger in the end. */
export const withFreshService = <T>(
  runtime: Runtime,
  kind: StoreKind,
  use: (stage: Stage) => Promise<T>,
  settings: Record<string, string> = {},
): Promise<T> =>
  withStore(kind, async (store) => {
    const result = await withService(runtime, store, use, settings);
    const database = openDatabase(store.url, "manage");
    try {
      await verifyBalanced(managementOf(database, Date.now));
    } finally {
      database.close();
    }
    return result;
  });

/** The processor time of a process in µs, to the nearest 10,000. Linux only. */
export async function cpuTime(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** Makes workspaces with a key and a deployment each. */
export async function createTenants(
  admin: Session,
  number: number,
  monthlyLimit = Number.MAX_SAFE_INTEGER,
): Promise<Tenant[]> {
  const tenants: Tenant[] = [];
  while (tenants.length < number) tenants.push(await createTenant(admin, monthlyLimit));
  return tenants;
}

/** Makes a row for each runtime, store and method. `name` is the scenario, for the progress. */
export async function rowsOf(
  name: string,
  { runtimes, stores }: Options,
  measure: (runtime: Runtime, store: StoreKind, method: Method) => Promise<Row | Row[]>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const runtime of runtimes) {
    for (const store of stores) {
      for (const method of methods) {
        say(`${name}: ${runtime}, ${method} on ${store}`);
        rows.push(...[await measure(runtime, store, method)].flat());
      }
    }
  }
  return rows;
}
