// What statistics know of a record besides its status: latency, tokens, model and cost. They are read from the record when
// it is stored, and again by `reindex`. src/http/README.md has the rule in words.
import { readMembers } from "../common/json-text.ts";
import { isObject } from "../schema/struct.ts";

// How providers name their counts: input, output, and the input tokens that came from a cache. `+` joins what is counted
// side by side, `|` names for the same, and `/` leads into an object.
const schemes = [
  "prompt_tokens,completion_tokens,prompt_tokens_details/cached_tokens",
  "input_tokens+cache_creation_input_tokens+cache_read_input_tokens,output_tokens,cache_read_input_tokens|input_tokens_details/cached_tokens",
  "inputTokens+cacheReadInputTokens+cacheWriteInputTokens,outputTokens,cacheReadInputTokens|cachedInputTokens|inputTokenDetails/cacheReadTokens",
  "promptTokenCount+toolUsePromptTokenCount,candidatesTokenCount+thoughtsTokenCount,cachedContentTokenCount",
  "gen_ai.usage.input_tokens,gen_ai.usage.output_tokens,gen_ai.usage.cache_read.input_tokens",
].map((scheme) => scheme.split(",").map((names) => names.split(/[+|]/).map((name) => name.split("/"))));

const maxTokens = 1e12; // of one count. More is no count of tokens

type Values = Record<string, unknown>;

/** The counts of one scheme as `input,output,cached`: NaN if they are inconsistent, undefined if an object has none. */
function countBy([inputNames, outputNames, cachedNames]: string[][][], holder: Values): string | undefined {
  // Absent and null are the same.
  const read = ([name, inner]: string[]): number | null => {
    const outer = holder[name!] ?? null;
    const value = inner && outer !== null ? isObject(outer) ? outer[inner] ?? null : NaN : outer;
    return value === null || Number.isInteger(value) && Number(value) >= 0 && Number(value) <= maxTokens
      ? value as number | null
      : NaN;
  };
  const sum = (values: (number | null)[]) =>
    values.reduce((all, value) => value === null ? all : (all ?? 0) + value, null);
  const inputs = inputNames!.map(read), input = sum(inputs), output = sum(outputNames!.map(read));
  if (inputs[0] === null && output === null) return undefined;
  const cached = cachedNames!.map(read).find((value) => value !== null) ?? 0;
  const isComplete = (inputs[0] ?? input) === inputs[0] && cached <= (input ?? 0);
  return isComplete ? `${input},${output},${cached}` : "NaN";
}

/** The tokens of a record as `input,output,cached`. They stand in the first object that has consistent ones. */
function findTokens(holders: unknown[]): string {
  for (const holder of holders) {
    if (!isObject(holder)) continue;
    // Some gateways send the names of two providers, which must agree.
    const [counts, other] = new Set(schemes.map((scheme) => countBy(scheme, holder)).filter((found) => found));
    if (counts && !other && !counts.includes("NaN")) return counts;
  }
  return "null,null,0";
}

/** A name, unless it is too long for one. */
const toName = (value: unknown) => typeof value === "string" && value.length <= 200 ? value : "";

/**
 * The column `measures` of a record: the inside of a JSON array with latency in ms, input and output tokens, each null if
 * absent. An array of what few records have follows: cached input tokens, model, provider, and the cost in USD as a
 * decimal text. `value` is the record, and `members` has the JSON text of each member.
 */
export function measuresOf(value: Values, members: Map<string, string>): string {
  const { latency, startAt, endAt, additional_properties: additional, usage, model, provider, cost } = value;
  const own = isObject(additional) ? additional : {};
  const took = Number(endAt) - Number(startAt);
  const [input, output, cached] = findTokens([own, ...Object.values(own), usage]).split(",");
  // The text has every digit that was sent.
  const costText = cost === undefined && "cost" in own ? readMembers(members.get("additional_properties")!) : members;
  const rest = [
    Number(cached),
    toName(model ?? own.model),
    toName(provider ?? own.provider),
    /^"?(\d{1,20}(\.\d{1,40})?([eE][+-]?\d\d?)?)"?$/.exec(costText.get("cost") ?? "")?.[1] ?? "",
  ];
  while (rest.length > 0 && !rest.at(-1)) rest.pop();
  return [latency ?? (took >= 0 ? took : null), input, output, ...rest.length > 0 ? [JSON.stringify(rest)] : []]
    .map(String).join();
}
