// `.prompt`: files of dotprompt, in which tags of Handlebars name the roles, and those of Humanloop, which have a tag of XML around
// each message.
import { jsonText, stringifyMembers } from "../../common/json-text.ts";
import type { FileContent } from "./content.ts";
import { declareVariables } from "./declarations.ts";
import type { DeclaredVariable } from "./declarations.ts";
import type { Report } from "./faults.ts";
import { splitHead } from "./head.ts";
import { placeholderOf, textMessage, writeMessages } from "./messages.ts";
import type { TemplateMessage } from "./messages.ts";
import { texts } from "./prompty.ts";
import type { ReadOptions } from "./prompty.ts";
import { joinMembers, readYamlSource, reportUnread } from "./source.ts";
import type { ConfigMember, Source } from "./source.ts";
import { readTemplate } from "./template-logic.ts";

/** A message, and where its text begins. */
type Draft = { message: TemplateMessage; start: number };

/** Reads `.prompt`. */
export function readDotprompt(source: string, report: Report, options: ReadOptions = {}): FileContent | undefined {
  const head = splitHead(source, report, "comments");
  if (head === undefined) return undefined;
  const yaml = readYamlSource(head.yaml, head.start, report);
  if (yaml === undefined) return undefined;
  const { value } = yaml,
    isTagged = /^\s*<(?:system|user|assistant|developer|tool)\b[^>]*>/.test(head.body.slice(0, 1000));
  const title = value.text("name"), description = value.text("description");
  const declared = readInput(value.object("input"));
  const members = isTagged ? humanloopConfig(value) : [
    ...modelMembers(value.text("model")),
    ...value.object("config").rest(),
    ...["tools", "toolDefs", "output"].map((name) => [name, value.anything(name)] as const),
  ];
  const config = joinMembers(members, (message) => report(head.start, message, true));
  const drafts = isTagged ? readTags(head.body, value, shifted(report, head.bodyStart)) : readRoles(head.body);
  const messages = drafts && writeMessages(
    drafts.map(({ message }) => message),
    (nth) => (offset, message, isWarning) => report(head.bodyStart + drafts[nth]!.start + offset, message, isWarning),
    options,
  );
  const warn = (_name: string, message: string) => report(yaml.offsetOf(["input"]), message, true);
  const declarations = messages && declareVariables(messages, declared, warn);
  reportUnread(yaml, report);
  return messages &&
    { ...texts({ title, description }), messages, llmConfig: jsonText(stringifyMembers(config)), ...declarations };
}

const shifted = (report: Report, start: number): Report => (offset, message, isWarning) =>
  report(start + offset, message, isWarning);

/** `openai/gpt-6-luna` as a provider and a model. */
export function modelMembers(name: string): [string, string | undefined][] {
  const [provider, ...model] = name.split("/");
  if (model.length === 0) return [["model", name === "" ? undefined : JSON.stringify(name)]];
  return [["provider", JSON.stringify(provider)], ["model", JSON.stringify(model.join("/"))]];
}

/** The model of Humanloop and its parameters, from the top of its front matter. */
const humanloopConfig = (value: Source): ConfigMember[] => [
  ["provider", value.anything("provider")],
  ...[
    ...["model", "endpoint", "temperature", "max_tokens", "top_p", "stop", "presence_penalty", "frequency_penalty"],
    ...["seed", "response_format", "reasoning_effort", "tools"],
  ].map((name): ConfigMember => [name, value.anything(name)]),
  ...value.object("other").rest(),
];

