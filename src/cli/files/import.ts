// `import`: brings the prompts of other tools in, every version in its order. `export prompts` writes all versions as files.
import type { WorkspaceId } from "../../common/ids.ts";
import { groupBy } from "../../support/group-by.ts";
import { jsonText, stringify } from "../../common/json-text.ts";
import { canonicalOf } from "../../files/formats/content.ts";
import { readImport, sources } from "../../files/import/index.ts";
import type { NamedPrompt } from "../../files/import/index.ts";
import type { ImportedVersion } from "../../files/import/reader.ts";
import { maxReleaseSet } from "../../files/plan.ts";
import { writeNew } from "../../files/write.ts";
import { applyPrompts } from "../../management/release/apply.ts";
import type { PromptChange } from "../../management/release/apply.ts";
import { listDeployments } from "../../management/deployments/deployments.ts";
import { describeRole } from "../../management/kernel/declare.ts";
import { contentIn } from "../../management/prompts/prompt-text.ts";
import { listPrompts } from "../../management/prompts/prompts.ts";
import { promptName } from "../../management/kernel/values.ts";
import { listPromptContents } from "../../management/prompts/prompt-contents.ts";
import type { PromptContents } from "../../management/prompts/prompt-contents.ts";
import { endOfPath, listFiles, pathBelow, pathsForNames, pathToWrite } from "../../runtime/folder.ts";
import type { NewFile } from "../../runtime/new-file.ts";
import type { Terminal } from "../../runtime/terminal.ts";
import type { Arguments } from "../frame/arguments.ts";
import type { Call, Command, CommandContext, Outcome } from "../frame/command.ts";
import { counted, stripControls } from "../frame/format.ts";
import { describeStep, reportOf, summaryOf, toLines } from "./import-text.ts";
import type { Step } from "./import-text.ts";
import { pagesOf, readAll } from "../frame/lists.ts";
import { readUsage, remote } from "../frame/parameters.ts";
import { writeFile } from "./pull.ts";
import { findWorkspace } from "../frame/workspace.ts";

/** The tool that is named before the files, if one is. */
const sourceIn = (args: Arguments): string | undefined =>
  args.texts("FILE").length > 1 ? sources.find((source) => source === args.text("FILE")) : undefined;

/** The fault of the arguments of an import, if there is one. */
function checkImport(args: Arguments): string | undefined {
  const [first = "", second] = args.texts("FILE");
  if (sources.includes(first) && second === undefined) return `Name the files of ${first} behind it`;
  if (/^\w+$/.test(first) && !sources.includes(first)) {
    return `${first} must be one of ${sources.join(", ")}, or a file with an ending`;
  }
  const prefix = args.findText("prefix") ?? "";
  return promptName.is(`${prefix}x`) ? undefined : `--prefix must begin a name: ${promptName.type}`;
}

