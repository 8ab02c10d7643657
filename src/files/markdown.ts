// A prompt as Markdown: YAML front matter, and its messages under headings that name their roles.
import { jsonText } from "../common/json-text.ts";
import { soleVariable } from "../common/template.ts";
import { canonicalOf, toMessages } from "./content.ts";
import type { FileContent, Message } from "./content.ts";
import { readVariables } from "./declarations.ts";
import type { Report } from "./faults.ts";
import { noEnd, readMembersOf, splitFrontMatter } from "./members.ts";
import type { Parts } from "./members.ts";
import { offsetOfPath, readYaml, writeYaml } from "./yaml.ts";
import type { Yaml } from "./yaml.ts";

const roles = "system|developer|user|assistant|tool";
/** A line that begins a message, or would if it had no backslashes. A placeholder may have its variable in the heading. */
const heading = new RegExp(String.raw`^(\\*)# (${roles}|placeholder)(?:(?<=placeholder)[ \t]+(\{\{.*\}\}))?[ \t]*$`);

/** Reads a prompt. Returns undefined if it reported a fault. `role` is that of a file without headings. */
export function readMarkdown(source: string, report: Report, role = "user"): FileContent | undefined {
  const parts = splitFrontMatter(source);
  if (parts === undefined) return void report(0, noEnd);
  const yaml = readYaml(parts.yaml, parts.start, report);
  const head = yaml && readHead(yaml, parts.start, report);
  const messages = readBody(parts, role, report);
  return head && messages && { ...head, messages: toMessages(messages) };
}

const members = ["name", "was", "title", "description", "llmConfig", "variables"];

/** The members of the front matter. */
function readHead(
  { members: given, document }: Yaml,
  start: number,
  report: Report,
): Omit<FileContent, "messages"> | undefined {
  const { text, mapping, refuseOthers, isGood } = readMembersOf(given, report);
  refuseOthers(members);
  const [name, was, title, description] = ["name", "was", "title", "description"].map(text);
  const llmConfig = jsonText(mapping("llmConfig") ?? "{}");
  const declared = readVariables(mapping("variables"), (path) => start + offsetOfPath(document, path), report);
  if (!isGood() || declared === undefined) return undefined;
  return { name, was, title, description, llmConfig, ...declared };
}

/** The messages of a body. Without headings all of it is one message. */
function readBody({ body, bodyStart }: Parts, role: string, report: Report): Message[] | undefined {
  const messages: { role: string; lines: string[]; variable: string | undefined; at: number }[] = [];
  const before: string[] = [];
  let at = bodyStart;
  for (const line of body.split("\n")) {
    const [, slashes, name, variable] = heading.exec(line) ?? [];
    if (slashes === "") messages.push({ role: name!, lines: [], variable, at });
    else (messages.at(-1)?.lines ?? before).push(slashes === undefined ? line : line.slice(1));
    at += line.length + 1;
  }
  const lead = textOf(before);
  if (messages.length === 0) return lead === "" ? [] : [{ role, content: lead }];
  if (lead.trim() !== "") return void report(bodyStart, "Text before the first heading belongs to no message");
  const wrong = messages.find(({ variable, lines }) =>
    variable !== undefined && (soleVariable(variable) === undefined || textOf(lines).trim() !== "")
  );
  if (wrong !== undefined) {
    return void report(wrong.at, "A placeholder with a variable in its heading must be one variable, without a text");
  }
  return messages.map(({ role, lines, variable }) => ({ role, content: variable ?? textOf(lines) }));
}

/** Empty lines around a text are there for the reader of the file. */
const textOf = (lines: readonly string[]): string => lines.join("\n").replace(/^\n+|\n+$/g, "");

/**
 * Writes a prompt, or gives undefined if Markdown cannot hold it. Of `existing`, the file as it is, comments and the order of
 * members survive.
 */
export function writeMarkdown(content: FileContent, existing = ""): string | undefined {
  const messages = readMessages(content);
  const known = splitFrontMatter(existing);
  const yaml = known && readYaml(known.yaml, 0, () => {});
  if (messages === undefined) return undefined;
  const head = writeYaml(frontMatterOf(content), yaml);
  const body = messages.map(({ role, content }) =>
    role === "placeholder" && soleVariable(content) !== undefined
      ? `# ${role} ${content}\n`
      : `# ${role}\n${content === "" ? "" : `${escapeHeadings(content)}\n`}`
  );
  const text = `---\n${head}---\n${body.join("\n")}`;
  // Whatever does not read back as it was is kept as JSON, and so are line ends of Windows, which files may get by themselves.
  const read = text.includes("\r\n") ? undefined : readMarkdown(text, () => {});
  return read !== undefined && canonicalOf(read) === canonicalOf(content) && read.name === content.name
    ? text
    : undefined;
}

const escapeHeadings = (text: string): string =>
  text.split("\n").map((line) => heading.test(line) ? `\\${line}` : line).join("\n");

/** The messages, if each is a role and a text. */
function readMessages({ messages }: FileContent): Message[] | undefined {
  const all = JSON.parse(messages.text) as Record<string, unknown>[];
  const isPlain = all.every((message) =>
    Object.keys(message).length === 2 && [message.role, message.content].every((text) => typeof text === "string")
  );
  return isPlain ? all as Message[] : undefined;
}

/** The members of front matter. Undefined ones are to be absent. */
function frontMatterOf(
  { name, was, title, description, llmConfig, declarations }: FileContent,
): [string, string | undefined][] {
  const textOf = (value: string | undefined) => value === undefined ? undefined : JSON.stringify(value);
  return [
    ["name", textOf(name)],
    ["was", textOf(was)],
    ["title", textOf(title)],
    ["description", textOf(description || undefined)],
    ["llmConfig", llmConfig.text === "{}" ? undefined : llmConfig.text],
    ["variables", declarations?.text],
  ];
}
