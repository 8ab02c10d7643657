// Token usage as providers, gateways and frameworks report it: a table of their names, and the sums of their counts.
import { isObject } from "../schema/struct.ts";
import { isCount } from "../schema/values.ts";

/** The tokens of a call. `input` includes `cached` and `written`, and that includes `writtenHour`. */
export type TokenUsage = {
  input: number | null;
  output: number | null;
  /** Input from a cache. */
  cached: number;
  /** Input that was written to a cache. */
  written: number;
  /** Input that was written to a cache for an hour. */
  writtenHour: number;
  /** Bits of the media of tokens other than text: 1 for audio, 2 for images, 4 for video. */
  media: number;
  /** The cost that the provider reports, in USD as a decimal text. Empty without one. */
  charge: string;
};

/**
 * Names by role: `i` input, `o` output, `t` both, `p` a further part of the input, `q` one of the output, `r`
 * reasoning, `n` input without caches, `c` input from a cache, `w` input to a cache, `$` a cost. `C` and `W` are not
 * included in the input if that is `e`. Case, `_` and `.` do not matter, and `TokenCount` is the same as `tokens`.
 * `in/` and `out/` are the details of input and output, under any object name.
 */
const table = [
  // OpenAI Chat Completions, and compatible APIs
  "i prompt_tokens,o completion_tokens,t total_tokens,c in/cached_tokens,w in/cache_write_tokens,r out/reasoning_tokens",
  // OpenAI Responses, Anthropic, Bedrock, Microsoft.Extensions.AI
  "e input_tokens,o output_tokens,C cache_read_input_tokens,W cache_creation_input_tokens,W cache_write_input_tokens",
  "r out/thinking_tokens",
  // Gemini: generateContent, Live, Interactions
  "o candidates_tokens,o response_tokens,q thoughts_tokens,p tool_use_prompt_tokens,c cached_content_tokens",
  "i total_input_tokens,o total_output_tokens,q total_thought_tokens,p total_tool_use_tokens,c total_cached_tokens",
  // AI SDK 5 to 7, and its providers
  "c cached_input_tokens,c in/cache_read_tokens,n in/no_cache_tokens,r reasoning_tokens",
  "i in/total,o out/total,c in/cache_read,w in/cache_write,n in/no_cache,r out/reasoning",
  // DeepSeek, Moonshot, xAI, Perplexity, LiteLLM, DashScope
  "c prompt_cache_hit_tokens,n prompt_cache_miss_tokens,c cached_tokens,c cached_prompt_text_tokens,q citation_tokens",
  "w in/cache_creation_tokens,w in/cache_creation_input_tokens",
  // LangChain, pydantic-ai, CrewAI, Codex, Braintrust, LlamaIndex
  "w in/cache_creation,c in/priority_cache_read,c in/flex_cache_read,c cache_read_tokens,w cache_write_tokens",
  "i request_tokens,c details/cached_tokens,c details/cached_content_tokens,c details/cache_read_input_tokens",
  "w details/cache_creation_input_tokens,c cached_prompt_tokens,r reasoning_output_tokens",
  "c prompt_cached_tokens,w prompt_cache_creation_tokens",
  "i prompt_llm_tokens,o completion_llm_tokens,t total_llm_tokens",
  // OpenTelemetry, which counts caches in the input
  "c in/cache_read_input_tokens,w in/cache_write_input_tokens,c in/cached_input_tokens",
  // Ollama, llama.cpp, vLLM, watsonx
  "i prompt_eval_count,o eval_count,e prompt_n,o predicted_n,C cache_n,c num_cached_tokens,o generated_tokens",
  // OpenRouter, AI Gateway, DeepInfra, Perplexity, Claude Code, and xAI in units of 10^-10 USD
  "$ cost,$ estimated_cost,$ cost/total_cost,$ total_cost_usd,$ cost_usd,$ cost_in_usd_ticks",
];

const fold = (path: string): string =>
  path.toLowerCase().replace(/[^a-z\d/]/g, "").replace("tokencount", "tokens")
    .replace(/^(?:(?:gen)?ai|llm)usage(cache)?/, (_, cache) => cache ? "in/cache" : "")
    .replace(
      /^(?:llmtokens)?(?:prompt|input|(output|completion))(?:tokens?)?(?:details\/?|\/)/,
      (_, output) => output ? "out/" : "in/",
    )
    .replace(/^llmtokens(.+)/, "$1tokens").replace(/^details(?!\/)/, "details/");

const roles = new Map(table.flatMap((names) => names.split(",").map((name) => [fold(name.slice(2)), name[0]!])));

/**
 * A name at its place. Roles in addition to those of the table: `m` and `h` are written to a cache for minutes or an
 * hour, and `?` concerns the input in an unknown way.
 */
type Kind = {
  path: string;
  role: string;
  media: number;
  isMain: boolean;
  isHolder: boolean;
  members: Map<string, Kind>;
};

function toKind(path: string): Kind {
  const kind: Kind = { path, role: "", media: 0, isMain: false, isHolder: false, members: new Map() };
  // Most members of a record are unrelated to tokens.
  if (path.length > maxPath || !/token|cache|cost|details|_n$|eval_?count/i.test(path)) return kind;
  const name = fold(path);
  const [, time] = /[51](m|h)\/?inputtokens$/.exec(name) ?? [];
  const isPart = /\/(text|audio|image|video|document|priority|flex)(\/?tokens)?$|^cacheaudio/.test(name);
  kind.role = roles.get(name) ?? time ?? (!isPart && /^in\/|^[^/]*cache/.test(name) ? "?" : "");
  kind.media = /audio/.test(name) ? 1 : /image/.test(name) ? 2 : /video/.test(name) ? 4 : 0;
  kind.isMain = /[eioq]/.test(kind.role);
  kind.isHolder = /\/|details?$|modality$|^(in|out)puttokens$|^cachecreation|^cost$/.test(name);
  return kind;
}

