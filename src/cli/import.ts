// `import`: brings the prompts of others in, every version in its order. `export prompts` writes all versions as files.
import type { WorkspaceId } from "../common/ids.ts";
import { jsonText, stringify } from "../common/json-text.ts";
import { canonicalOf } from "../files/content.ts";
import { readImport, sources } from "../files/import/index.ts";
import type { ImportedPrompt, ImportedVersion } from "../files/import/reader.ts";
import { maxReleaseSet } from "../files/plan.ts";
import { writeNew } from "../files/write.ts";
import { applyPrompts } from "../management/apply.ts";
import type { PromptChange } from "../management/apply.ts";
import { listDeployments } from "../management/deployments.ts";
import { describeRole } from "../management/operation.ts";
import { contentIn } from "../management/prompt-text.ts";
import { listPrompts } from "../management/prompts.ts";
import { promptName } from "../management/values.ts";
import { listPromptContents } from "../management/prompt-contents.ts";
import type { PromptContents } from "../management/prompt-contents.ts";
import { pathBelow } from "../runtime/folder.ts";
import type { Terminal } from "../runtime/terminal.ts";
import type { Arguments } from "./arguments.ts";
import type { Call, Command, CommandContext, Outcome } from "./command.ts";
import { counted, stripControls } from "./format.ts";
import { pagesOf, readAll } from "./lists.ts";
import { readUsage, remote } from "./parameters.ts";
import { writeFile } from "./pull.ts";
import { findWorkspace } from "./workspace.ts";

/** What an import does to a prompt: the versions that the ledger lacks, and deployments that are new. */
type Step = { name: string; latest: number; versions: ImportedVersion[]; deploy: Map<string, number>; notes: string[] };

/** What is wrong with the arguments of an import. */
function checkImport(args: Arguments): string | undefined {
  if (!sources.includes(args.text("FROM"))) return `FROM must be one of ${sources.join(", ")}`;
  const prefix = args.findText("prefix") ?? "";
  return promptName.is(`${prefix}x`) ? undefined : `--prefix must begin a name: ${promptName.type}`;
}

async function importPrompts({ args, call, terminal }: CommandContext): Promise<Outcome> {
  const from = args.text("FROM");
  const faults: string[] = [], warnings: string[] = [];
  const files = await Promise.all(args.texts("FILE").map(async (path) => ({ path, text: await terminal.read(path) })));
  const prompts = await readImport(from, files, {
    keepsLogic: args.has("keep-logic"),
    complain: (place, message, isWarning) => void (isWarning ? warnings : faults).push(`${place}: ${message}`),
    read: (folder, path) => readBeside(folder, path, terminal),
  });
  const workspaceId = await findWorkspace(call, args.findText<WorkspaceId>("workspace"));
  const archived = await findArchived(call, workspaceId);
  const steps = (await planImport({ args, call, terminal }, workspaceId, prompts, from)).filter(({ name }) => {
    const fault = archived.has(name)
      ? "is archived. Unarchive it, or import with another --prefix"
      : promptName.is(name)
      ? undefined
      : `is no name of a prompt: ${promptName.type}`;
    if (fault !== undefined) faults.push(`${name}: ${fault}`);
    return fault === undefined;
  });
  const todo = steps.filter(({ versions, deploy }) => versions.length + deploy.size > 0);
  for (const text of [...warnings, ...faults]) terminal.say(`${stripControls(text)}\n`);
  const lines = todo.map(describeStep);
  const isDry = args.has("dry-run");
  if (!isDry) await applySteps(todo, { args, call, terminal }, workspaceId);
  const summary = [
    `${counted(prompts.length, "prompt")} read`,
    `${todo.length} ${isDry ? "to change" : "changed"}`,
    ...(faults.length === 0 ? [] : [`${counted(faults.length, "fault")}: see above`]),
  ].join(", ");
  return {
    data: {
      prompts: todo.map(({ name, versions, deploy }) => ({
        name,
        versions: versions.length,
        deployments: Object.fromEntries(deploy),
      })),
      warnings,
      faults,
    },
    text: () => lines.map((line) => `${line}\n`).join(""),
    note: [...steps.flatMap(({ notes }) => notes), isDry ? `${summary}. Nothing was changed` : summary].join("\n"),
    failed: faults.length > 0,
  };
}

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
  prompts: readonly ImportedPrompt[],
  from: string,
): Promise<Step[]> {
  const known = new Map<string, PromptContents[]>();
  let count = 0;
  for await (const page of allVersions(call, workspaceId)) {
    for (const each of page) known.set(each.name, [...known.get(each.name) ?? [], each]);
    terminal.report(`Read ${count += page.length} versions of the ledger`);
  }
  const deployments = await readAll(call, listDeployments, { workspaceId, archived: true });
  const references = new Map(deployments.map((each) => [each.reference, each.currentVersion]));
  return prompts.map(({ name: ownName, versions }) => {
    const name = `${args.findText("prefix") ?? ""}${ownName}`;
    return planPrompt(
      name,
      versions.map((each) => ({ ...each, note: noteOf(each, from) })),
      known.get(name) ?? [],
      references,
    );
  });
}

