// Importers in tests: their fixtures, which are rebuilt from the public samples and schemas of each tool, with `hidden-value` where a
// secret may stand, and what they read.
import { readFile } from "node:fs/promises";
import { parseDocument } from "yaml";
import * as assert from "uvu/assert";
import { canonicalOf } from "../../src/files/formats/content.ts";
import { formatOf } from "../../src/files/formats/formats.ts";
import { readImport, sources } from "../../src/files/import/index.ts";
import type { NamedPrompt } from "../../src/files/import/index.ts";
import type { ImportedFile, ImportOptions } from "../../src/files/import/reader.ts";
import { writeNew } from "../../src/files/write.ts";
import { isObject } from "../../src/schema/struct.ts";
import { pathOf } from "../runtimes.ts";

export const fixtures: Record<string, string[]> = {
  ...Object.fromEntries(sources.map((source) => [source, [`${source}.json`]])),
  github: ["github.prompt.yml"],
  dotprompt: ["dotprompt.prompt"],
  prompty: ["prompty-1.prompty", "prompty-2.prompty"],
  promptfoo: ["promptfooconfig.yaml"],
  mlflow: ["mlflow.ndjson"],
  agents: ["agents.prompt.md"],
};

export const readFixture = (name: string): Promise<string> => readFile(pathOf(`test/files/fixtures/${name}`), "utf8");
export const filesOf = (source: string): Promise<ImportedFile[]> =>
  Promise.all(fixtures[source]!.map(async (path) => ({ path, text: await readFixture(path) })));

export type Read = { prompts: NamedPrompt[]; left: string[]; faults: string[] };

/** Reads files, and collects warnings and faults. Without a source, the tool is recognized. */
export async function read(
  source: string | undefined,
  files: ImportedFile[],
  options: Partial<ImportOptions> = {},
): Promise<Read> {
  const result: Read = { prompts: [], left: [], faults: [] };
  result.prompts = await readImport(source, files, {
    keepsLogic: false,
    complain: (place, message, isWarning) =>
      void (isWarning ? result.left : result.faults).push(`${place}: ${message}`),
    read: (_, path) => readFixture(path).catch(() => undefined),
    ...options,
  });
  return result;
}

/** A file that nobody exported, with a name that its importer reads. */
export const fileOf = (source: string, text: string): ImportedFile => ({
  path: fixtures[source]![0]!.replace(/^\w+/, "some"),
  text,
});

/** An export as JSON. */
export const exportOf = (source: string, value: unknown): ImportedFile => fileOf(source, JSON.stringify(value));

/** The roles and the texts of the newest version's messages. */
export const rolesAndTexts = ({ versions }: NamedPrompt): [role: string, text: string][] =>
  (JSON.parse(versions.at(-1)!.messages.text) as { role: string; content: string }[]).map((
    { role, content },
  ) => [role, content]);

/** The content of the oldest version after it was written as a file and read again. */
export function asFile({ name, versions: [version] }: NamedPrompt): string {
  const { title, description, messages, llmConfig, declarations } = version!;
  const { path, text } = writeNew(name, { title, description, messages, llmConfig, declarations });
  const content = formatOf(path)!.read(text, (_, message) => assert.unreachable(message))!;
  return canonicalOf({ description: "", ...content, title: content.title ?? title });
}

/** Versions as lines: what each is called, its messages as `role: content`, and its configuration. */
export const shown = (prompts: readonly NamedPrompt[]): string[][] =>
  prompts.flatMap(({ name, versions }) =>
    versions.map(({ number, title, description, note, labels, messages, llmConfig, declarations }) => [
      [name, number, title, description, note, ...labels].join("|"),
      ...(JSON.parse(messages.text) as { role: string; content: unknown }[]).map(({ role, content, ...more }) =>
        `${role}: ${typeof content === "string" ? content : JSON.stringify(content)}${
          Object.keys(more).length === 0 ? "" : ` ${JSON.stringify(more)}`
        }`
      ),
      llmConfig.text,
      ...(declarations === undefined ? [] : [declarations.text]),
    ])
  );

/** The YAML of a file, and what is below it. JSON has no YAML. */
export function partsOf(text: string): { head: string | undefined; body: string } {
  const [, head, body = ""] = /^---\n([^]*?)\n---\n([^]*)$/.exec(text) ?? [];
  return { head: head ?? (/^\s*[{[]/.test(text) ? undefined : text), body };
}

/** The documents of a file as values, and how a file is made of such values again. */
export function documentsOf(text: string): { values: unknown[]; write(values: unknown[]): string } {
  const { head, body } = partsOf(text);
  if (head !== undefined) {
    // JSON is YAML.
    const write = ([value]: unknown[]) =>
      body === "" ? JSON.stringify(value) : `---\n${JSON.stringify(value)}\n---\n${body}`;
    return { values: [parseDocument(head).toJS()], write };
  }
  const lines = text.trim().split(/\n(?=\{)/);
  const write = (values: unknown[]) => values.map((value) => JSON.stringify(value)).join("\n");
  return { values: lines.map((line) => JSON.parse(line) as unknown), write };
}

/** The members of a prompt that an importer keeps, and those that it names as left out. */
export type Row = { source: string; kept: string[]; left: string[] };

const pages = ["data", "items", "results", "prompts", "commits"];

/** The objects that are prompts or versions in documents, which may be pages of them. */
const itemsOf = (value: unknown): Record<string, unknown>[] => {
  if (Array.isArray(value)) return value.flatMap(itemsOf);
  if (!isObject(value)) return [];
  const page = pages.find((name) => Array.isArray(value[name]) && !("description" in value));
  return page === undefined ? [value] : itemsOf(value[page]);
};

/** The members of prompts that an importer keeps or reads, and those that it names as left out. */
export async function membersOf(source: string): Promise<Row> {
  const kept = new Set<string>(), left = new Set<string>();
  for (const file of await filesOf(source)) {
    const { values, write } = documentsOf(file.text);
    const readWith = async (name: string | undefined) => {
      const without = structuredClone(values);
      for (const item of itemsOf(without)) if (name !== undefined) delete item[name];
      return await read(source, [{ ...file, text: write(without) }]);
    };
    const all = await readWith(undefined);
    for (const name of new Set(itemsOf(values).flatMap((item) => Object.keys(item)))) {
      const { prompts, left: others } = await readWith(name);
      const isLeft = others.length < all.left.length ||
        all.left.some((line) => new RegExp(`\\b${name}\\b.* left out`).test(line));
      if (JSON.stringify(shown(prompts)) !== JSON.stringify(shown(all.prompts))) kept.add(name);
      else if (isLeft) left.add(name);
    }
  }
  return { source, kept: [...kept].sort(), left: [...left].filter((name) => !kept.has(name)).sort() };
}
