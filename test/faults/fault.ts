// The type of a fault, and helpers that faults share.
import { send } from "../conformance/http-client.ts";
import { createFolder } from "../conformance/processes.ts";
import type { Runtime } from "../runtimes.ts";
import type { Audit } from "./audit.ts";
import type { Outcomes } from "./load.ts";

export type Report = Audit & { rounds: number; requests: number; figures: string };

export type Fault = {
  rounds: number;
  /** Hits a service on this runtime `rounds` times. `say` reports progress. */
  hit(runtime: Runtime, rounds: number, say: (text: string) => void): Promise<Report>;
};

/** The report of a fault that this machine cannot cause. */
export const skipped = (why: string): Report => ({
  lost: 0,
  doubled: 0,
  faults: [],
  rounds: 0,
  requests: 0,
  figures: `skipped: ${why}`,
});

/** ms that anything may take: it only ends what hangs. */
export const patience = 120_000;

/** Settings of a service that may take any time to stop, or to wait for the one before it. */
export const patientSettings = { SHUTDOWN_TIMEOUT: "3600" };

export const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
export const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;

export const spread = ({ statuses }: Pick<Outcomes, "statuses">) =>
  [...statuses].sort().map(([status, count]) => `${count} × ${status || "broken"}`).join(", ");

/** Runs with a folder that is removed afterwards. */
export async function inFolder<T>(run: (path: string) => Promise<T>): Promise<T> {
  const folder = await createFolder();
  try {
    return await run(folder.path);
  } finally {
    await folder.remove();
  }
}

/** Whether the service answers 503 to /readyz. */
export const isUnready = async (base: string): Promise<boolean> =>
  (await send(base, "/readyz").catch(() => undefined))?.status === 503;

/** Polls until a condition holds. Returns false if it does not within `timeoutMs`. */
export async function becomesTrue(
  holds: () => boolean | Promise<boolean>,
  timeoutMs = patience,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!await holds()) {
    if (performance.now() > deadline) return false;
    await sleep(10);
  }
  return true;
}
