// A prompt as Markdown: YAML front matter, and its messages under headings that name their roles.
import { jsonText } from "../../common/json-text.ts";
import { soleVariable } from "../../support/template.ts";
import { canonicalOf, toMessages } from "./content.ts";
import type { FileContent, Message } from "./content.ts";
import { readVariables } from "./declarations.ts";
import { changedMembers, editMembers } from "./edit-members.ts";
import { partnersIn } from "./edit.ts";
import type { Report } from "./faults.ts";
import { noEnd, readMembersOf, splitFrontMatter } from "./members.ts";
import type { Parts } from "./members.ts";
import { offsetOfPath, readYaml, writeYaml } from "./yaml.ts";
import type { Yaml } from "./yaml.ts";

const roles = "system|developer|user|assistant|tool";
/**
 * A line that begins a message, or would if it had no backslashes. A placeholder may have its variable in the heading.
 */
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

/** A heading with the lines below it, as they are in the file. */
type Section = { heading: string; role: string; variable: string | undefined; lines: string[] };

/** Splits a body at its headings. `lead` is the lines before the first one. */
function splitBody(body: string): { lead: string[]; sections: Section[] } {
  const lead: string[] = [], sections: Section[] = [];
  for (const line of body.split("\n")) {
    const [, slashes, role, variable] = heading.exec(line) ?? [];
    if (slashes === "") sections.push({ heading: line, role: role!, variable, lines: [] });
    else (sections.at(-1)?.lines ?? lead).push(line);
  }
  return { lead, sections };
}

/** The messages of a body. Without headings all of it is one message. */
function readBody({ body, bodyStart }: Parts, role: string, report: Report): Message[] | undefined {
  const { lead, sections } = splitBody(body), text = textOf(lead);
  if (sections.length === 0) return text === "" ? [] : [{ role, content: text }];
  if (text.trim() !== "") return void report(bodyStart, "Text before the first heading belongs to no message");
  let at = bodyStart + lengthOf(lead);
  for (const { heading, variable, lines } of sections) {
    if (variable !== undefined && (soleVariable(variable) === undefined || textOf(lines).trim() !== "")) {
      return void report(at, "A placeholder with a variable in its heading must be one variable, without a text");
    }
    at += lengthOf([heading, ...lines]);
  }
  return sections.map(messageOf);
}

/** A line that looks like one that begins a message. */
const almostHeading = new RegExp(String.raw`^#[ \t]*(${roles}|placeholder)[ \t]*:?[ \t]*$`, "i");

/**
 * Reports lines that look like headings and are text. It is a fault if the file has no headings and begins with such a line, for
 * then all of it is one message of the user.
 */
export function checkHeadings(source: string, report: Report): void {
  const { body, bodyStart } = splitFrontMatter(source)!, { sections } = splitBody(body);
  const isFault = sections.length === 0 && almostHeading.test(body.trimStart().split("\n", 1)[0]!);
  let at = bodyStart;
  for (const line of body.split("\n")) {
    const [, role] = heading.test(line) ? [] : almostHeading.exec(line) ?? [];
    if (role !== undefined) {
      const cure = `A message begins with # ${role.toLowerCase()}`;
      const ofText = isFault ? ". If this is text, begin the message with # user" : "";
      report(at, `${line.trim()} begins no message. ${cure}${ofText}`, !isFault);
    }
    at += line.length + 1;
  }
}

/** Number of characters in lines, including their ends. */
const lengthOf = (lines: readonly string[]): number => lines.reduce((sum, { length }) => sum + length + 1, 0);

const messageOf = ({ role, variable, lines }: Section): Message => ({ role, content: variable ?? textOf(lines) });

/** The text of lines. Empty lines around it are there for the reader of the file. */
const textOf = (lines: readonly string[]): string =>
  lines.map((line) => heading.test(line) ? line.slice(1) : line).join("\n").replace(/^\n+|\n+$/g, "");

/** The lines of a text: the inverse. */
const linesOf = (text: string): string[] =>
  text === "" ? [] : text.split("\n").map((line) => heading.test(line) ? `\\${line}` : line);

/**
 * Writes a prompt, or gives undefined if Markdown cannot hold it. Of `existing`, the file as it is, everything stays as it is
 * written that need not change.
 */
