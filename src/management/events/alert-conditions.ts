// The condition of an alert, such as `failures>5%`: a measure, the side of the limit, the limit and its unit.
import { dollarText } from "../../support/dollars.ts";
import { invalidField } from "../../common/errors.ts";
import type { FeedbackKind } from "../../schema/feedback.ts";
import type { RecordStats } from "../../schema/ledger.ts";
import * as v from "../../schema/values.ts";
import { findKind, limitedPattern, readLimited, spaced, typedLimit } from "../terms/limits.ts";
import type { Limited } from "../terms/limits.ts";
import { requireFailures } from "../kernel/statuses.ts";
import type { StatusName } from "../kernel/statuses.ts";

/** A measure in statistics: a number, and the number of its records. Null without one. */
type Reading = { value: number | null; records: number };

/** Counts in the window of an alert. `reads` is 0 if no alert needs it. */
export type Counts = { stats: RecordStats; reads: number };

/** Total over all records or calls, of which it needs none. */
type Total = (counts: Counts) => number;
/** Per-record value: a mean, a percentile or a share. */
type Typical = (stats: RecordStats) => Reading;
type Measure = { total?: Total; typical?: Typical; kind: "share" | "time" | "USD" | "count" };

const latencyOf = (member: "mean" | "p50" | "p95" | "p99"): Measure => ({
  kind: "time",
  typical: ({ latency }) => ({ value: latency[member], records: latency.records }),
});

const measures: Readonly<Record<string, Measure>> = {
  failures: { kind: "share", typical: ({ failures, records }) => ({ value: failures?.share ?? null, records }) },
  latency: latencyOf("mean"),
  p50: latencyOf("p50"),
  p95: latencyOf("p95"),
  p99: latencyOf("p99"),
  cost: {
    kind: "USD",
    total: ({ stats }) => Number(stats.cost.total),
    typical: ({ cost: { mean, records } }) => ({ value: mean === null ? null : Number(mean), records }),
  },
  tokens: {
    kind: "count",
    total: ({ stats: { tokens } }) => tokens.prompt + tokens.completion,
    typical: ({ tokens: { mean, records } }) => ({ value: mean, records }),
  },
  records: { kind: "count", total: ({ stats }) => stats.records },
  reads: { kind: "count", total: ({ reads }) => reads },
};
const names = Object.keys(measures);

const number = String.raw`-?\d{1,12}(?:\.\d{1,9})?`, units = "%|ms|s|m|/record";
const pattern = String.raw`^(${limitedPattern})([<>])(${number})(${units})?$`;
const examples = ["failures>5%", "p95>4s", "cost>0.02/record", "thumb<80%", "records<1"];
const words = "a measure, > or <, and a limit with its unit, as in failures>5%, p95>4s, cost>1, thumb<80% or records<1";

export const condition = v.matching(words, pattern, { examples });

const typed = `(?:${spaced("cost", "[<>]", "[$]?")}|${spaced(limitedPattern, "[<>]")})${number}${
  spaced(`(?:${units})?`)
}`;

export const conditionInput = typedLimit(words, typed, 300, [
  [/[<>]\s*=|[≤≥=]/, "Only < and > compare"],
  [/[$]/, "Only cost is in $"],
], { examples });

/** A condition in its parts. `limit` is a share from 0 to 1, or in ms, USD or whatever the measure counts. */
export type Condition = Limited & { isAbove: boolean; limit: number; unit: string };

const toLimit: Readonly<Record<string, (digits: string) => number>> = {
  "%": (digits) => Number(`${digits}e-2`),
  ms: Number,
  s: (digits) => Number(`${digits}e3`),
  m: (digits) => 60 * Number(`${digits}e3`),
};

/** Reads a condition that fits its pattern. */
export function readCondition(text: string): Condition {
  const [, limited, comparison, digits, unit = ""] = new RegExp(pattern).exec(text)!;
  const limit = (toLimit[unit] ?? Number)(digits!);
  return { ...readLimited(text, limited!, names), isAbove: comparison === ">", limit, unit };
}

