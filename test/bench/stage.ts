// What a scenario runs on: a store in a folder of its own, the service on it, tenants, and the check of the books.
import { readFile } from "node:fs/promises";
import process from "node:process";
import { verify } from "../../src/admin/records.ts";
import type { Admin } from "../../src/admin/workspaces.ts";
import { openDatabase } from "../../src/store/open.ts";
import { createFolder, startFile, startSqld } from "../conformance/processes.ts";
import { findSqld } from "../conformance/sqld.ts";
import { createTenant } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import type { Runtime } from "../runtimes.ts";
import type { StoreKind } from "./options.ts";

export type Store = { kind: StoreKind; url: string; folder: string };

/** A started service. `pid` is that of its process, `admin` works on its database beside it. */
export type Stage = { url: string; pid: number; store: Store; admin: Admin; printed(): string };

export const say = (text: string) => void process.stderr.write(`${text}\n`);

/** Hands out an empty store, and removes it in the end. */
export async function withStore<T>(kind: StoreKind, use: (store: Store) => Promise<T>): Promise<T> {
  const folder = await createFolder();
  const sqld = kind === "sqld" ? await startSqld(await sqldBinary(), folder.path) : undefined;
  try {
    return await use({ kind, url: sqld?.url ?? `file:${folder.path}/ledger.db`, folder: folder.path });
  } finally {
    await sqld?.stop("SIGKILL");
    await folder.remove();
  }
}

async function sqldBinary(): Promise<string> {
  const found = await findSqld();
  if ("missing" in found) throw new Error(`${found.missing}; --store file does without`);
  return found.binary;
}

/** Starts the service on a store, and stops it in the end; a service that does not stop properly is an error. */
export async function withService<T>(
  runtime: Runtime,
  store: Store,
  use: (stage: Stage) => Promise<T>,
  settings: Record<string, string> = {},
): Promise<T> {
  const env = { DATABASE_URL: store.url, PORT: "0", ...settings };
  const service = await startFile(runtime, "test/bench/service.ts", env, /url=(\S+)/);
  const database = openDatabase(store.url, "manage");
  try {
    const admin = { database, clock: Date.now };
    const result = await use({ url: service.seen, pid: service.pid, store, admin, printed: service.out });
    const code = await service.stop();
    if (code !== 0) throw new Error(`The service on ${runtime} ended with ${code}`);
    return result;
  } finally {
    const complaints = service.said().trim();
    if (complaints !== "") say(`The service on ${runtime} said: ${complaints.slice(0, 2000)}`);
    database.close();
    await service.stop("SIGKILL");
  }
}

/** The service on a store of its own, whose books must balance in the end. */
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
      await checkBooks({ database, clock: Date.now });
    } finally {
      database.close();
    }
    return result;
  });

/** Throws unless the books balance. */
export async function checkBooks(admin: Admin): Promise<void> {
  const { balanced, ledgers } = await verify(admin);
  if (balanced) return;
  const wrong = ledgers.filter(({ balanced }) => !balanced).slice(0, 5);
  throw new Error(`The books do not balance: ${JSON.stringify(wrong)}`);
}

/** Makes workspaces with a key and a deployment each. */
export async function createTenants(
  admin: Admin,
  number: number,
  monthlyLimit = Number.MAX_SAFE_INTEGER,
): Promise<Tenant[]> {
  const tenants: Tenant[] = [];
  while (tenants.length < number) tenants.push(await createTenant(admin, monthlyLimit));
  return tenants;
}

/** Memory of a process in MiB, now or at its highest; null where the system does not tell. */
export async function memoryOf(pid: number, name: "VmRSS" | "VmHWM"): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const [, kib] = new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status) ?? [];
  return kib === undefined ? null : Math.round(Number(kib) / 1024);
}
