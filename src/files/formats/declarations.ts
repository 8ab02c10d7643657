// Variable declarations of a file, in a mapping `variables`, and their comparison with the variables of its messages.
import { jsonText, stringify } from "../../common/json-text.ts";
import { findPlaceholders, soleVariable } from "../../support/template.ts";
import { faultsOfDeclarations, toDeclarations } from "../../management/prompts/declarations.ts";
import { compareDeclarations, splitVariables } from "../../management/prompts/prompt-text.ts";
import type { PromptContent } from "../../management/prompts/prompt-text.ts";
import type { Messages } from "../../schema/serving.ts";
import type { FileContent } from "./content.ts";
import type { Report } from "./faults.ts";
import { splitFrontMatter } from "./members.ts";
import { offsetOfPath, parse } from "./yaml.ts";

const field = "variables";

/**
 * Reads declarations from the JSON text of a mapping, if a file has one. Returns undefined if it reported a fault, at
 * the offset of its path.
 */
export function readVariables(
  text: string | undefined,
  offsetOf: (path: string[]) => number,
  report: Report,
): Pick<FileContent, "declarations"> | undefined {
  if (text === undefined) return {};
  const faults = faultsOfDeclarations(text, field);
  for (const { path, message } of faults) report(offsetOf([field, ...path]), message);
  return faults.length > 0 ? undefined : { declarations: toDeclarations(jsonText(text), field) };
}

/** Reports variables that are used but not declared, and the reverse. A prompt need not declare its variables. */
export function checkDeclared(source: string, content: PromptContent, report: Report): void {
  const { undeclared, unused, misplaced } = compareDeclarations(content);
  const { yaml, start, bodyStart } = splitFrontMatter(source)!;
  for (const name of undeclared) {
    const place = findPlaceholders(source.slice(bodyStart)).find(({ start, end }) =>
      soleVariable(source.slice(bodyStart + start, bodyStart + end)) === name
    );
    report(
      bodyStart + (place?.start ?? 0),
      `Variable ${name} is not declared. Add it to ${field}, or correct its name`,
    );
  }
  if (unused.length + misplaced.length === 0) return;
  // JSON has no front matter, and is YAML itself.
  const document = parse(yaml === "" ? source : yaml);
  const reportDeclared = (name: string, message: string) =>
    report(start + offsetOfPath(document, [field, name]), message);
  for (const name of unused) reportDeclared(name, `Variable ${name} is declared and never used`);
  for (const name of misplaced) {
    reportDeclared(name, `Variable ${name} is declared as messages, so it must be the whole content of a message`);
  }
}

/** A variable as another tool declares it, in its own words. `example` is a JSON value, which may be its default there. */
export type DeclaredVariable = {
  type?: string | undefined;
  example?: unknown;
  isDefault?: boolean | undefined;
  required?: boolean | undefined;
  description?: string | undefined;
};

const types: Record<string, "text" | "number" | "boolean" | "messages"> = {
  ...{ integer: "number", int: "number", float: "number", double: "number", number: "number" },
  ...{ boolean: "boolean", bool: "boolean", thread: "messages", messages: "messages", chat_messages: "messages" },
};

/**
 * The declarations of all variables of messages, if another tool declared any. `warn` receives the name of each variable of
 * which something has no place, and what that is.
 */
export function declareVariables(
  messages: Messages,
  declared: ReadonlyMap<string, DeclaredVariable>,
  warn: (name: string, message: string) => void,
): Pick<FileContent, "declarations"> {
  const { all, lists } = splitVariables(messages);
  for (const name of declared.keys()) {
    const isPart = all.some((own) => own.startsWith(`${name}.`));
    if (!all.includes(name) && !isPart) warn(name, `The input ${name} is left out, since no message has it`);
  }
  if (!all.some((name) => declared.has(name))) return {};
  const declarations = new Map<string, object>();
  for (const name of all) {
    const { type: own = lists.includes(name) && !declared.has(name) ? "messages" : "text", ...more } =
      declared.get(name) ?? {};
    const type = Object.hasOwn(types, own) && (types[own] !== "messages" || lists.includes(name))
      ? types[own]!
      : "text";
    const required = more.required === false ? { required: false } : {};
    const description = more.description ? { description: more.description } : {};
    const whole = {
      type,
      ...(more.example === undefined ? {} : { example: more.example }),
      ...required,
      ...description,
    };
    const isFine = faultsOfDeclarations(stringify({ [name]: whole }), field).length === 0;
    if (!isFine) warn(name, `The example of ${name} is left out, since it is no ${type}`);
    if (isFine && more.isDefault && more.example !== undefined) {
      warn(name, `The default of ${name} is an example here: the application gives each value`);
    }
    declarations.set(name, isFine ? whole : { type, ...required });
  }
  const text = stringify(Object.fromEntries(declarations)), faults = faultsOfDeclarations(text, field);
  if (faults.length === 0) return { declarations: toDeclarations(jsonText(text), field) };
  warn("", `What is said of the inputs is left out: ${faults[0]!.message}`);
  return {};
}
