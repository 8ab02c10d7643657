// Prompt files in the formats of others: `.prompt.yml` of GitHub Models, `.prompty` and `.prompt` (dotprompt).
import { jsonText, readItems, readMembers, stringifyMembers } from "../common/json-text.ts";
import { soleVariable } from "../common/template.ts";
import { toMessages } from "./content.ts";
import type { FileContent, Message } from "./content.ts";
import type { Report } from "./faults.ts";
import { noEnd, readMembersOf, splitFrontMatter } from "./members.ts";
import type { Members } from "./members.ts";
import { checkLogic } from "./template-logic.ts";
import type { Language } from "./template-logic.ts";
import { readYaml } from "./yaml.ts";

/** `keepsLogic` keeps a text as it is where it has more than variables, instead of refusing it. */
export type ReadOptions = { keepsLogic?: boolean };

/** Reads `.prompt.yml`. */
export function readPromptYaml(source: string, report: Report, options: ReadOptions = {}): FileContent | undefined {
  const yaml = readYaml(source, 0, report);
  if (yaml === undefined) return undefined;
  const given = readMembersOf(yaml.members, report);
  const { text, mapping, list, anything, offsetOf, isGood } = given;
  given.refuseOthers([...kept, "model", "modelParameters", "responseFormat", "jsonSchema", "messages", ...unused]);
  leaveOut(given, unused, report);
  const messages = readItems(list("messages") ?? "[]").map((item) => readMessage(item));
  if (messages.some((message) => message === undefined)) {
    return void report(offsetOf("messages"), "Field messages must be a list of messages with a role and a text");
  }
  const all = messages as Message[];
  const isPlain = options.keepsLogic ||
    all.every(({ content }) => checkLogic(content, "mustache", (_, message) => report(offsetOf("messages"), message)));
  const config = joined(modelOf(text("model")), mapping("modelParameters"), {
    responseFormat: anything("responseFormat"),
    jsonSchema: anything("jsonSchema"),
  });
  const [title, description] = kept.map(text);
  return isGood() && isPlain ? { title, description, messages: toMessages(all), llmConfig: config } : undefined;
}

const kept = ["name", "description"];
const unused = ["testData", "evaluators"];

/** A message that is a role and a text. */
function readMessage(item: string): Message | undefined {
  if (!item.startsWith("{")) return undefined;
  const { role, content } = JSON.parse(item) as Record<string, unknown>;
  return typeof role === "string" && typeof content === "string" ? { role, content } : undefined;
}

/** The names of members besides these. */
const others = (members: ReadonlyMap<string, unknown>, kept: readonly string[]): string[] =>
  [...members.keys()].filter((name) => !kept.includes(name));

/** Says what a prompt has no place for. */
function leaveOut(
  { anything, offsetOf }: Members,
  names: readonly string[],
  report: Report,
  why = "is left out",
): void {
  for (const name of names) if (anything(name) !== undefined) report(offsetOf(name), `Field ${name} ${why}`, true);
}

/** `openai/gpt-6-luna` as a provider and a model. */
function modelOf(name: string | undefined): Record<string, string | undefined> {
  const [provider, ...model] = name?.split("/") ?? [];
  if (model.length === 0) return { model: name && JSON.stringify(name) };
  return { provider: JSON.stringify(provider), model: JSON.stringify(model.join("/")) };
}

/** One configuration of several: JSON texts of objects, or members as JSON text. */
function joined(...parts: (string | undefined | Record<string, string | undefined>)[]): FileContent["llmConfig"] {
  const members = new Map<string, string>();
  for (const part of parts) {
    const own = typeof part === "object" ? Object.entries(part) : part === undefined ? [] : readMembers(part);
    for (const [name, text] of own) if (text !== undefined) members.set(name, text);
  }
  return jsonText(stringifyMembers(members));
}

/** Reads `.prompty`, of version 1 or 2. What connects to a model is left out, as it may be secret. */
export function readPrompty(source: string, report: Report, options: ReadOptions = {}): FileContent | undefined {
  const parts = splitFrontMatter(source);
  if (parts === undefined) return void report(0, noEnd);
  const yaml = readYaml(parts.yaml, parts.start, report);
  if (yaml === undefined) return undefined;
  const given = readMembersOf(yaml.members, report);
  const { text, anything, isGood } = given;
  leaveOut(given, others(yaml.members, ["name", "displayName", "description", "model", "inputs", "tools"]), report);
  leaveOut(given, ["inputs"], report, "is left out but for threads");
  const model = anything("model") ?? "{}", isName = model.startsWith('"');
  const members = objectOf(model), configuration = objectOf(members.get("configuration"));
  const secret = ["connection", "configuration"].find((name) => members.has(name));
  if (secret !== undefined) {
    report(given.offsetOf("model"), `Field model.${secret} is left out, since it may be secret`, true);
  }
  for (const name of others(members, ["id", "provider", "parameters", "options", "connection", "configuration"])) {
    report(given.offsetOf("model"), `Field model.${name} is left out`, true);
  }
  const config = joined(
    {
      provider: members.get("provider") ?? configuration.get("type"),
      model: isName ? model : members.get("id") ?? configuration.get("model") ?? configuration.get("azure_deployment"),
    },
    stringifyMembers(objectOf(members.get("parameters") ?? members.get("options"))),
    { tools: anything("tools") },
  );
  const messages = readRoles(parts.body, parts.bodyStart, threadsOf(anything("inputs")), report);
  const isPlain = options.keepsLogic || checkLogic(parts.body, "jinja", shifted(report, parts.bodyStart));
  const title = text("displayName") ?? text("name"), description = text("description");
  if (!isGood() || !isPlain || messages === undefined) return undefined;
  return { title, description, messages: toMessages(messages), llmConfig: config };
}

