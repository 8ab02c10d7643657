// `.prompty`, of version 1 or 2: front matter, and a body in which a line before each message names its role.
import { compact, jsonText, readItems, readMembers, stringifyMembers } from "../../common/json-text.ts";
import { describeJsonFault } from "../../support/json-fault.ts";
import { isVariable, placeholder } from "../../support/template.ts";
import type { FileContent } from "./content.ts";
import { declareVariables } from "./declarations.ts";
import type { DeclaredVariable } from "./declarations.ts";
import type { Report } from "./faults.ts";
import { splitHead } from "./head.ts";
import { placeholderOf, writeMessages } from "./messages.ts";
import type { TemplateMessage } from "./messages.ts";
import { joinMembers, readYamlSource, reportUnread } from "./source.ts";
import type { ConfigMember, Source, YamlSource } from "./source.ts";
import { readTemplate } from "./template-logic.ts";
import type { Language } from "./template-logic.ts";
import { readYaml } from "./yaml.ts";

export type ReadOptions = {
  /** Keeps a text as it is where it has more than variables, instead of refusing it. */
  keepsLogic?: boolean;
  /** Members that are kept although they may be secret, by their names. */
  keeps?: readonly string[];
  /** The texts of files that a file may refer to, by their paths as written there. Others are refused. */
  files?: ReadonlyMap<string, string>;
};

/** Reads `.prompty`. What connects to a model is left out, as it may be secret. */
export function readPrompty(source: string, report: Report, options: ReadOptions = {}): FileContent | undefined {
  const head = splitHead(source, report, "blank", "---|\\+\\+\\+");
  if (head === undefined) return undefined;
  let isGood = true;
  const refuse: Report = (offset, message, isWarning) => {
    isGood &&= isWarning === true;
    report(offset, message, isWarning);
  };
  const resolve = (json: string, offsetOf: YamlSource["offsetOf"]) =>
    resolveReferences(json, offsetOf, options, refuse);
  const yaml = readYamlSource(head.yaml, head.start, refuse, resolve);
  if (yaml === undefined) return undefined;
  const { value } = yaml;
  const title = value.text("displayName") || value.text("name"), description = value.text("description");
  const config = readModel(yaml, options, report), language = languageOf(value);
  const { declared, threads } = readInputs(value);
  const body = readBody(head.body, head.bodyStart, { threads, language, declared }, refuse);
  const messages = body && writeMessages(
    body.map(({ message }) => message),
    (nth) => (offset, message, isWarning) => report(body[nth]!.start + offset, message, isWarning),
    options,
  );
  const warn = (name: string, message: string) => report(yaml.offsetOf(["inputs", name]), message, true);
  const declarations = messages && declareVariables(messages, declared, warn);
  reportUnread(yaml, report);
  if (!isGood || messages === undefined) return undefined;
  return { ...texts({ title, description }), messages, llmConfig: jsonText(config), ...declarations };
}

/** The texts of a head, without those that it does not have. */
export const texts = ({ title, description }: { title: string; description: string }) => ({
  title: title || undefined,
  description: description || undefined,
});

const reference = /\$\{(env|file):([^}]*)\}/;

/**
 * A head with the files in the place of references to them. References to the environment have their default, if they have one,
 * as what stands there may be secret and is another on each machine.
 */
function resolveReferences(
  json: string,
  offsetOf: YamlSource["offsetOf"],
  { files }: ReadOptions,
  report: Report,
): string {
  const visit = (own: string, path: string[]): string | undefined => {
    if (own.startsWith("{")) {
      const members = [...readMembers(own)].flatMap(([name, member]): [string, string][] => {
        const value = visit(member, [...path, name]);
        return value === undefined ? [] : [[name, value]];
      });
      return stringifyMembers(members);
    }
    if (own.startsWith("[")) {
      return `[${readItems(own).flatMap((item, nth) => visit(item, [...path, String(nth)]) ?? []).join(",")}]`;
    }
    if (!own.startsWith('"')) return own;
    const text = JSON.parse(own) as string, [whole, kind, name] = reference.exec(text) ?? [];
    if (whole === undefined) return own;
    const field = `Field ${path.join(".")}`, at = offsetOf(path);
    if (kind === "env") {
      const [, variable, standard] = /^([^:]*)(?::(.*))?$/s.exec(name!)!;
      const why = `${whole}, as the environment is not read`;
      if (standard === undefined || whole !== text) return void report(at, `${field} is left out: it is ${why}`, true);
      report(at, `${field} is the default of ${variable}: ${why}`, true);
      return JSON.stringify(standard);
    }
    const file = files?.get(name!);
    if (file === undefined || whole !== text) {
      return void report(at, `${field} refers to a file that cannot be read here: ${whole}`);
    }
    return readReferenced(name!, file, () => void report(at, `${field} refers to ${name}, which is not valid`));
  };
  return reference.test(json) ? visit(json, []) ?? "{}" : json;
}

/** The files that front matter refers to, by their paths as written there. */
export const referencesIn = (source: string): string[] =>
  Array.from(source.matchAll(new RegExp(reference, "g")), ([, kind, name]) => kind === "file" ? [name!] : []).flat();

