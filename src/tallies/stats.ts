// Statistics of records, by version and over time. They use the index alone, unless a filter searches documents.
import type { Database } from "../database/database.ts";
import { findLogRange } from "../ledger/blocks.ts";
import { createCounter } from "./counting.ts";
import type { Counted, Division } from "./counting.ts";
import { countKept, isKept } from "./kept-tallies.ts";
import type { KeptTallies } from "./kept-tallies.ts";
import { scanAll } from "../log/scan.ts";
import type { ScanOptions } from "../log/scan.ts";

/** The database with the records, and the cached tallies, if the process keeps them. */
export type CountSource = { database: Database; kept?: KeptTallies | undefined };

/** Counts the records that match. `report` gets the progress, from 0 to 1. */
export async function countRecords(
  { database, kept }: CountSource,
  matching: ScanOptions,
  division: Division,
  report: (share: number) => void,
): Promise<Counted> {
  const counter = createCounter(division);
  const range = matching.range ?? await findLogRange(database, matching.filter);
  const reportCounted = (share: number) => {
    counter.checkSize();
    report(share);
  };
  if (kept === undefined || !isKept(matching)) await scanAll(database, matching, range, counter.visit, reportCounted);
  else await countKept(database, kept, { matching, division, range }, counter, reportCounted);
  return counter.finish();
}