// Applications send any names. Names beyond these bounds are not cached.
const maxPath = 99, maxKinds = 1_000, maxMembers = 200;
const root = toKind(""), unknown = toKind("");
let kinds = 0;

function kindOf(name: string, above = root): Kind {
  let kind = above.members.get(name);
  if (kind !== undefined) return kind;
  if (name.length > maxPath) return unknown;
  if (++kinds % maxKinds === 0) root.members.clear();
  above.members.set(name, kind = toKind(above === root ? name : `${above.path}/${name}`));
  return kind;
}

type Values = Record<string, unknown>;

/** The counts of an object, the number of members read, and its cost. */
type Reading = { counts: Map<Kind, number>; members: number; media: number; charge: string };

const maxTokens = 1e12; // of one count. A higher number is not a count of tokens

function collect(holder: Values, reading: Reading, above = root): void {
  for (const name in holder) {
    const value = holder[name];
    if (value === null) continue;
    if (reading.members++ > maxMembers) return;
    const kind = kindOf(name, above), { role, media } = kind;
    if (typeof value === "object") {
      if (kind.isHolder) [value].flat().forEach((each) => collectEach(each, reading, kind));
    } else if (role === "$") {
      reading.charge ||= /^\d[\d.e-]{0,59}$/i.test(String(value)) ? value + (/ticks$/i.test(name) ? "e-10" : "") : "";
    } else if (role || media) {
      const count = isCount(value) && value <= maxTokens ? value : NaN;
      if (count > 0) reading.media |= media;
      if (role && (role !== "?" || count > 0)) reading.counts.set(kind, count + (reading.counts.get(kind) ?? 0));
    }
  }
}

/** Each element of a list has the tokens of one kind, or else the elements add up. */
function collectEach(value: unknown, reading: Reading, kind: Kind): void {
  if (!isObject(value)) return;
  const part = value.modality ?? value.ttl;
  collect(value, reading, typeof part === "string" ? kindOf(part, kind) : kind);
}

/** Several names of one count must agree. NaN if they do not. */
const same = (count: number | undefined, other: number | undefined) =>
  count === undefined || count === other ? other : other === undefined ? count : NaN;

/** The tokens that an object counts. Undefined if it has none, or if they are contradictory or unknown. */
export function readTokenUsage(holder: Values): TokenUsage | undefined {
  // Cohere bills other counts than it has. Spring AI omits the caches from its own.
  const inner = holder.billed_units ?? holder.billedUnits ?? holder.nativeUsage;
  if (isObject(inner)) return readTokenUsage(inner);
  if (!Object.keys(holder).some((name, nth) => nth < maxMembers && kindOf(name).isMain)) return undefined;
  const reading: Reading = { counts: new Map(), members: 0, media: 0, charge: "" };
  collect(holder, reading);
  // Anthropic counts the compaction of a conversation there alone.
  if (Array.isArray(holder.iterations)) {
    for (const each of holder.iterations) if (isObject(each) && each.type === "compaction") collect(each, reading);
  }
  const by: Record<string, number | undefined> = {};
  for (const [{ role }, count] of reading.counts) {
    by[role] = /[pq]/.test(role) ? count + (by[role] ?? 0) : same(by[role], count);
  }
  const cached = same(by.c, by.C) ?? 0, whole = same(by.w, by.W) ?? 0;
  const writtenHour = by.h ?? 0, timed = (by.m ?? 0) + writtenHour;
  const written = whole === 0 ? timed : whole, caches = cached + written;
  // The input excludes caches if it is smaller than they are, or equals the input without caches.
  const withCaches = (input: number | undefined, isBeside: boolean) =>
    input === undefined ? input : input + (isBeside || caches > input || input === by.n ? caches : 0);
  let input = same(withCaches(by.i, false), withCaches(by.e, (by.C ?? by.W) !== undefined)), output = by.o;
  if (input !== undefined) input += by.p ?? 0;
  if (by.q !== undefined) output = by.q + (output ?? 0);
  const { t: total = NaN, r: reasoning = 0 } = by;
  if (output !== undefined && total > output) input ??= total - output;
  const rest = total - (input ?? 0) - (output ?? 0);
  if (input !== undefined && rest > 0) {
    // The rest is reasoning or caches that are not included in the counts, or simply output.
    const ofInput = rest !== reasoning && (rest === caches || rest === caches + reasoning) ? caches : 0;
    input += ofInput;
    if (rest > ofInput) output = (output ?? 0) + rest - ofInput;
  } else if (reasoning > (output ?? 0) && rest !== 0) output = (output ?? 0) + reasoning;
  const isClear = reading.members <= maxMembers && by["?"] === undefined && caches <= (input ?? 0) &&
    (timed === 0 || timed === written) && (input ?? output) !== undefined &&
    (input ?? 0) + (output ?? 0) + reasoning + (by.t ?? 0) + (by.n ?? 0) >= 0;
  const { media, charge } = reading;
  // For a call that another provider bills, a gateway charges its fee alone.
  const isFee = (holder.is_byok ?? holder.isByok) === true ||
    Number(charge) === 0 && (holder.market_cost ?? holder.marketCost);
  return isClear
    ? { input: input ?? null, output: output ?? null, cached, written, writtenHour, media, charge: isFee ? "" : charge }
    : undefined;
}