async function importPrompts(context: CommandContext): Promise<Outcome> {
  const { args, call, terminal } = context;
  const faults: string[] = [], warnings: string[] = [];
  const source = sourceIn(args), paths = args.texts("FILE").slice(source === undefined ? 0 : 1);
  const names = pathsForNames(paths);
  const files = await Promise.all(
    paths.map(async (path) => ({ path, name: names.get(path), text: await terminal.read(path) })),
  );
  const prompts = await readImport(source, files, {
    keepsLogic: args.has("keep-logic"),
    keeps: args.texts("keep"),
    complain: (place, message, isWarning) => void (isWarning ? warnings : faults).push(`${place}: ${message}`),
    read: (folder, path) => readBeside(folder, path, terminal),
    list: listFiles,
  });
  if (prompts.length + faults.length === 0) faults.push(`${paths.join(", ")}: has no prompts`);
  const workspaceId = await findWorkspace(call, args.findText<WorkspaceId>("workspace"));
  const steps = await planImport(context, workspaceId, prompts, faults);
  const todo = steps.filter(({ versions, deploy }) => versions.length + deploy.size > 0);
  for (const text of [...toLines(warnings), ...faults]) terminal.say(`${stripControls(text)}\n`);
  const isDry = args.has("dry-run");
  const summary = [
    `${counted(prompts.length, "prompt")} read`,
    `${todo.length} ${isDry || todo.length === 0 ? "to change" : "changed"}`,
    ...(faults.length === 0 ? [] : [`${counted(faults.length, "fault")}: see above`]),
  ].join(", ");
  const notes = [
    ...steps.flatMap(({ notes }) => notes),
    ...adviceOn(todo),
    isDry ? `${summary}. Nothing was changed` : summary,
  ];
  // A report that cannot be written stops the import before it changes anything.
  const report = await openReport(context, () => reportOf({ steps, warnings, faults, isDry, summary }));
  try {
    if (!isDry) await applySteps(todo, context, workspaceId);
  } catch (error) {
    await report?.leave();
    throw error;
  }
  await report?.finish();
  return {
    data: { prompts: todo.map(summaryOf), warnings, faults },
    text: () => todo.map((step) => stripControls(describeStep(step))).join(""),
    note: notes.join("\n"),
    failed: faults.length > 0,
  };
}

/** Writes the report of `--report` to a file that gets its name once the import is done. */
async function openReport({ args, terminal }: CommandContext, write: () => string): Promise<NewFile | undefined> {
  const path = args.findText("report");
  if (path === undefined) return undefined;
  const file = await terminal.create(await pathToWrite(path), { force: args.has("force") });
  await file.write(write());
  return file;
}

/** Says what becomes of files of a format that nobody keeps any more. */
const adviceOn = (steps: readonly Step[]): string[] =>
  steps.some(({ prompt: { path = "" } }) => /\.prompt\.ya?ml$/.test(path))
    ? ["The format .prompt.yml is no longer maintained: promptledger pull writes these prompts as Markdown"]
    : [];

/** Reads a file that an export names. Only those below its folder are its own. */
async function readBeside(folder: string, path: string, { exists, read }: Terminal): Promise<string | undefined> {
  const own = await pathBelow(folder, path);
  return await exists(own) ? await read(own) : undefined;
}

async function findArchived(call: Call, workspaceId: WorkspaceId): Promise<Set<string>> {
  const prompts = await readAll(call, listPrompts, { workspaceId, archived: true });
  return new Set(prompts.filter(({ archivedAt }) => archivedAt !== null).map(({ name }) => name));
}

async function planImport(
  { args, call, terminal }: CommandContext,
  workspaceId: WorkspaceId,
  prompts: readonly NamedPrompt[],
  faults: string[],
): Promise<Step[]> {
  const known = new Map<string, PromptContents[]>();
  let count = 0;
  for await (const page of allVersions(call, workspaceId)) {
    for (const [name, versions] of groupBy(page, ({ name }) => name)) {
      const all = known.get(name) ?? [];
      if (all.push(...versions) === versions.length) known.set(name, all);
    }
    terminal.report(`Read ${count += page.length} versions of the ledger`);
  }
  const archived = await findArchived(call, workspaceId);
  const deployments = await readAll(call, listDeployments, { workspaceId, archived: true });
  const references = new Map(deployments.map((each) => [each.reference, each.currentVersion]));
  return prompts.flatMap((prompt) => {
    const name = `${args.findText("prefix") ?? ""}${prompt.name}`;
    const versions = prompt.versions.map((each) => ({ ...each, note: noteOf(each, prompt) }));
    const step = planPrompt(name, { ...prompt, versions }, known.get(name) ?? [], references);
    const fault = archived.has(name)
      ? "is archived. Unarchive it, or import with another --prefix"
      : promptName.is(name)
      ? findOther(step, known.get(name) ?? [])
      : `is no name of a prompt: ${promptName.type}`;
    if (fault !== undefined) faults.push(`${name}: ${fault}`);
    return fault === undefined ? [step] : [];
  });
}

