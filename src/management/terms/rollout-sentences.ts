// Sentences about the statistics of a rollout. They name no winner: the reader decides if more is better.
import type { ArmDifference } from "../../tallies/arm-differences.ts";

type Ratio = { base: number; candidate: number; expected: number; p: number };

const minus = (text: string) => text.replace("-", "−");
const short = (value: number) => minus(String(Number(value.toPrecision(3))));
const wholes = (value: number) => Math.round(value).toLocaleString("en-US");

/** Least p-value of a division that passes as chance. */
const leastRatio = 0.001;

const isDivided = ({ p }: Ratio): boolean => p >= leastRatio;

/** Compares the division of calls with the share. */
export function describeRatio(ratio: Ratio): string {
  const { base, candidate, expected, p } = ratio;
  const sessions = base + candidate;
  if (sessions === 0) return "No session has begun yet";
  const counts = `${wholes(candidate)} of ${wholes(sessions)} sessions began with the candidate`;
  const usual = `about ${wholes(expected)} ${Math.round(expected) === 1 ? "is" : "are"} expected at its share`;
  return isDivided(ratio)
    ? `${counts}; ${usual}`
    : `${counts}, but ${usual} (p ${p < 1e-6 ? "< 0.000001" : `= ${short(p)}`}). The callers are not divided as the ` +
      "share says, so the differences may have other causes. See whether one version loses records, or whether a few keys " +
      "have most of the calls";
}

/** Name of a measure in a sentence. */
export function measureName({ measure, name, label }: Pick<ArmDifference, "measure" | "name" | "label">): string {
  if (measure !== "feedback") return measure;
  return label === null ? name! : `${name} ${label}`;
}

/** A difference with its unit: `−1.2 points`, `20 %`. */
export function amountText(value: number, unit: ArmDifference["unit"]): string {
  if (unit === "value") return short(value);
  return `${short(100 * value)} ${unit === "points" ? "points" : "%"}`;
}

const isShown = ({ sequence }: ArmDifference): boolean => sequence !== null && (sequence.low > 0 || sequence.high < 0);

/** Describes a difference. */
export function describeDifference(found: ArmDifference): string {
  const { unit, difference, sequence, needed } = found;
  if (difference === null) return "Too few records to compare";
  if (sequence === null) {
    return `${amountText(difference, unit)} so far. These records cannot tell it from chance`;
  }
  const range = `${amountText(sequence.low, unit)} to ${amountText(sequence.high, unit)}`;
  const more = needed === null || needed === 0
    ? ""
    : `. About ${wholes(needed)} more records are needed to see the given difference`;
  return isShown(found)
    ? `${amountText(difference, unit)}, which is more than chance: ${range} at 95 %, however often someone looks`
    : `No difference that these records can show: ${range} at 95 %${more}`;
}

const shown = (differences: ArmDifference[]): string =>
  differences.map((found) => `${measureName(found)} ${amountText(found.difference!, found.unit)}`).join(", ");

/** Summary of the records of a rollout. */
export function summarize(records: number, differences: ArmDifference[], ratio: Ratio): string {
  if (records === 0) return "No record of this rollout yet";
  const clear = differences.filter((found) => found.difference !== null && isShown(found));
  const found = clear.length === 0
    ? `No difference that these ${wholes(records)} records can show`
    : `The candidate differs from the base in ${shown(clear)}`;
  return isDivided(ratio) ? found : `${found}. The callers are not divided as the share says: see the sample ratio`;
}