export function writeMarkdown(content: FileContent, existing?: string): string | undefined {
  const messages = readMessages(content);
  if (messages === undefined) return undefined;
  const edited = existing === undefined ? undefined : editMarkdown(content, messages, existing);
  return [edited, newMarkdown(content, messages)].find((text) => {
    // Whatever does not read back as it was is kept as JSON, and so are line ends of Windows, which files may get by themselves.
    const read = text === undefined || text.includes("\r\n") ? undefined : readMarkdown(text, () => {});
    return read !== undefined && canonicalOf(read) === canonicalOf(content) && read.name === content.name;
  });
}

const newMarkdown = (content: FileContent, messages: readonly Message[]): string =>
  `---\n${writeYaml(frontMatterOf(content))}---\n${
    messages.map((message) => `${newSection(message).join("\n")}\n`).join("\n")
  }`;

const newSection = ({ role, content }: Message, before = 0): string[] =>
  isHeadingVariable(role, content)
    ? [`# ${role} ${content}`]
    : [`# ${role}`, ...(content === "" ? [] : [...blank(before), ...linesOf(content)])];

const isHeadingVariable = (role: string, content: string): boolean =>
  role === "placeholder" && soleVariable(content) !== undefined && /^\{.*\}$/.test(content);

/** Changes what differs. Returns undefined if the front matter has a form in which that cannot be done. */
function editMarkdown(content: FileContent, messages: readonly Message[], existing: string): string | undefined {
  const { yaml, start, body, bodyStart } = splitFrontMatter(existing)!;
  const source = yaml === "" ? "" : `${yaml}\n`, current = readMarkdown(existing, () => {});
  const head = current && editMembers(source, changedMembers(frontMatterOf(current), frontMatterOf(content)), "yaml");
  if (head === undefined) return undefined;
  const front = bodyStart > 0
    ? existing.slice(0, start) + head + existing.slice(start + source.length, bodyStart)
    : head && `---\n${head}---\n`;
  return front + editBody(body, messages);
}

function editBody(body: string, messages: readonly Message[]): string {
  const { lead, sections } = splitBody(body), [first, ...others] = messages;
  if (sections.length === 0 && first?.role === "user" && first.content !== "" && others.length === 0) {
    return withText(lead, first.content).join("\n");
  }
  const before = sections.map(messageOf), last = sections.length - 1;
  const keyOf = ({ role, content }: Message) => `${role} ${content}`;
  const partners = partnersIn(
    before.map(keyOf),
    messages.map(keyOf),
    (old, own) => before[old]!.role === messages[own]!.role,
  );
  // New sections are spaced like the first one, and what is last ends as the file did.
  const model = marginsOf(sections[0]?.lines ?? []), between = sections.length > 1 ? model.behind : 1;
  const ending = marginsOf(sections[last]?.lines ?? [""]).behind;
  const written = messages.flatMap((message, nth) => {
    const partner = partners[nth], isLast = nth === messages.length - 1;
    const lines = partner === undefined
      ? newSection(message, model.before)
      : editSection(sections[partner]!, message, model.before);
    return partner !== undefined && (partner === last) === isLast
      ? lines
      : withEnding(lines, isLast ? ending : between);
  });
  return [...(sections.length === 0 ? blank(marginsOf(lead).before) : lead), ...written].join("\n");
}

/** The lines of a section with another text. */
function editSection(section: Section, { role, content }: Message, before: number): string[] {
  const { heading, variable, lines } = section;
  if (messageOf(section).content === content) return [heading, ...lines];
  if (variable === undefined) return [heading, ...withText(lines, content, before)];
  if (isHeadingVariable(role, content)) return [heading.replace(variable, () => content), ...lines];
  return [...newSection({ role, content }, before), ...lines];
}

/** Puts another text between the empty lines around that of some lines. If they have none, `before` empty lines precede it. */
function withText(lines: readonly string[], text: string, before = 0): string[] {
  const margins = marginsOf(lines), isEmpty = textOf(lines) === "";
  return [...blank(isEmpty ? before : margins.before), ...linesOf(text), ...blank(margins.behind)];
}

const withEnding = (lines: readonly string[], behind: number): string[] => [
  ...lines.slice(0, lines.length - marginsOf(lines).behind),
  ...blank(behind),
];

const blank = (count: number): string[] => new Array<string>(count).fill("");

/** The number of empty lines before what stands in some lines, and behind it. */
function marginsOf(lines: readonly string[]): { before: number; behind: number } {
  const last = lines.findLastIndex((line) => line !== "");
  return { before: Math.max(0, lines.findIndex((line) => line !== "")), behind: lines.length - 1 - last };
}

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