/** Why an import would put two prompts together: that of this name was imported as another one. */
function findOther({ prompt, versions }: Step, known: readonly PromptContents[]): string | undefined {
  const imports = known.flatMap(({ note, title }) => {
    const [, source, origin = ""] = importedBy.exec(note) ?? [];
    return source === undefined || !sources.includes(source) ? [] : [{ source, origin: origin.trim(), title }];
  });
  if (versions.length < prompt.versions.length || imports.length === 0) return undefined;
  const own = originOf(prompt);
  const isSame = imports.some(({ source, origin, title }) =>
    source === prompt.source &&
    (own === undefined ? title === prompt.versions[0]!.title : origin === own || origin === "")
  );
  if (isSame) return undefined;
  const { source, origin, title } = imports.at(-1)!;
  const other = own === undefined ? title : origin || title, this_ = own ?? prompt.versions[0]!.title;
  return `was imported from ${other} (${source}). Import ${this_} with a --prefix`;
}

const importedBy = /\((\w+)((?: [^()]*)?)\)$/;

/** The file that a prompt comes from. Undefined if it comes from an export of many. */
const originOf = ({ path }: NamedPrompt): string | undefined => path && endOfPath(path);

/** The versions of a prompt that the ledger lacks: those behind the last one that it has, in their order. */
function planPrompt(
  name: string,
  prompt: NamedPrompt,
  known: readonly PromptContents[],
  references: ReadonlyMap<string, number>,
): Step {
  const texts = prompt.versions.map(canonicalOf);
  const kept = prompt.versions.map((version, nth) => ({ version, text: texts[nth]! }))
    .filter(({ text }, nth) => nth === 0 || text !== texts[nth - 1]);
  const numbers: number[] = []; // of the versions, in the ledger
  for (const each of known) {
    const next = kept[numbers.length];
    if (next !== undefined && canonicalOf(each) === next.text) numbers.push(each.version);
  }
  const latest = known.at(-1)?.version ?? 0, missing = kept.slice(numbers.length).map(({ version }) => version);
  for (const nth of missing.keys()) numbers.push(latest + nth + 1);
  const step: Step = { name, prompt, latest, versions: missing, deploy: new Map(), notes: [] };
  if (missing.length === kept.length && latest > 0) {
    step.notes.push(
      `${name} exists with ${counted(latest, "version")} that are not of this import: its own follow them`,
    );
  }
  // A label stands at a version, or at one with the same content before it.
  let index = -1;
  for (const [nth, each] of prompt.versions.entries()) {
    if (nth === 0 || texts[nth] !== texts[nth - 1]) index++;
    for (const label of each.labels) {
      const live = references.get(`${name}@${label}`), before = step.deploy.get(label);
      if (before !== undefined && before !== numbers[index]) {
        step.notes.push(`${name}@${label} stands at two versions: it gets ${numbers[index]}, and not ${before}`);
      }
      if (live === undefined) step.deploy.set(label, numbers[index]!);
      else if (live !== numbers[index]) {
        step.notes.push(
          `${name}@${label} serves version ${live} and is not moved to ${numbers[index]}: promote it yourself`,
        );
      }
    }
  }
  return step;
}

const allVersions = (call: Call, workspaceId: WorkspaceId) =>
  pagesOf(call, listPromptContents, { workspaceId, versions: "all" as const, archived: true });

/** The note of a version, with the tool and the number or the file that it comes from. */
function noteOf({ number, note }: ImportedVersion, prompt: NamedPrompt): string {
  const from = number || (originOf(prompt) ?? "").replace(/[()]/g, "_");
  return `${note.slice(0, 1900).toWellFormed()}${note === "" ? "" : " "}(${prompt.source}${
    from === "" ? "" : ` ${from}`
  })`;
}

const maxDeployments = 20; // that one operation takes of a prompt

