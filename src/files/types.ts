// Types of prompts for applications: the references, the variables of each prompt, and the shape of its configuration.
import type { PromptContent } from "../management/prompt-text.ts";
import { splitVariables } from "../management/prompt-text.ts";
import { isObject } from "../schema/struct.ts";

/** What an application asks for: a prompt by its reference. */
export type TypedPrompt = { reference: string; content: PromptContent };

const header = "Written by `promptledger types`. Do not edit it: run that again.";

/** A TypeScript module with the type `Prompts`, for `createClient<Prompts>`. */
export function toTypeScript(prompts: readonly TypedPrompt[]): string {
  const entries = inOrder(prompts).map(({ reference, content }) => {
    const { all, lists } = splitVariables(content.messages);
    return `  ${JSON.stringify(reference)}: {\n` +
      `    variables: ${unionOf(all)};\n    lists: ${unionOf(lists)};\n` +
      `    llmConfig: ${shapeOf(JSON.parse(content.llmConfig.text), "    ")};\n  };\n`;
  });
  return `// ${header}\n\n/** For createClient<Prompts>() of promptledger/client. */\n` +
    `export type Prompts = {\n${
      entries.join("")
    }};\n\n/** The references of all prompts. */\nexport type Reference = keyof Prompts;\n`;
}

const inOrder = (prompts: readonly TypedPrompt[]): TypedPrompt[] =>
  [...prompts].sort((a, b) => a.reference < b.reference ? -1 : 1);

const unionOf = (names: readonly string[]): string =>
  names.length === 0 ? "never" : names.map((name) => JSON.stringify(name)).join(" | ");

/** The type of a JSON value. What differs between the items of a list is a union. */
function shapeOf(value: unknown, indent: string): string {
  if (Array.isArray(value)) {
    const shapes = [...new Set(value.map((item) => shapeOf(item, indent)))];
    return shapes.length === 0
      ? "unknown[]"
      : shapes.length === 1
      ? `${grouped(shapes[0]!)}[]`
      : `(${shapes.join(" | ")})[]`;
  }
  if (!isObject(value)) return value === null ? "null" : typeof value;
  const members = Object.entries(value);
  if (members.length === 0) return "Record<string, never>";
  const inner = `${indent}  `;
  return `{\n${
    members.map(([name, member]) => `${inner}${nameOf(name)}: ${shapeOf(member, inner)};\n`).join("")
  }${indent}}`;
}

const grouped = (shape: string): string => shape.includes(" | ") ? `(${shape})` : shape;
const nameOf = (name: string): string => /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);

/** A Python module with the same, for type checkers. It runs on Python 3.9 and newer. */
export function toPython(prompts: readonly TypedPrompt[]): string {
  const taken = new Set(reserved);
  const entries = inOrder(prompts).map(({ reference, content }) => {
    const { all, lists } = splitVariables(content.messages);
    const name = classNameOf(reference, taken), needed = all.filter((variable) => !lists.includes(variable));
    return {
      reference,
      name,
      text: lists.length === 0 ? dictOf(name, all) : dictWithLists(name, needed, lists, taken),
    };
  });
  const references = entries.map(({ reference }) => `    ${JSON.stringify(reference)},\n`).join("");
  const variables = entries.map(({ reference, name }) => `    ${JSON.stringify(reference)}: ${name},\n`).join("");
  return `"""${header}"""\n\nfrom typing import Literal, TypedDict, Union\n\nValue = Union[str, int, float, bool]\n\n` +
    `${entries.map(({ text }) => `${text}\n`).join("")}` +
    (entries.length === 0 ? "" : `Reference = Literal[\n${references}]\n\n`) +
    `#: The variables of each prompt, by its reference.\nVARIABLES = {\n${variables}}\n`;
}

/** The names that mean something else in the module. */
const reserved = ["False", "Literal", "None", "Reference", "True", "TypedDict", "Union", "VARIABLES", "Value"];

function dictOf(name: string, variables: readonly string[], options = ""): string {
  const members = variables.map((variable) => `    ${JSON.stringify(variable)}: Value,\n`).join("");
  return `${name} = TypedDict("${name}", {\n${members}}${options})\n`;
}

/** Lists of messages may take the place of some variables, which a dictionary need not have. Python 3.9 has no NotRequired. */
function dictWithLists(name: string, needed: readonly string[], lists: readonly string[], taken: Set<string>): string {
  if (needed.length === 0) return dictOf(name, lists, ", total=False");
  const [texts, others] = ["Texts", "Lists"].map((part) => freeName(name + part, taken)) as [string, string];
  return `${dictOf(texts, needed)}\n${dictOf(others, lists, ", total=False")}\n` +
    `class ${name}(${texts}, ${others}):\n    pass\n\n`;
}

/** `support/chat@production` → `SupportChatProduction`. */
function classNameOf(reference: string, taken: Set<string>): string {
  const words = reference.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  return freeName(
    words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join("").replace(/^(?=\d|$)/, "Prompt"),
    taken,
  );
}

function freeName(base: string, taken: Set<string>): string {
  let name = base;
  for (let nth = 2; taken.has(name); nth++) name = `${base}${nth}`;
  taken.add(name);
  return name;
}