const measureOf = ({ name, isFeedback }: Condition): Measure | undefined => isFeedback ? undefined : measures[name];

/** True if it is a total over all records or calls: then having none is still data. */
export const isTotal = (condition: Condition): boolean =>
  condition.unit === "" && measureOf(condition)?.total !== undefined;

/** True if it may hold because nothing happens: a whole window must have passed before. */
export const isSilence = (condition: Condition): boolean => isTotal(condition) && !condition.isAbove;

export const needsReads = ({ name, isFeedback }: Condition): boolean => !isFeedback && name === "reads";

/** Throws if the measure does not exist, or the limit has the wrong unit. `feedback` has the known names. */
export function requireSuited(
  condition: Condition,
  feedback: readonly { name: string; kind: FeedbackKind }[],
  statuses: StatusName[],
): void {
  const { name, isFeedback, unit, limit, text } = condition, measure = measureOf(condition);
  if (name === "failures" && !isFeedback) requireFailures(statuses);
  const feedbackKind = findKind(condition, feedback, "An alert");
  if (isFeedback && feedbackKind === undefined && !text.startsWith("feedback.")) {
    throw refused(
      `There is no measure or feedback ${name}. Measures are ${
        names.join(", ")
      }. For feedback to come, write feedback.${text}`,
    );
  }
  const { units, words } = measure === undefined ? feedbackUnits[feedbackKind ?? "unknown"] : unitsOf(measure);
  if (!units.includes(unit)) throw refused(`The limit of ${text} must be ${words}`);
  if (unit === "%" && (limit < 0 || limit > 1)) throw refused(`The limit of ${text} must be from 0 to 100 %`);
  if (measure !== undefined && limit < 0) throw refused(`The limit of ${text} must be at least 0`);
}

const refused = (message: string) => invalidField("condition", message);

type Units = { units: string[]; words: string };

const feedbackUnits: Readonly<Record<"boolean" | "number" | "unknown", Units>> = {
  boolean: { units: ["%"], words: "in %, the share of true" },
  number: { units: [""], words: "a number without a unit" },
  unknown: { units: ["%", ""], words: "in % for booleans, or a number without a unit" },
};

function unitsOf({ kind, typical }: Measure): Units {
  if (kind === "share") return { units: ["%"], words: "in %" };
  if (kind === "time") return { units: ["ms", "s", "m"], words: "in ms, s or m" };
  return typical === undefined
    ? { units: [""], words: "a number without a unit" }
    : { units: ["", "/record"], words: "a number, in total or /record" };
}

/** Value of the measure in the counts. */
export function readMeasure(condition: Condition, counts: Counts): Reading {
  const measure = measureOf(condition), { stats, reads } = counts;
  if (measure !== undefined) {
    const { total, typical } = measure;
    if (isTotal(condition)) return { value: total!(counts), records: needsReads(condition) ? reads : stats.records };
    return typical!(stats);
  }
  const found = stats.feedback.find(({ name }) => name === condition.name);
  if (found === undefined) return { value: null, records: 0 };
  return { value: condition.unit === "%" ? found.share : found.mean, records: found.records };
}

/** True if a value is beyond the limit. */
export const isBeyond = ({ isAbove, limit }: Condition, value: number): boolean =>
  isAbove ? value > limit : value < limit;

/** A value for people: `12.5 %`, `2.5 s`, `$1.20`. */
export function valueText(condition: Condition, value: number): string {
  const { unit } = condition, kind = measureOf(condition)?.kind;
  const short = (value: number) => Number(value.toPrecision(4)).toLocaleString("en-US", { maximumFractionDigits: 9 });
  if (unit === "%") return `${short(100 * value)} %`;
  if (kind === "time") return value < 1000 ? `${short(value)} ms` : `${short(value / 1000)} s`;
  return `${kind === "USD" ? dollarText(value) : short(value)}${unit}`;
}