/** Applies the first missing version of each prompt, then the second ones, and deployments with the last. */
async function applySteps(
  steps: readonly Step[],
  { args, call, terminal }: CommandContext,
  workspaceId: WorkspaceId,
): Promise<void> {
  const rounds = steps.reduce((most, step) => Math.max(most, roundsOf(step)), 0);
  for (let round = 0; round < rounds; round++) {
    const changes = steps.flatMap((step) => changeIn(step, round));
    for (let start = 0; start < changes.length; start += maxReleaseSet / 10) {
      const part = changes.slice(start, start + maxReleaseSet / 10);
      await call(applyPrompts, { workspaceId, prompts: jsonText(stringify(part)), actor: args.findText("actor") });
      terminal.report(
        `Imported ${start + part.length} of ${changes.length} prompts, version ${round + 1} of ${rounds}`,
      );
    }
  }
}

/** A round for each version, and for each part of the deployments. The first part goes with the last version. */
const roundsOf = ({ versions, deploy }: Step): number =>
  Math.max(1, versions.length) + Math.max(0, Math.ceil(deploy.size / maxDeployments) - 1);

function changeIn(step: Step, round: number): PromptChange[] {
  const { name, latest, versions, deploy } = step, version = versions[round];
  const part = round - Math.max(0, versions.length - 1);
  if (version === undefined && part < 0 || round >= roundsOf(step)) return [];
  const { title, description, messages, llmConfig, declarations, note } = version ?? {};
  const content = version === undefined ? {} : { title, description, messages, llmConfig, declarations, note };
  const newest = latest + Math.min(round, versions.length);
  const lives = part < 0 ? [] : [...deploy].slice(part * maxDeployments, (part + 1) * maxDeployments);
  return [{
    ...{ name, ifLatest: newest || null, ...content },
    ...(lives.length > 0
      ? { deploy: lives.map(([label, version]) => ({ name: label, version, ifRevision: null })) }
      : {}),
  }];
}

async function exportPrompts({ args, call, terminal }: CommandContext): Promise<Outcome> {
  const folder = args.text("DIR");
  const workspaceId = await findWorkspace(call, args.findText<WorkspaceId>("workspace"));
  const names = new Set<string>();
  let count = 0;
  for await (const page of allVersions(call, workspaceId)) {
    for (const each of page) {
      const { name, version } = each;
      const { path, text } = writeNew(`${name}/${version}`, { ...contentIn(each), name });
      await writeFile(folder, path, text, args.has("force"), terminal);
      names.add(name);
      terminal.report(`Wrote ${++count} versions`);
    }
  }
  return { data: { folder, prompts: names.size, versions: count } };
}

export const importCommands: Command[] = [
  {
    ...readUsage(
      `import FILE... [--prefix PREFIX] [--keep-logic] [--keep MEMBER]... [--dry-run] [--report FILE] [--force] [--workspace WORKSPACE] [--actor NAME]${remote}`,
      {},
      {
        FILE: `Exports and prompt files. Their tool is detected, or named before them: ${sources.join(", ")}`,
        prefix: "A prefix for the names of the prompts, such as old/",
        "keep-logic": "Keep {% if %} and similar logic as text, instead of leaving out the prompt",
        keep: "A member of a configuration to keep although it may be secret, by its name or path",
        "dry-run": "Show what would be imported, and change nothing",
        report:
          "A Markdown report to write: the format of each file, the deployment made from each label, and what was left out",
        force: "Replace the file of --report if it exists",
      },
    ),
    summary:
      "Import prompts with all their versions from files of other tools. A repeated import adds only what is new",
    role: describeRole(applyPrompts),
    check: checkImport,
    run: importPrompts,
  },
  {
    ...readUsage(
      `export prompts DIR [--force] [--workspace WORKSPACE]${remote}`,
      {},
      {
        DIR: "The folder to write to",
      },
    ),
    summary: "Write every version of every prompt as a file: NAME/VERSION.md, or .json where Markdown cannot hold it",
    role: "viewer",
    run: exportPrompts,
  },
];
