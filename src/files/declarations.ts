// What a file declares of its variables, as a mapping `variables`, and whether its messages have the same ones.
import { jsonText } from "../common/json-text.ts";
import { findPlaceholders, soleVariable } from "../common/template.ts";
import { faultsOfDeclarations, toDeclarations } from "../management/declarations.ts";
import { compareDeclarations } from "../management/prompt-text.ts";
import type { PromptContent } from "../management/prompt-text.ts";
import type { FileContent } from "./content.ts";
import type { Report } from "./faults.ts";
import { splitFrontMatter } from "./members.ts";
import { offsetOfPath, parse } from "./yaml.ts";

const field = "variables";

/**
 * Reads declarations from the JSON text of a mapping, if a file has one. Returns undefined if it reported a fault, at the offset
 * of its path.
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

/** Reports variables that are used and not declared, or the other way round. A prompt need not declare its variables. */
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