/** The versions of a prompt that the ledger lacks: those behind the last one that it has, in their order. */
function planPrompt(
  name: string,
  all: readonly ImportedVersion[],
  known: readonly PromptContents[],
  references: ReadonlyMap<string, number>,
): Step {
  const versions = all.filter((each, index) => index === 0 || canonicalOf(each) !== canonicalOf(all[index - 1]!));
  const numbers: number[] = []; // of the versions, in the ledger
  for (const each of known) {
    const next = versions[numbers.length];
    if (next !== undefined && canonicalOf(each) === canonicalOf(next)) numbers.push(each.version);
  }
  const latest = known.at(-1)?.version ?? 0, missing = versions.slice(numbers.length);
  numbers.push(...missing.map((_, index) => latest + index + 1));
  const step: Step = { name, latest, versions: missing, deploy: new Map(), notes: [] };
  // A label stands at a version, or at one with the same content before it.
  let index = -1;
  for (const [nth, each] of all.entries()) {
    if (nth === 0 || canonicalOf(each) !== canonicalOf(all[nth - 1]!)) index++;
    for (const label of each.labels) {
      const live = references.get(`${name}@${label}`);
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

const noteOf = ({ number, note }: ImportedVersion, from: string): string =>
  `${note.slice(0, 1900).toWellFormed()}${note === "" ? "" : " "}(${from}${number === "" ? "" : ` ${number}`})`;

function describeStep({ name, latest, versions, deploy }: Step): string {
  const made = versions.length === 0 ? [] : [counted(versions.length, "version")];
  const lives = [...deploy].map(([label, version]) => `${label} → ${version}`);
  return `${latest === 0 ? "+" : "~"} ${name}: ${[...made, ...lives].join(", ")}`;
}

/** Applies the first missing version of each prompt, then the second ones, and deployments with the last. */
async function applySteps(
  steps: readonly Step[],
  { args, call, terminal }: CommandContext,
  workspaceId: WorkspaceId,
): Promise<void> {
  const rounds = Math.max(0, ...steps.map(({ versions }) => Math.max(1, versions.length)));
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

function changeIn({ name, latest, versions, deploy }: Step, round: number): PromptChange[] {
  const isLast = round === Math.max(0, versions.length - 1), version = versions[round];
  if (version === undefined && !isLast) return [];
  const { title, description, messages, llmConfig, note } = version ?? {};
  const content = version === undefined ? {} : { title, description, messages, llmConfig, note };
  return [{
    ...{ name, ifLatest: latest + round || null, ...content },
    ...(isLast ? { deploy: [...deploy].map(([label, version]) => ({ name: label, version, ifRevision: null })) } : {}),
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
      `import FROM FILE... [--prefix PREFIX] [--keep-logic] [--dry-run] [--workspace WORKSPACE] [--actor NAME]${remote}`,
      {},
      {
        FROM: `Whose files these are: ${sources.join(", ")}`,
        FILE: "Exports as files",
        prefix: "What the names of the prompts begin with, such as old/",
        "keep-logic": "Keep {% if %} and the like as text, where otherwise the prompt is left out",
        "dry-run": "Say what would be imported, and change nothing",
      },
    ),
    summary: "Import prompts with all their versions from exports of others. A second time only what is new",
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
