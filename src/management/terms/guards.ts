// The guard of a rollout: limits that the candidate must not be beyond, such as `failures=+2%,p95=+20%,thumb=-5%`.
import { bounds } from "../../support/bounds.ts";
import { invalidField } from "../../common/errors.ts";
import type { ArmDifference } from "../../tallies/arm-differences.ts";
import { nullable, option, orNull, predicate } from "../../schema/struct.ts";
import type { FeedbackKind } from "../../schema/feedback.ts";
import { findKind, limitedPattern, readLimited, spaced, typedLimit } from "./limits.ts";
import type { Limited } from "./limits.ts";
import { amountText, measureName } from "./rollout-sentences.ts";

const measures = ["failures", "latency", "p95", "tokens", "cost"];
const amount = String.raw`\d{1,9}(?:\.\d{1,6})?`;
const condition = `${limitedPattern}=[+-]${amount}%?`;
const maxConditions = bounds.limitsOfGuard;
const words = `up to ${maxConditions} limits, as in failures=+2%,p95=+20%,thumb=-5%`;
const areFew = (value: string) => value.split(",").length <= maxConditions;

const conditions = typedLimit(words, `${condition}(,${condition})*`, 1000, [], {}, areFew);

const typed = spaced(limitedPattern, "=", "[+-]") + amount + spaced("%?");
const conditionsInput = typedLimit(
  words,
  `${typed}(,${typed})*`,
  2000,
  [
    [/=\s*\d/, "Each limit has + or - before its number"],
    [/[<>]/, "Each limit has = and a sign"],
  ],
  {},
  areFew,
);

const certain = predicate<number>(
  "a number from 50 to 99.99",
  (value) => typeof value === "number" && value >= 50 && value <= 99.99,
  { type: "number", minimum: 50, maximum: 99.99 },
);

/** Input members of an operation that sets a guard. */
export const guardInput = {
  guard: option(
    nullable(conditionsInput),
    "Limits beyond which the service stops the rollout, as in failures=+2%,p95=+20%,thumb=-5%. Failures and boolean " +
      "feedback are in points, latency, p95, tokens and cost in percent of the base, and numeric feedback has no %. " +
      "Null removes it. Default: the current guard, or none",
  ),
  certain: option(
    certain,
    "Confidence required that a limit is exceeded, in percent, for all limits and all checks together",
    { default: 99 },
  ),
};

/** Guard members of a rollout. */
export const guardMembers = {
  guard: orNull(conditions, "The limits beyond which the service stops it, or null without a guard"),
  certain: orNull(certain, "Confidence required that a limit is exceeded, in percent, or null without a guard"),
};

type Limit = Limited & { sign: 1 | -1; limit: number; isPercent: boolean };

const readLimits = (guard: string): Limit[] =>
  guard.split(",").map((text) => {
    const [, limited, sign, digits, percent] = /^([^=]+)=([+-])([^%]+)(%?)$/.exec(text)!;
    const isPercent = percent === "%", amount = Number(`${sign}${digits}`);
    return {
      ...readLimited(text, limited!, measures),
      sign: sign === "+" ? 1 : -1,
      limit: isPercent ? amount / 100 : amount,
      isPercent,
    };
  });

/** Throws if the unit of a limit does not fit its measure. `names` has the kinds of known feedback. */
export function requireUnits(guard: string, names: { name: string; kind: FeedbackKind }[]): void {
  for (const limit of readLimits(guard)) {
    const { isFeedback, isPercent, text } = limit, kind = findKind(limit, names, "A guard");
    if (isPercent ? kind === "number" : !isFeedback || kind === "boolean") {
      throw invalidField("guard", `The limit ${text} must be ${isPercent ? "without" : "in"} %`);
    }
  }
}

/** The names of the feedback that is limited. */
export const feedbackIn = (guard: string): string[] =>
  readLimits(guard).flatMap(({ name, isFeedback }) => isFeedback ? [name] : []);

/** The probability of error of each sequence. */
export const levelOf = (guard: string, certain: number): number => (1 - certain / 100) / readLimits(guard).length;

/** Describes the first difference that is beyond a limit. Undefined if none is. */
export function findCrossed(guard: string, differences: ArmDifference[]): string | undefined {
  for (const { name, isFeedback, sign, limit, isPercent, text } of readLimits(guard)) {
    const found = differences.find(({ measure, name: own, label }) =>
      label === null && (isFeedback ? own === name : measure === name)
    );
    if (!found?.sequence || found.difference === null || isPercent === (found.unit === "value")) continue;
    const { low, high } = found.sequence;
    // A difference of rounded numbers that is exactly at the limit may be beyond it in the last digit.
    const farthest = limit + sign * 1e-9 * Math.abs(limit);
    if (sign > 0 ? low <= farthest : high >= farthest) continue;
    const [from, to] = [low, high].map((end) => amountText(end, found.unit));
    return `${measureName(found)} ${amountText(found.difference, found.unit)} (${from} to ${to}), beyond ${text}`;
  }
  return undefined;
}
