// Chooses some of the records that match, by the index alone: the newest ones, or some at random.
import type { Database } from "../database/database.ts";
import { findLogRange } from "../ledger/blocks.ts";
import { findPositions } from "./diagnoses.ts";
import { scanAll } from "./scan.ts";
import type { ScanOptions } from "./scan.ts";

type Report = (share: number) => void;

/** The positions of the newest records that match, the newest first. */
export async function findNewest(
  database: Database,
  matching: ScanOptions,
  limit: number,
  report: Report | undefined,
): Promise<number[]> {
  const request = { limit, report, isOver: () => false };
  return (await findPositions(database, matching, request)).positions;
}

/**
 * The positions of matching records, chosen and ordered at random with equal probability. The same seed chooses the
 * same ones while the log is unchanged.
 */
export async function findRandom(
  database: Database,
  matching: ScanOptions,
  limit: number,
  seed: number,
  report: Report,
): Promise<number[]> {
  // Chooses those with the least numbers. Only about `limit` of them are held.
  let found: { position: number; order: number }[] = [];
  const cut = () => {
    found.sort((a, b) => a.order - b.order || a.position - b.position);
    found = found.slice(0, limit);
  };
  const range = await findLogRange(database, matching.filter);
  await scanAll(database, matching, range, ({ position }) => {
    found.push({ position, order: orderOf(position, seed) });
    if (found.length >= 2 * limit + 1_000) cut();
  }, report);
  cut();
  return found.map(({ position }) => position);
}

/** A pseudorandom number from 0 to 2^32 - 1. */
const orderOf = (position: number, seed: number): number =>
  mixed(mixed(mixed(seed) ^ Math.floor(position / 2 ** 32)) ^ position);

/** Spreads each bit of a number of 32 bits over all of them (the finalizer of MurmurHash3). */
function mixed(number: number): number {
  let hash = number + 0x9e3779b9 | 0;
  hash = Math.imul(hash ^ hash >>> 16, 0x85ebca6b);
  hash = Math.imul(hash ^ hash >>> 13, 0xc2b2ae35);
  return (hash ^ hash >>> 16) >>> 0;
}
