// Types of prompts for applications: the references, each prompt's variables, and the shape of its configuration.
import { readDeclarations } from "../management/prompts/declarations.ts";
import type { VariableType } from "../management/prompts/declarations.ts";
import type { PromptContent } from "../management/prompts/prompt-text.ts";
import { splitVariables } from "../management/prompts/prompt-text.ts";
import { isObject } from "../schema/struct.ts";

/** A prompt, and the reference by which an application reads it. */
export type TypedPrompt = { reference: string; content: PromptContent };

const header = "Written by `promptledger types`. Do not edit it: run that again.";

/** A variable as applications fill it. A variable declared as messages takes only lists of messages. */
type Variable = { name: string; type: VariableType | undefined; isOptional: boolean; takesLists: boolean };

function variablesIn({ messages, declarations }: PromptContent): Variable[] {
  const { all, lists } = splitVariables(messages), declared = readDeclarations(declarations);
  return all.map((name) => {
    const { type, required = true } = declared.get(name) ?? {}, isSole = lists.includes(name);
    // A variable within a text takes text, even if it is declared as messages.
    const known = type === "messages" && !isSole ? undefined : type;
    return { name, type: known, isOptional: !required, takesLists: isSole && (known ?? "messages") === "messages" };
  });
}

const typescript = { text: "string", number: "number | bigint", boolean: "boolean", messages: "readonly object[]" };

/**
 * A TypeScript module with the type `Prompts`, for `createClient<Prompts>`, and the declarations needed at run time.
 */
export function toTypeScript(prompts: readonly TypedPrompt[]): string {
  const entries = inOrder(prompts).map(({ reference, content }) => {
    const variables = variablesIn(content), optional = variables.filter(({ isOptional }) => isOptional);
    const types = variables.flatMap(({ name, type }) =>
      type === undefined ? [] : [`      ${nameOf(name)}: ${typescript[type]};\n`]
    );
    const key = JSON.stringify(reference);
    return {
      type: `  ${key}: {\n    variables: ${unionOf(variables)};\n` +
        `    lists: ${unionOf(variables.filter(({ takesLists }) => takesLists))};\n` +
        (types.length === 0 ? "" : `    types: {\n${types.join("")}    };\n`) +
        (optional.length === 0 ? "" : `    optional: ${unionOf(optional)};\n`) +
        `    llmConfig: ${shapeOf(JSON.parse(content.llmConfig.text), "    ")};\n  };\n`,
      defaults: optional.length === 0 ? "" : `  ${key}: { optional: { ${optional.map(defaultOf).join(", ")} } },\n`,
    };
  });
  const constant = prompts.some(({ content }) => content.declarations !== undefined)
    ? `\n/** For createClient<Prompts>({ prompts }): what stands for variables that need no value. */\n` +
      `export const prompts = {\n${entries.map(({ defaults }) => defaults).join("")}} as const;\n`
    : "";
  return `// ${header}\n\n/** For createClient<Prompts>() of promptledger/client. */\n` +
    `export type Prompts = {\n${entries.map(({ type }) => type).join("")}};\n\n` +
    `/** The references of all prompts. */\nexport type Reference = keyof Prompts;\n${constant}`;
}

/** A name of an object literal, in which `__proto__` would not be a member unless it is computed. */
const defaultOf = ({ name, type }: Variable): string =>
  `${name === "__proto__" ? '["__proto__"]' : nameOf(name)}: ${type === "messages" ? "[]" : '""'}`;

const inOrder = (prompts: readonly TypedPrompt[]): TypedPrompt[] =>
  [...prompts].sort((a, b) => a.reference < b.reference ? -1 : 1);

const unionOf = (variables: readonly Variable[]): string =>
  variables.length === 0 ? "never" : variables.map(({ name }) => JSON.stringify(name)).join(" | ");

/** The type of a JSON value. Items of a list that differ become a union. */
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

/** A Python module with these types, for type checkers. It runs on Python 3.9 and newer. */
export function toPython(prompts: readonly TypedPrompt[]): string {
  const taken = new Set(reserved);
  const entries = inOrder(prompts).map(({ reference, content }) => {
    const name = classNameOf(reference, taken);
    const variables = variablesIn(content), optional = variables.filter(({ isOptional }) => isOptional);
    const texts = variables.filter(({ type }) => type !== "messages");
    const needed = texts.filter(({ isOptional, takesLists }) => !isOptional && !takesLists);
    const others = texts.filter((variable) => !needed.includes(variable));
    return {
      reference,
      name,
      text: others.length === 0 ? dictOf(name, needed) : dictWithOptional(name, needed, others, taken),
      defaults: optional.length === 0
        ? ""
        : `    ${JSON.stringify(reference)}: {"optional": {${optional.map(pythonDefaultOf).join(", ")}}},\n`,
    };
  });
  const references = entries.map(({ reference }) => `    ${JSON.stringify(reference)},\n`).join("");
  const variables = entries.map(({ reference, name }) => `    ${JSON.stringify(reference)}: ${name},\n`).join("");
  const constant = prompts.some(({ content }) => content.declarations !== undefined)
    ? `\n#: For Client(prompts=PROMPTS) of promptledger: what stands for variables that need no value.\n` +
      `PROMPTS = {\n${entries.map(({ defaults }) => defaults).join("")}}\n`
    : "";
  return `"""${header}"""\n\nfrom typing import Literal, TypedDict, Union\n\nValue = Union[str, int, float, bool]\n\n` +
    `${entries.map(({ text }) => `${text}\n`).join("")}` +
    (entries.length === 0 ? "" : `Reference = Literal[\n${references}]\n\n`) +
    `#: The variables of each prompt, by its reference.\nVARIABLES = {\n${variables}}\n${constant}`;
}

const pythonDefaultOf = ({ name, type }: Variable): string =>
  `${JSON.stringify(name)}: ${type === "messages" ? "[]" : '""'}`;

/** Names that are already used in the module. */
const reserved = [
  "False",
  "Literal",
  "None",
  "PROMPTS",
  "Reference",
  "True",
  "TypedDict",
  "Union",
  "VARIABLES",
  "Value",
];

const python = { text: "str", number: "float", boolean: "bool", messages: "Value" };

function dictOf(name: string, variables: readonly Variable[], options = ""): string {
  const members = variables.map(({ name, type }) =>
    `    ${JSON.stringify(name)}: ${type === undefined ? "Value" : python[type]},\n`
  );
  return `${name} = TypedDict("${name}", {\n${members.join("")}}${options})\n`;
}

/**
 * A dictionary with optional variables: those that need no value, or that lists may fill. Python 3.9 has no
 * NotRequired.
 */
function dictWithOptional(name: string, needed: Variable[], optional: Variable[], taken: Set<string>): string {
  if (needed.length === 0) return dictOf(name, optional, ", total=False");
  const [texts, others] = ["Texts", "Lists"].map((part) => freeName(name + part, taken)) as [string, string];
  return `${dictOf(texts, needed)}\n${dictOf(others, optional, ", total=False")}\n` +
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