const roleTag = /^\{\{~?\s*role\s+["'](\w+)["']\s*~?\}\}$/;

/** The messages of a template with tags that name roles. Text before the first one is of the user. */
function readRoles(body: string): Draft[] {
  const drafts: Draft[] = [];
  let role = "user", last = 0;
  const add = (end: number) => {
    const text = body.slice(last, end), own = text.trim();
    const start = last + text.length - text.trimStart().length;
    if (own !== "") drafts.push({ message: { ...textMessage(role, own, "handlebars"), isTrimmed: true }, start });
  };
  for (const { index, source, ...piece } of readTemplate(body, "handlebars")) {
    const [, named] = piece.kind === "logic" ? roleTag.exec(source) ?? [] : [];
    const isHistory = piece.kind === "variable" && piece.name === "history";
    if (named === undefined && !isHistory) continue;
    add(index);
    last = index + source.length;
    if (isHistory) drafts.push({ message: placeholderOf("history"), start: index });
    // Text after the history is of the model.
    role = isHistory || named === "model" ? "assistant" : named!;
  }
  add(body.length);
  return drafts;
}

/** The variables that the schema of the input declares: a JSON schema, or the short form of dotprompt. */
function readInput(input: Source): Map<string, DeclaredVariable> {
  const declared = new Map<string, DeclaredVariable>();
  const schema = input.object("schema"), defaults = input.object("default");
  const isJson = schema.has("properties") || schema.text("type") === "object";
  const properties = isJson ? schema.object("properties") : schema;
  const required = isJson ? schema.texts("required") : undefined;
  if (isJson) schema.skip("type", "$schema", "additionalProperties");
  for (const key of properties.names()) {
    const [, name, mark] = /^([^?(]*)(\?)?/.exec(key)!, whole = properties.find([key], /^"/);
    const property = properties.object(key),
      [short, ...words] = whole === undefined ? [] : (JSON.parse(whole) as string).split(",");
    if (name !== "") {
      declared.set(name!, {
        type: short?.trim() ?? (isJson ? property.text("type") : undefined),
        description: words.join(",").trim() || (isJson ? property.text("description") : ""),
        required: mark !== undefined || required !== undefined && !required.includes(name!) ? false : undefined,
      });
    }
  }
  for (const name of defaults.names()) {
    const json = defaults.find([name], /^["\d\-tf]/);
    const example = json && { example: JSON.parse(json) as unknown, isDefault: true };
    if (example) declared.set(name, { ...declared.get(name), ...example });
  }
  return declared;
}

const opening = /<(system|user|assistant|developer|tool)((?:\s+[\w-]+="[^"]*")*)\s*>/g;

/** The messages of a body with a tag around each. */
function readTags(body: string, value: Source, report: Report): Draft[] | undefined {
  const language = value.text("template_language") === "jinja" ? "jinja" : "mustache";
  const drafts: Draft[] = [], faults: [at: number, message: string][] = [];
  let last = 0;
  for (const { index, 0: tag, 1: role, 2: attributes } of body.matchAll(opening)) {
    if (index < last) continue;
    const start = index + tag.length, end = body.indexOf(`</${role}>`, start), inner = body.slice(start, end);
    if (body.slice(last, index).trim() !== "") faults.push([last, "Text between messages belongs to none"]);
    if (end < 0) faults.push([index, `${tag} has no end`]);
    if (/<(?:image|tool|text)\b/.test(inner)) faults.push([start, "The message has parts in tags, which are not read"]);
    const members = Array.from(attributes!.matchAll(/([\w-]+)="([^"]*)"/g), ([, name, text]): [string, string] => [
      name === "id" ? "tool_call_id" : name!,
      JSON.stringify(text),
    ]);
    drafts.push({ message: { ...textMessage(role!, dedent(inner), language), members }, start });
    last = end < 0 ? body.length : end + role!.length + 3;
  }
  if (body.slice(last).trim() !== "") faults.push([last, "Text after the last message belongs to none"]);
  for (const [at, message] of faults) report(at, message);
  return faults.length === 0 ? drafts : undefined;
}

/** A text without the empty lines around it, and the spaces that all of its lines begin with. */
function dedent(text: string): string {
  const lines = text.replace(/^(?:[ \t]*\n)+|\s+$/g, "").split("\n");
  const indents = lines.filter((line) => line.trim() !== "").map((line) => /^[ \t]*/.exec(line)![0].length);
  const least = indents.reduce((a, b) => Math.min(a, b), indents[0] ?? 0);
  return lines.map((line) => line.slice(least)).join("\n");
}