/** The JSON text of a file: of its value if it is JSON or YAML, or else of its text. */
export function readReferenced(name: string, text: string, refuse: () => undefined): string | undefined {
  if (name.endsWith(".json")) return describeJsonFault(text) === undefined ? compact(text) : refuse();
  if (!/\.ya?ml$/.test(name)) return JSON.stringify(text);
  // Only a mapping may be a whole document, so that this one becomes a member of it.
  const yaml = readYaml(`value:\n${text.replace(/^/gm, "  ")}`, 0, () => {});
  if (yaml === undefined) refuse();
  return yaml?.members.get("value")?.text;
}

/** The configuration: the model with its options, and the tools. */
function readModel({ value, offsetOf }: YamlSource, { keeps = [] }: ReadOptions, report: Report): string {
  const name = value.find(["model"], /^"/),
    model = value.object("model"),
    configuration = model.object("configuration");
  const members: ConfigMember[] = [
    ["provider", model.anything("provider") ?? configuration.anything("type")],
    ["model", name ?? model.anything("id") ?? configuration.anything("model", "azure_deployment")],
    ...model.object("parameters").rest(),
    ...model.object("options").rest(),
    ["tools", value.anything("tools")],
  ];
  const connection = model.anything("connection");
  const secrets: [string, string][] = [
    ...configuration.rest().map(([own, json]): [string, string] => [`configuration.${own}`, json]),
    ...(connection === undefined ? [] : [["connection", connection] satisfies [string, string]]),
  ];
  for (const [path, json] of secrets) {
    const own = path.replace(/^.*\./, "");
    if (keeps.includes(own) || keeps.includes(path)) members.push([own, json]);
    else {
      const at = offsetOf(["model", ...path.split(".")]);
      report(at, `Field model.${path} is left out, since it may be secret`, true);
    }
  }
  return stringifyMembers(joinMembers(members, (message) => report(offsetOf(["model"]), message, true)));
}

/** The language that a head names. */
function languageOf(value: Source): Language {
  const template = value.object("template"), format = template.object("format");
  const name = value.text("template") || template.text("format", "type") || format.text("kind");
  if (template.text("parser") === "prompty") template.skip("parser");
  return name === "mustache" || name === "handlebars" ? name : "jinja";
}

/** The inputs that a head declares, with samples as their examples, and those that stand for messages. */
function readInputs(value: Source) {
  const declared = new Map<string, DeclaredVariable>(), threads: string[] = [];
  const samples = value.object("sample");
  const add = (name: string, input: Source) => {
    const type = input.text("kind", "type"), isThread = type === "thread" || input.isTrue("is_chat_history");
    if (isThread) threads.push(name);
    const example = input.anything("default", "example", "sample") ?? samples.anything(name);
    declared.set(name, {
      type: isThread ? "thread" : type || undefined,
      example: exampleOf(example, type),
      isDefault: input.has("default"),
      required: input.has("required") ? input.isTrue("required") || input.has("default") : undefined,
      description: input.text("description") || undefined,
    });
  };
  const byName = value.object("inputs");
  for (const input of value.list("inputs")) add(input.text("name"), input);
  for (const name of byName.names()) {
    const input = byName.object(name), example = byName.find([name], /^[^{]/);
    // A plain value is the default of an input, and tells its type.
    if (example === undefined) add(name, input);
    else declared.set(name, { type: typeOf(example), example: exampleOf(example, typeOf(example)), isDefault: true });
  }
  for (const name of samples.names()) {
    const example = declared.has(name) ? undefined : samples.find([name], /^["\d-]/);
    if (example !== undefined) {
      declared.set(name, { type: typeOf(example), example: exampleOf(example, typeOf(example)) });
    }
  }
  return { declared, threads };
}

const typeOf = (json: string): string => /^[\d-]/.test(json) ? "number" : /^[tf]/.test(json) ? "boolean" : "text";

/** The value of an example. Of a text it is a text. */
function exampleOf(json: string | undefined, type: string): unknown {
  if (json === undefined || json === '""' || json === "[]") return undefined;
  return /^(?:|string|text)$/.test(type) && /^[\d-]/.test(json) ? json : JSON.parse(json);
}

type Draft = { message: TemplateMessage; start: number };
type Body = { threads: readonly string[]; language: Language; declared: Map<string, DeclaredVariable> };

const roleLine = /^\s*#?\s*(system|user|assistant|developer|tool|function)(\[[^\]]*\])?\s*:\s*$/i;

/** The messages of a body. Text before the first line with a role is of the system. */
function readBody(
  body: string,
  bodyStart: number,
  { threads, language, declared }: Body,
  report: Report,
): Draft[] | undefined {
  const drafts: Draft[] = [], loops = language === "jinja" ? findLoops(body) : [];
  let role = "system", members: [string, string][] = [], start = 0, isNamed = false, hasRole = true, isGood = true;
  const add = (end: number) => {
    for (const { text, at, variable } of splitThreads(body.slice(start, end), threads)) {
      const lead = /^(?:[ \t]*\n)*/.exec(text)![0].length, own = text.slice(lead).replace(/(?:\n[ \t]*)+$/, "");
      const isWhole = variable === undefined && at === 0 && start + text.length === end;
      if (variable !== undefined) drafts.push({ message: placeholderOf(variable), start: bodyStart + start + at });
      else if (own.trim() === "" && !(isNamed && isWhole)) continue;
      else if (!hasRole) {
        report(bodyStart + start + at + lead, "Text after a thread needs a line with its role");
        isGood = false;
      } else {
        const content = JSON.stringify(own.trim() === "" ? "" : own);
        const isTrimmed = !isNamed && isComment(own, language);
        drafts.push({ message: { role, content, members, language, isTrimmed }, start: bodyStart + start + at + lead });
      }
    }
  };
  let at = 0;
  for (const line of body.split("\n")) {
    if (loops[0] !== undefined && at > loops[0].end) loops.shift();
    const loop = loops[0] !== undefined && loops[0].start <= at ? loops[0] : undefined, next = at + line.length + 1;
    const [, name, attributes = ""] = loop === undefined ? roleLine.exec(line.slice(0, maxLine)) ?? [] : [];
    if (loop !== undefined && at === loop.start) {
      isNamed &&= body.slice(start, at).trim() !== "";
      add(at);
      drafts.push({ message: placeholderOf(loop.list), start: bodyStart + at });
      declared.set(loop.list, { ...declared.get(loop.list), type: "thread", example: undefined });
      report(
        bodyStart + at,
        `The loop over ${loop.list} is a placeholder: its messages are given as {{${loop.list}}}`,
        true,
      );
      [start, isNamed, hasRole] = [loop.end, false, false];
    } else if (name !== undefined) {
      add(at);
      [role, members, start, isNamed, hasRole] = [name.toLowerCase(), attributesIn(attributes), next, true, true];
    }
    at = next;
  }
  add(Math.max(start, body.length));
  return isGood ? drafts : undefined;
}

/** A text that has nothing but comments. */
const isComment = (text: string, language: Language): boolean =>
  readTemplate(text, language).every((piece) =>
    piece.kind === "comment" || piece.kind === "text" && piece.text.trim() === ""
  );

/** `[name="Alice"]` as members of a message. */
const attributesIn = (text: string): [string, string][] =>
  Array.from(text.matchAll(/(\w+)\s*=\s*"?([^",\]]*)"?/g), ([, name, value]): [string, string] => [
    name!,
    JSON.stringify(value!.trim()),
  ]).filter(([name]) => name !== "nonce");

/** The parts of a text before, between and after the variables that stand for messages. */
function splitThreads(text: string, threads: readonly string[]): { text: string; at: number; variable?: string }[] {
  const parts: { text: string; at: number; variable?: string }[] = [];
  let last = 0;
  for (const { index, 0: tag, 1: name } of text.matchAll(placeholder)) {
    if (!threads.includes(name!)) continue;
    parts.push({ text: text.slice(last, index), at: last }, { text: tag, at: index, variable: name! });
    last = index + tag.length;
  }
  return [...parts, { text: text.slice(last), at: last }];
}

const maxLine = 500; // characters of a line with a role, or of a loop
const loopStart = /^\s*\{%-?\s*for\s+(\w+)\s+in\s+([\w.]+)\s*-?%\}\s*$/, loopEnd = /^\s*\{%-?\s*endfor\s*-?%\}\s*$/;

type Loop = { start: number; end: number; list: string };

/**
 * The loops that write the messages of a list: lines with a role, which may be that of the item, and texts of the item. Each
 * with the offsets of its lines.
 */
function findLoops(body: string): Loop[] {
  const loops: Loop[] = [];
  let open: { start: number; item: string; list: string; lines: string[] } | undefined, at = 0;
  for (const whole of body.split("\n")) {
    const line = whole.slice(0, maxLine), [, item, list] = loopStart.exec(line) ?? [];
    if (item !== undefined) open = { start: at, item, list: list!, lines: [] };
    else if (open !== undefined && loopEnd.test(line)) {
      if (isChat(open.item, open.lines) && isVariable(open.list)) loops.push({ ...open, end: at + whole.length });
      open = undefined;
    } else if (line.trim() !== "") open?.lines.push(line);
    at += whole.length + 1;
  }
  return loops;
}

/** Determines if lines write a message of an item. */
function isChat(item: string, lines: readonly string[]): boolean {
  const own = String.raw`\{\{-?\s*${item}(?:\.\w+|\[["']?\w+["']?\])+\s*-?\}\}`;
  const tag = String.raw`\{%-?\s*(?:(?:el)?if\s+${item}\b[^%]*|else|endif)\s*-?%\}`;
  const role = new RegExp(String.raw`^\s*#?\s*(?:${own}|system|user|assistant|function|tool)\s*:\s*$`, "i");
  const text = new RegExp(String.raw`^\s*(?:(?:${own}|${tag})\s*)*$`);
  return lines.some((line) => role.test(line)) && lines.every((line) => role.test(line) || text.test(line));
}
