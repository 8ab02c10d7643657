// How far two authors agree on the records that both judged.
import type { Database } from "../database/database.ts";
import type { FeedbackValue } from "../schema/feedback.ts";
import { findLogRange } from "./blocks.ts";
import { scanAll } from "./scan.ts";
import type { ScanOptions } from "./scan.ts";

/** How many records both authors judged, on how many they gave the same value, and Cohen's kappa, which may be undefined. */
export type Agreement = { records: number; agreed: number; kappa: number | undefined };

/** Compares what two authors gave under a name. The feedback must be read with its authors. */
export async function findAgreement(
  database: Database,
  matching: ScanOptions,
  name: string,
  authors: readonly [string, string],
  report: (share: number) => void,
): Promise<Agreement> {
  const counts = authors.map(() => new Map<FeedbackValue, number>());
  let records = 0, agreed = 0;
  const range = await findLogRange(database, matching.filter);
  await scanAll(database, matching, range, ({ feedback }) => {
    const values = authors.map((author) =>
      feedback.find((piece) => piece.name === name && piece.author === author)?.value
    );
    const [one, other] = values;
    if (one === undefined || other === undefined) return;
    records++;
    if (one === other) agreed++;
    for (const [nth, value] of values.entries()) counts[nth]!.set(value!, (counts[nth]!.get(value!) ?? 0) + 1);
  }, report);
  return { records, agreed, kappa: kappaOf(records, agreed, counts[0]!, counts[1]!) };
}

/** Cohen's kappa: the agreement beyond that of chance. Undefined if both gave one value alone, or nothing. */
function kappaOf(
  records: number,
  agreed: number,
  one: Map<FeedbackValue, number>,
  other: Map<FeedbackValue, number>,
): number | undefined {
  let products = 0;
  for (const [value, count] of one) products += count * (other.get(value) ?? 0);
  const observed = agreed / records, expected = products / records ** 2;
  return records === 0 || expected === 1 ? undefined : (observed - expected) / (1 - expected);
}
