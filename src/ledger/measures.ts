// Measures of a record for statistics, other than its status: latency, tokens, model and cost. They are read from the
// record when it is stored, and again by `reindex`. src/http/README.md has the rule in words.
import { isObject } from "../schema/struct.ts";
import { readTokenUsage } from "./token-usage.ts";
import type { TokenUsage } from "./token-usage.ts";

type Values = Record<string, unknown>;

const maxHolders = 50; // objects of a record that are searched for tokens

const none: TokenUsage = {
  ...{ input: null, output: null, cached: 0, written: 0, writtenHour: 0, media: 0, charge: "" },
};

/** The tokens of a record, from the first object with unambiguous ones. */
function findTokens(holders: unknown[]): TokenUsage {
  for (const holder of holders.filter(isObject).slice(0, maxHolders)) {
    const usage = readTokenUsage(holder);
    if (usage !== undefined) return usage;
  }
  return none;
}

/**
 * The JSON text of a name, empty if it is too long for one. The index of the records reads a name without escapes from
 * the document, to store it only once: `mark`, which does not occur in JSON, replaces it.
 */
const toName = (name: unknown, mark: "\t" | "\n") =>
  typeof name === "string" && name.length <= 200 ? JSON.stringify(name).replace(/^"[^\\]+"$/, mark) : '""';

/**
 * The column `measures` of a record: the inside of a JSON array with latency in ms, input and output tokens, each null
 * if absent. An array of rarer measures follows: cached input tokens, model, provider, the cost in USD as a decimal
 * text, input tokens written to a cache, those for an hour, media, and the cost that the provider reports. Empty
 * members at its end are omitted. `value` is the record, and `members` has the JSON text of each member.
 */
export function measuresOf(value: Values, members: Map<string, string>): string {
  const { latency, startAt, endAt, additional_properties, usage, model, provider } = value;
  const own = (additional_properties ?? {}) as Values;
  const took = (endAt as number) - (startAt as number);
  const { input, output, cached, written, writtenHour, media, charge } = findTokens([
    own,
    ...Object.values(own),
    usage,
  ]);
  // The text of the record's own cost preserves every digit.
  const [, cost = ""] = /^"?(\d[\d.e+-]{0,59})"?$/i.exec(members.get("cost") ?? "") ?? [];
  const names = `${toName(model, "\t")},${toName(provider, "\n")},"${cost}"`;
  const rest = `${cached},${names},${written},${writtenHour},${media},"${charge}"`
    .replace(/(^0)?(,(0|""))*$/, "");
  const known = `${latency ?? (took >= 0 ? took : null)},${input},${output}`;
  return rest ? `${known},[${rest}]` : known;
}
