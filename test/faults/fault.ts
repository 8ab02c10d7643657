// What a fault is, and what those that hit a service have in common.
import { createFolder } from "../conformance/processes.ts";
import type { Runtime } from "../runtimes.ts";
import type { Audit } from "./books.ts";
import type { Outcomes } from "./load.ts";

export type Report = Audit & { rounds: number; requests: number; figures: string };

export type Fault = {
  rounds: number;
  /** Hits a service on this runtime so many times; `say` tells of progress. */
  hit(runtime: Runtime, rounds: number, say: (text: string) => void): Promise<Report>;
};

/** Where a fault cannot be had on this machine. */
export const skipped = (why: string): Report => ({
  lost: 0,
  doubled: 0,
  faults: [],
  rounds: 0,
  requests: 0,
  figures: `skipped: ${why}`,
});

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

/** Asks until the answer is yes; false where it is not within so many ms. */
export async function becomesTrue(ask: () => boolean | Promise<boolean>, patience: number): Promise<boolean> {
  const deadline = performance.now() + patience;
  while (!await ask()) {
    if (performance.now() > deadline) return false;
    await sleep(10);
  }
  return true;
}
