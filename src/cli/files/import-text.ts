// The output of `import` for people: a line for each prompt, and a report in Markdown.
import { groupBy } from "../../support/group-by.ts";
import type { NamedPrompt } from "../../files/import/index.ts";
import type { ImportedVersion } from "../../files/import/reader.ts";
import { joinWords } from "../../files/formats/messages.ts";
import { variablesOf } from "../../management/prompts/prompt-text.ts";
import { isObject } from "../../schema/struct.ts";
import { counted } from "../frame/format.ts";

/** The changes that an import makes to a prompt: the versions that the ledger lacks, and deployments that are new. */
export type Step = {
  name: string;
  prompt: NamedPrompt;
  latest: number;
  versions: ImportedVersion[];
  deploy: Map<string, number>;
  notes: string[];
};

/** The newest version of a prompt in short, so that a wrong reading is seen at once. */
function digestOf({ prompt }: Step) {
  const { title, messages, llmConfig } = prompt.versions.at(-1)!;
  const config = JSON.parse(llmConfig.text) as Record<string, unknown>;
  const all = JSON.parse(messages.text) as { role: string }[];
  const model = [config.provider, config.model].filter((name) => typeof name === "string" && name !== "").join("/");
  return {
    title,
    roles: all.map(({ role }) => role),
    variables: variablesOf(messages),
    model,
    tools: toolsIn(config.tools),
  };
}

/** The names of tools, wherever a provider has them. */
const toolsIn = (tools: unknown): string[] =>
  (Array.isArray(tools) ? tools : isObject(tools) ? Object.keys(tools) : []).map((tool: unknown) => {
    if (typeof tool === "string") return tool;
    const own = isObject(tool) ? tool : {}, called = isObject(own.function) ? own.function : own;
    return [called.name, own.type].find((name) => typeof name === "string") as string | undefined ?? "unnamed";
  });

/** A step as data. */
export function summaryOf(step: Step) {
  const { name, prompt, versions, deploy } = step;
  return {
    ...{ name, versions: versions.length, deployments: Object.fromEntries(deploy) },
    ...{ from: prompt.source, ...digestOf(step) },
  };
}

const maxNamed = 12; // roles or variables of a line

const listed = (words: readonly string[], none: string): string =>
  words.length === 0
    ? none
    : words.length > maxNamed
    ? `${words.slice(0, maxNamed).join(", ")} and ${words.length - maxNamed} more`
    : words.join(", ");

/** The changes to a prompt, and in a second line its newest version in short. */
export function describeStep(step: Step): string {
  const { name, prompt, latest, versions, deploy } = step, { title, roles, variables, model, tools } = digestOf(step);
  const added = versions.length === 0 ? [] : [counted(versions.length, "version")];
  const lives = [...deploy].map(([label, version]) => `${label} → ${version}`);
  const parts = [
    listed(roles, "no messages"),
    `variables: ${listed(variables, "none")}`,
    `model: ${model || "none"}`,
    ...(tools.length === 0 ? [] : [`tools: ${listed(tools, "none")}`]),
  ];
  const from = prompt.path ?? title;
  return `${latest === 0 ? "+" : "~"} ${name}: ${[...added, ...lives].join(", ")}\n  ${from}: ${parts.join("; ")}\n`;
}

const maxAlike = 3; // messages that are shown with each of their places

/** Messages as lines, of which those that say the same of many places become one. */
export function toLines(messages: readonly string[]): string[] {
  const parts = messages.map((text) => {
    const [, place = "", message = text] = /^(.*?): (.*)$/s.exec(text) ?? [];
    return { place, message, text };
  });
  return [...groupBy(parts, ({ message }) => message)].flatMap(([message, same]) =>
    same.length <= maxAlike
      ? same.map(({ text }) => text)
      : [`${same[0]!.place}, and ${same.length - 1} more: ${message}`]
  );
}

type Report = {
  steps: readonly Step[];
  warnings: readonly string[];
  faults: readonly string[];
  isDry: boolean;
  summary: string;
};

/** The report of an import as Markdown: what was read, which label became which deployment, and what was left out. */
export function reportOf({ steps, warnings, faults, isDry, summary }: Report): string {
  const tools = joinWords([...new Set(steps.map(({ prompt }) => prompt.source))]);
  const prompts = steps.map((step) => {
    const { title, roles, variables, model, tools } = digestOf(step), { prompt, name, versions } = step;
    return [
      ...[name, prompt.path ?? title, prompt.source, `${versions.length} of ${prompt.versions.length}`],
      ...[roles.join(", "), variables.join(", "), model, tools.join(", ")],
    ];
  });
  const labels = steps.flatMap(({ name, prompt, deploy }) =>
    [...prompt.deployments].map(([label, deployment]) => {
      const there = prompt.versions.findLast(({ labels }) => labels.includes(deployment))?.number ?? "";
      return [name, label, there, deployment, deploy.get(deployment)?.toString() ?? "as it was"];
    })
  );
  const split = (text: string) => (/^(.*?): (.*)$/s.exec(text) ?? ["", "", text]).slice(1);
  return [
    `# Import${tools === "" ? "" : ` from ${tools}`}\n`,
    `${summary}.${isDry ? " Nothing was changed: this was a dry run." : ""}\n`,
    "## Prompts\n",
    table(["prompt", "read from", "tool", "new versions", "roles", "variables", "model", "tools"], prompts),
    "## Deployments\n",
    table(["prompt", "label", "at version", "deployment", "at version here"], labels),
    "## Left out or changed\n",
    table(["where", "what"], warnings.map(split)),
    "## Not imported\n",
    table(["where", "why"], faults.map(split)),
    ...steps.flatMap(({ notes }) => notes).map((note) => `- ${escape(note)}`),
  ].join("\n");
}

const escape = (text: string): string => text.replace(/[\p{Cc}\n]+/gu, " ").replace(/[\\`*_[\]<>|#]/g, "\\$&");

function table(head: readonly string[], rows: readonly string[][]): string {
  if (rows.length === 0) return "None.\n";
  const line = (cells: readonly string[]) => `| ${cells.map(escape).join(" | ")} |\n`;
  return line(head) + `| ${head.map(() => "---").join(" | ")} |\n` + rows.map(line).join("");
}
