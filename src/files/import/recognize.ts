// Which tool a file comes from, by its name and by what it has.
import { describeJsonFault } from "../../support/json-fault.ts";
import { isDeeper } from "../../common/json-scan.ts";
import { compact, readItems, readMembers } from "../../common/json-text.ts";
import { normalize } from "../formats/head.ts";
import { maxLevels } from "./reader.ts";
import type { ImportedFile } from "./reader.ts";

const endings: [ending: RegExp, source: string][] = [
  [/\.prompty$/i, "prompty"],
  [/\.prompt$/i, "dotprompt"],
  [/\.prompt\.ya?ml$/i, "github"],
  [/(?:\.(?:prompt|agent|chatmode|instructions)\.md|(?:^|[/\\])SKILL\.md)$/i, "agents"],
  [/\.ya?ml$/i, "promptfoo"],
];

// Members that tell a tool. The first line all of whose members an object has is that of its tool.
const members: [source: string, ...names: string[]][] = [
  ["langsmith", "manifest"],
  ["langsmith", "lc", "id", "kwargs"],
  ["langsmith", "input_variables", "template"],
  ["langsmith", "input_variables", "template_path"],
  ["langsmith", "input_variables", "example_prompt"],
  ["promptlayer", "prompt_template"],
  ["posthog", "prompt", "is_latest"],
  ["posthog", "prompt", "version_count"],
  ["posthog", "prompt", "created_by", "deleted"],
  ["mlflow", "mlflow"],
  ["phoenix", "template", "template_format"],
  ["phoenix", "template", "model_provider"],
  ["humanloop", "template", "model"],
  ["opik", "latest_version"],
  ["opik", "template", "commit"],
  ["opik", "template", "template_structure"],
  ["mlflow", "template", "version"],
  ["mlflow", "template", "commit_message"],
  ["portkey", "string"],
  ["agenta", "params", "app_slug"],
  ["agenta", "params", "variant_slug"],
  ["agenta", "params", "application_ref"],
  ["agenta", "params", "variant_ref"],
  ["agenta", "application_revision"],
  ["agenta", "data", "variant_id"],
  ["agenta", "data", "application_id"],
  ["litellm", "litellm_params"],
  ["litellm", "prompt_spec"],
  ["helicone", "promptBody"],
  ["helicone", "prompt_body"],
  ["openai", "openai_prompt_id"],
  ["openai", "versions", "production_version"],
  ["langwatch", "scope", "prompt"],
  ["langwatch", "handle"],
  ["langfuse", "prompt", "name"],
  ["langfuse", "prompt", "version"],
  ["promptfoo", "prompts", "providers"],
  ["openai", "messages"],
  ["openai", "input", "model"],
  ["openai", "instructions", "model"],
];

const pages = ["data", "items", "prompts", "commits", "results", "content", "versions", "application_revisions"];

/** The tool that a file comes from. Undefined if nothing tells it. */
export function recognize({ path, text }: ImportedFile): string | undefined {
  const [, byName] = endings.find(([ending]) => ending.test(path)) ?? [];
  return byName ?? recognizeJson(normalize(text).trimStart());
}

/** Why a file is not read whose tool is not recognized. */
export function describeUnknown({ path, text }: ImportedFile, sources: readonly string[]): string {
  const source = normalize(text).trim(), [first = ""] = source.split("\n");
  const fault = /^[{[]/.test(source) && describeJsonFault(first) !== undefined ? describeJsonFault(source) : undefined;
  if (fault !== undefined) return `is not JSON: ${fault}`;
  return /\.md$/i.test(path)
    ? "is Markdown of no tool that is known. Name agents before it if it is that of an agent, or use prompt push or apply"
    : `comes from no tool that is known. Name the tool before it: ${sources.join(", ")}`;
}

function recognizeJson(text: string): string | undefined {
  if (isDeeper(text, maxLevels)) return undefined;
  const whole = describeJsonFault(text) === undefined ? text : text.slice(0, text.indexOf("\n") >>> 0);
  return describeJsonFault(whole) === undefined ? sourceOf(compact(whole), 0) : undefined;
}

function sourceOf(json: string, level: number): string | undefined {
  if (json.startsWith("[")) {
    const [first] = readItems(json);
    return first === undefined ? undefined : sourceOf(first, level);
  }
  if (!json.startsWith("{") || level > 3) return undefined;
  const own = readMembers(json);
  const [source] = members.find(([, ...names]) => names.every((name) => own.has(name))) ?? [];
  const page = pages.find((name) => own.get(name)?.startsWith("["));
  return source ?? (page === undefined ? undefined : sourceOf(own.get(page)!, level + 1));
}
