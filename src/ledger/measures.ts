// What statistics know of a record besides its status: latency, tokens, model and cost. They are read from the record when
// it is stored, and again by `reindex`. src/http/README.md has the rule in words.
import { isObject } from "../schema/struct.ts";
import { isCount } from "../schema/values.ts";

// How providers name their counts: input, output, and the input tokens that came from a cache. `+` joins what is counted
// side by side, and in the third part names for the same, which must agree. `/` leads into an object.
const schemes = [
  "prompt_tokens,completion_tokens,prompt_tokens_details/cached_tokens",
  "input_tokens+cache_creation_input_tokens+cache_read_input_tokens,output_tokens,cache_read_input_tokens+input_tokens_details/cached_tokens",
  "inputTokens+cacheReadInputTokens+cacheWriteInputTokens,outputTokens,cacheReadInputTokens+cachedInputTokens+inputTokenDetails/cacheReadTokens",
  "promptTokenCount+toolUsePromptTokenCount,candidatesTokenCount+thoughtsTokenCount,cachedContentTokenCount",
  "gen_ai.usage.input_tokens,gen_ai.usage.output_tokens,gen_ai.usage.cache_read.input_tokens",
].map((scheme) => {
  const [inputs, outputs, cached] = scheme.split(",").map((names) => names.split("+").map((name) => name.split("/")));
  // An object without any of these names has no counts of this scheme. Most objects have none of them.
  const signs = [inputs![0]![0]!, ...outputs!.map(([name]) => name!)];
  return { inputs: inputs!, outputs: outputs!, cached: cached!, signs };
});

const maxTokens = 1e12; // of one count. More is no count of tokens

type Values = Record<string, unknown>;

/** The count that an object has under a name: null if it is absent or null, and NaN if it is not a count. */
function readCount(holder: Values, [name, inner]: string[]): number | null {
  const outer = holder[name!] ?? null;
  const value = inner && outer !== null ? isObject(outer) ? outer[inner] ?? null : NaN : outer;
  return value === null || isCount(value) && value <= maxTokens ? value : NaN;
}

const sum = (values: (number | null)[]) => values.reduce((all, value) => value === null ? all : all! + value, null);

/** The counts of one scheme as `input,output,cached`, with NaN if they are inconsistent. */
function countBy({ inputs, outputs, cached }: (typeof schemes)[number], holder: Values): string {
  const counts = inputs.map((name) => readCount(holder, name)), input = sum(counts);
  const [read = 0, ...others] = cached.map((name) => readCount(holder, name)).filter((value) => value !== null);
  // Without its first count, the input is unknown. NaN is not equal to itself.
  const isKnown = (counts[0] ?? input) === counts[0] && read <= (input ?? 0) && others.every((other) => other === read);
  return `${isKnown ? input : NaN},${sum(outputs.map((name) => readCount(holder, name)))},${read}`;
}

/** The tokens of a record as `input,output,cached`. They stand in the first object that has consistent ones. */
function findTokens(holders: unknown[]): string {
  for (const holder of holders) {
    if (!isObject(holder)) continue;
    let found = "";
    for (const scheme of schemes) {
      if (!scheme.signs.some((name) => (holder[name] ?? null) !== null)) continue;
      const counts = countBy(scheme, holder);
      // Some gateways send the names of two providers, which must agree.
      found = found && found !== counts ? "NaN" : counts;
    }
    if (found && !found.includes("NaN")) return found;
  }
  return "null,null,0";
}

/**
 * The JSON text of a name, empty if it is too long for one. The index of the records reads a name without escapes from the
 * document, so that no row has it twice: `mark`, which is not in any JSON, stands for it.
 */
const toName = (name: unknown, mark: "\t" | "\n") =>
  typeof name === "string" && name.length <= 200 ? JSON.stringify(name).replace(/^"[^\\]+"$/, mark) : '""';

/**
 * The column `measures` of a record: the inside of a JSON array with latency in ms, input and output tokens, each null if
 * absent. An array of what few records have follows: cached input tokens, model, provider, and the cost in USD as a
 * decimal text. `value` is the record, and `members` has the JSON text of each member.
 */
export function measuresOf(value: Values, members: Map<string, string>): string {
  const { latency, startAt, endAt, additional_properties, usage, model, provider } = value;
  const own = (additional_properties ?? {}) as Values;
  const took = (endAt as number) - (startAt as number);
  const [input, output, cached] = findTokens([own, ...Object.values(own), usage]).split(",");
  // The text of the record's own cost has every digit that was sent.
  const [, cost = ""] = /^"?(\d[\d.e+-]{0,59})"?$/i.exec(members.get("cost") ?? "") ?? [];
  const rest = `${cached},${toName(model, "\t")},${toName(provider, "\n")},"${cost}"`.replace(/(^0)?(,"")*$/, "");
  const known = `${latency ?? (took >= 0 ? took : null)},${input},${output}`;
  return rest ? `${known},[${rest}]` : known;
}
