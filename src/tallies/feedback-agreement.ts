// Agreement of two authors on the records that both judged.
import type { Database } from "../database/database.ts";
import { findLogRange } from "../ledger/blocks.ts";
import { mostFrequent } from "./feedback-tally.ts";
import { scanAll } from "../log/scan.ts";
import type { ScanOptions } from "../log/scan.ts";

/**
 * Number of records that both authors judged, number with the same value, and Cohen's kappa, which may be undefined.
 */
export type Agreement = { records: number; agreed: number; kappa: number | undefined };

const maxValues = 20_000; // of an author that are counted separately. The rare ones beyond hardly agree by chance

/** Compares what two authors gave, who are those whose feedback is read. */
export async function findAgreement(
  database: Database,
  matching: ScanOptions,
  report: (share: number) => void,
): Promise<Agreement> {
  const counts = [new Map<number, number>(), new Map<number, number>()];
  let records = 0, agreed = 0;
  const range = await findLogRange(database, matching.filter);
  await scanAll(database, matching, range, ({ voices: [one, other] }) => {
    if (one === undefined || other === undefined) return;
    records++;
    if (one === other) agreed++;
    for (const [nth, value] of [one, other].entries()) {
      const own = counts[nth]!.set(value, (counts[nth]!.get(value) ?? 0) + 1);
      if (own.size > maxValues) counts[nth] = mostFrequent(own, maxValues / 2);
    }
  }, report);
  return { records, agreed, kappa: kappaOf(records, agreed, counts[0]!, counts[1]!) };
}

/** Cohen's kappa: the agreement beyond chance. Undefined if both gave only one value, or nothing. */
function kappaOf(
  records: number,
  agreed: number,
  one: Map<number, number>,
  other: Map<number, number>,
): number | undefined {
  let products = 0;
  for (const [value, count] of one) products += count * (other.get(value) ?? 0);
  const observed = agreed / records, expected = products / records ** 2;
  return records === 0 || expected === 1 ? undefined : (observed - expected) / (1 - expected);
}