const shifted = (report: Report, start: number): Report => (offset, message, isWarning) =>
  report(start + offset, message, isWarning);

/** The names of the inputs that stand for messages. */
const threadsOf = (inputs = "[]"): string[] =>
  !inputs.startsWith("[")
    ? []
    : readItems(inputs).map((item) => objectOf(item)).flatMap((input) =>
      input.get("kind") === '"thread"' && input.has("name") ? [String(JSON.parse(input.get("name")!))] : []
    );

/** The members of a JSON text, if it is an object. */
const objectOf = (text: string | undefined): Map<string, string> =>
  text?.startsWith("{") ? readMembers(text) : new Map();

const roleLine = /^#?\s*(system|user|assistant|developer|tool)(?:\[[^\]]*\])?\s*:\s*$/i;

/** The messages of a body with a line before each that names its role. Text before the first one is of the system. */
function readRoles(body: string, start: number, threads: string[], report: Report): Message[] | undefined {
  const messages: { role: string; lines: string[] }[] = [{ role: "system", lines: [] }];
  let at = start;
  for (const line of body.split("\n")) {
    const [, role] = roleLine.exec(line.trim()) ?? [], thread = soleVariable(line);
    const isThread = thread !== undefined && threads.includes(thread);
    if (role !== undefined) messages.push({ role: role.toLowerCase(), lines: [] });
    else if (isThread) messages.push({ role: "placeholder", lines: [line.trim()] });
    else if (messages.at(-1)!.role !== "placeholder") messages.at(-1)!.lines.push(line);
    else if (line.trim() !== "") return void report(at, "Text after a thread needs a line with its role");
    at += line.length + 1;
  }
  return withTexts(messages);
}

const withTexts = (messages: readonly { role: string; lines: readonly string[] }[]): Message[] =>
  messages.map(({ role, lines }) => ({ role, content: lines.join("\n").trim() })).filter(({ content }) =>
    content !== ""
  );

/** Reads `.prompt`, of dotprompt. */
export function readDotprompt(source: string, report: Report, options: ReadOptions = {}): FileContent | undefined {
  const parts = splitFrontMatter(source);
  if (parts === undefined) return void report(0, noEnd);
  const yaml = readYaml(parts.yaml, parts.start, report);
  if (yaml === undefined) return undefined;
  const given = readMembersOf(yaml.members, report);
  const { text, mapping, anything, isGood } = given;
  leaveOut(given, others(yaml.members, ["name", "description", "model", "config", "tools", "output"]), report);
  const config = joined(modelOf(text("model")), mapping("config"), {
    tools: anything("tools"),
    output: anything("output"),
  });
  const { messages, isPlain } = readTags(parts.body, shifted(report, parts.bodyStart), options);
  const title = text("name"), description = text("description");
  return isGood() && isPlain ? { title, description, messages: toMessages(messages), llmConfig: config } : undefined;
}

const roleTag = /\{\{\s*role\s+["'](\w+)["']\s*\}\}|\{\{\s*(history)\s*\}\}/g;

/** The messages of a template with tags that name roles. Text before the first one is of the user. */
function readTags(body: string, report: Report, { keepsLogic = false }: ReadOptions) {
  const messages: { role: string; lines: string[] }[] = [];
  let role = "user", last = 0, isPlain = true;
  const add = (end: number) => {
    // Three braces are a variable whose value is not escaped. Here none is.
    const text = body.slice(last, end).replace(/\{\{\{([^{}]+)\}\}\}/g, (_, name: string) => `{{${name.trim()}}}`);
    const language: Exclude<Language, "f-string"> = "handlebars";
    if (!keepsLogic && !checkLogic(text, language, shifted(report, last))) isPlain = false;
    messages.push({ role, lines: [text] });
  };
  for (const { index, 0: tag, 1: named, 2: history } of body.matchAll(roleTag)) {
    add(index);
    last = index + tag.length;
    if (history !== undefined) messages.push({ role: "placeholder", lines: ["{{history}}"] });
    else role = named === "model" ? "assistant" : named!;
  }
  add(body.length);
  return { messages: withTexts(messages), isPlain };
}
