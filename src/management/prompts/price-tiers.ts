// Tiers of prices as people write them: `above=200000 input=4 cached-input=0.4 output=12`.
import { invalidField } from "../../common/errors.ts";
import type { GivenTier, PriceTier } from "./prices.ts";

/** Members by their names in the text. */
const members = {
  above: "above",
  hours: "hours",
  input: "input",
  "cached-input": "cachedInput",
  "cache-write": "cacheWrite",
  "cache-write-hour": "cacheWriteHour",
  output: "output",
} as const;

/** Reads a tier. The operation checks its values. */
export function readTier(text: string): GivenTier {
  const tier: Record<string, string | number> = {};
  for (const part of text.trim().split(/\s+/)) {
    const [, name = part, value = ""] = /^([^=]*)=(.*)$/.exec(part) ?? [];
    if (!Object.hasOwn(members, name)) {
      const allowed = Object.keys(members).join(", ");
      throw invalidField("tiers", `Unknown ${name} in a tier. Allowed: ${allowed}, each with = and a value`);
    }
    const member = members[name as keyof typeof members];
    tier[member] = member === "above" && /^\d+$/.test(value) ? Number(value) : value;
  }
  return tier as GivenTier;
}

/** The text of a tier. */
export const tierText = (tier: PriceTier): string =>
  Object.entries(members).flatMap(([name, member]) => tier[member] === null ? [] : `${name}=${tier[member]}`).join(" ");
