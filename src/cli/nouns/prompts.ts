// Commands for prompts and their versions, also to push them from files and pull them to files.
import { conflict, invalid, Refusal } from "../../common/errors.ts";
import { isId } from "../../common/ids.ts";
import type { DeploymentId, PromptId, WorkspaceId } from "../../common/ids.ts";
import { indent, stringify } from "../../common/json-text.ts";
import { readLiveVersion } from "../../management/deployments/deployment-changes.ts";
import { getDeployment } from "../../management/deployments/deployments.ts";
import { describeRole } from "../../management/kernel/declare.ts";
import { shortCommit } from "../../management/kernel/origin.ts";
import type { FileContent } from "../../files/formats/content.ts";
import { plainText } from "../../files/formats/edit.ts";
import { describeFault, reportTo } from "../../files/formats/faults.ts";
import type { Fault } from "../../files/formats/faults.ts";
import { formatOf } from "../../files/formats/formats.ts";
import { nameOfPath, readPromptFile, toPromptFile } from "../../management/prompts/prompt-file.ts";
import { describePrompt } from "../../management/prompts/prompt-text.ts";
import { archivePrompt, listPrompts, renamePrompt, unarchivePrompt } from "../../management/prompts/prompts.ts";
import { publishPrompt } from "../../management/release/publications.ts";
import type { Publication } from "../../management/release/publications.ts";
import { diffVersions, renderPrompt } from "../../management/prompts/renderings.ts";
import type { PromptDiff } from "../../management/prompts/renderings.ts";
import { deploymentName } from "../../management/kernel/values.ts";
import { getPrompt, getPromptVersion, listPromptVersions } from "../../management/prompts/versions.ts";
import type { PromptDetails, PromptVersion, VersionSummary } from "../../management/prompts/versions.ts";
import { isFolder } from "../../runtime/folder.ts";
import { nameOfFile, pathFrom } from "../../runtime/terminal.ts";
import type { Terminal } from "../../runtime/terminal.ts";
import { check } from "../../schema/struct.ts";
import type { Arguments } from "../frame/arguments.ts";
import { listPromptsWithDeployments } from "../frame/catalog.ts";
import { describeRequest } from "./changes.ts";
import type { Call, Command, CommandContext, Outcome } from "../frame/command.ts";
import { describeInactive, describeVariables, showArchiving, showRename } from "./deployments.ts";
import { format, stripControls } from "../frame/format.ts";
import { readAll } from "../frame/lists.ts";
import { present } from "../frame/operation-commands.ts";
import { readUsage, remote } from "../frame/parameters.ts";

async function showPrompt({ args, call }: CommandContext): Promise<Outcome> {
  const prompt = await findPrompt({ args, call });
  const { id } = prompt;
  const values = args.values("render");
  if (Object.keys(values).length === 0) return { data: prompt, text: () => toText(prompt) };
  const rendered = await call(renderPrompt, { id, version: prompt.version, values });
  const unknown = Object.keys(values).filter((name) => !prompt.variables.includes(name));
  return {
    data: rendered,
    text: () => toText({ ...prompt, messages: rendered.messages }),
    note: unknown.length === 0 ? undefined : `Not in the prompt: ${unknown.join(", ")}`,
  };
}

/** Formats a version for people. */
function toText(
  { title, description, messages, llmConfig, declarations, variables, prompt, ...meta }:
    & PromptVersion
    & Partial<PromptDetails>,
): string {
  const archived = prompt === undefined || prompt.archivedAt === null ? {} : { archivedAt: prompt.archivedAt };
  const head = format({ ...meta, ...archived, variables: variables.join(", ") });
  return stripControls(`${head}
${describePrompt({ title, description, messages, llmConfig, declarations })}`);
}

const toVersionRow = ({ origin, ...version }: VersionSummary) => ({ ...version, commit: shortCommit(origin) });

function showDiff(data: PromptDiff, { terminal }: CommandContext): Outcome {
  return {
    data,
    text: () => terminal.isColoured ? coloured(stripControls(data.diff)) : stripControls(data.diff),
    note: data.diff === "" ? `Nothing differs between versions ${data.from} and ${data.to}` : undefined,
  };
}

const bold = "\x1b[1m", red = "\x1b[31m", green = "\x1b[32m", cyan = "\x1b[36m", plain = "\x1b[m";
const colours: Record<string, string> = { "-": red, "+": green, "@": cyan };

/** Colours a unified diff, whose first two lines are its header. */
const coloured = (diff: string): string =>
  diff.split("\n").map((line, index) => {
    const colour = index < 2 && line !== "" ? bold : colours[line.charAt(0)];
    return colour === undefined ? line : `${colour}${line}${plain}`;
  }).join("\n");

async function push({ args, call, terminal }: CommandContext): Promise<Outcome> {
  const workspaceId = args.text<WorkspaceId>("workspace");
  const file = args.text("FILE");
  if (file !== "-" && await isFolder(file)) {
    throw invalid(`${file} is a folder. Push its prompts with plan and apply: promptledger plan --dir ${file}`);
  }
  const { name: ownName, was, title, ...content } = readFile(await terminal.read(file), file, terminal);
  if (was !== undefined) {
    throw invalid(
      `${nameOfFile(file)}: Field was is for plan and apply, which rename ${was}. Remove it, or use prompt rename`,
    );
  }
  const promptId = args.findText<PromptId>("prompt");
  const deploy = args.findText("deploy");
  const isKnown = promptId !== undefined || deploy !== undefined && isDeployment(deploy);
  const root = args.findText("root");
  const given = args.findText("name") ?? (promptId === undefined ? ownName : undefined);
  const ofPath = () => {
    const path = root === undefined || file === "-" ? file : pathFrom(root, file);
    return nameOfPath(path.replace(/\.prompt\.(md|ya?ml)$/, ".md"));
  };
  const name = given ?? (isKnown ? undefined : ofPath());
  const published = await call(publishPrompt, {
    ...content,
    title: title ?? name ?? await findTitle(call, promptId, workspaceId) ?? ofPath(),
    workspaceId,
    name,
    promptId,
    deploy,
    force: args.has("force"),
    ifUnique: !args.has("new"),
    note: args.findText("note"),
    actor: args.findText("actor"),
  });
  const { isNew: isNewVersion, deployment, ...pushed } = published;
  const prompt = { ...pushed, isNewVersion };
  const { id, version, variables } = prompt;
  const summary = {
    promptId: id,
    name: prompt.name,
    version,
    title: prompt.title,
    variables: variables.join(", "),
  };
  const said = [describePush(published), describeNewVariables(published), describeLive(published)];
  const note = said.filter((text) => text !== "").join("; ");
  if (deployment === undefined) return { data: prompt, text: () => format(summary), note };
  const { changed: __, ...live } = deployment;
  return {
    data: { ...prompt, deployment: live },
    text: () => format({ deployId: live.id, deployment: live.reference, ...summary }),
    note,
    differs: live.request !== undefined,
  };
}

/** The title that a prompt has. */
const findTitle = async (
  call: Call,
  id: PromptId | undefined,
  workspaceId: WorkspaceId,
): Promise<string | undefined> => id && (await call(getPrompt, { id, workspaceId })).title;

/** Reads a prompt file: JSON, or what a folder of prompts may have. The refusal of a field names the file too. */
function readFile(source: string, path: string, { say }: Terminal): FileContent | ReturnType<typeof readPromptFile> {
  // JSON may be in a file of any name.
  const format = path.endsWith(".json") || /^\s*\{\s*"/.test(source) ? undefined : formatOf(path),
    name = nameOfFile(path);
  if (format !== undefined) {
    const faults: Fault[] = [], text = plainText(source);
    const content = format.read(text, reportTo(faults, path, text));
    if (content === undefined) {
      throw invalid(faults.filter(({ isWarning }) => !isWarning).map(describeFault).join("\n"));
    }
    for (const fault of faults) say(`${stripControls(describeFault(fault))}\n`);
    return content;
  }
  try {
    return readPromptFile(source, name);
  } catch (error) {
    if (!(error instanceof Refusal) || error.field === undefined) throw error;
    throw invalid(`${name}: ${error.message}`);
  }
}

/** Describes what a push did. */
function describePush({ isNew, isNewPrompt, name, version }: Publication): string {
  if (isNewPrompt) return `Pushed version ${version} of the new prompt ${name}`;
  return isNew
    ? `Pushed version ${version} of ${name}`
    : `Unchanged: version ${version} of ${name} has this content already`;
}

/** Empty for a new prompt. */
const describeNewVariables = ({ variableChanges: { since, ...changes } }: Publication): string =>
  since === null ? "" : describeVariables(since, changes);

function describeLive({ deployment }: Publication): string {
  if (deployment === undefined) return "";
  const { changed, revision, reference, id, request } = deployment;
  if (request !== undefined) return describeRequest(request);
  const serves = !changed ? "serves it" : revision === 1 ? "is new and serves it" : "serves it from now on";
  return `${reference} (${id}) ${serves}${describeInactive(deployment)}`;
}

function checkPush(args: Arguments): string | undefined {
  const deploy = args.findText("deploy");
  if (deploy !== undefined && !isDeployment(deploy)) check(deploymentName, deploy, "--deploy");
  const [name, other] = ["name", "prompt", "root"].filter((name) => args.findText(name) !== undefined);
  return other === undefined ? undefined : `--${name} and --${other} exclude each other`;
}

/** The version that REF and `--version` name. Default: the live one of a deployment, the newest of a prompt. */
export async function findPrompt(
  { args, call }: Pick<CommandContext, "args" | "call">,
): Promise<PromptVersion & Partial<PromptDetails>> {
  const workspaceId = args.findText<WorkspaceId>("workspace");
  const reference = args.text("REF");
  const version = args.findNumber("version"), time = args.findNumber("time");
  if (isDeployment(reference)) {
    if (version !== undefined) throw invalid("--version is for prompts: a deployment has one live version");
    if (time !== undefined) {
      const { promptId, version } = await call(readLiveVersion, { id: reference, workspaceId, time });
      if (version === null) throw conflict(`${reference} did not exist yet at that time`);
      return await call(getPromptVersion, { id: promptId as PromptId, version });
    }
    const deployment = await call(getDeployment, { id: reference, workspaceId });
    return await call(getPromptVersion, { id: deployment.promptId, version: deployment.currentVersion });
  }
  const id = reference as PromptId;
  if (time !== undefined) {
    const all = await readAll(call, listPromptVersions, { id, workspaceId });
    const found = all.find(({ createdAt }) => createdAt <= time);
    if (found === undefined) throw conflict(`${reference} did not exist yet at that time`);
    return await call(getPromptVersion, { id, workspaceId, version: found.version });
  }
  return version === undefined
    ? await call(getPrompt, { id, workspaceId })
    : await call(getPromptVersion, { id, workspaceId, version });
}

/** True if a text is the id of a deployment, or a reference. */
const isDeployment = (text: string): text is DeploymentId => isId("dep", text) || text.includes("@");

async function pull({ args, call, terminal }: CommandContext): Promise<Outcome> {
  const path = args.text("FILE");
  const prompt = await findPrompt({ args, call });
  const data = toPromptFile(prompt);
  const text = `${indent(stringify(data))}\n`;
  if (path === "-") return { data, text: () => text };
  const file = await terminal.create(path, { force: args.has("force") });
  await file.write(text);
  await file.finish();
  const { id, name, version } = prompt;
  return { data: { file: path, promptId: id, name, version } };
}

/** Explanations of the options that select a version. */
const shownVersion = {
  REF: "A prompt, for its newest version, or NAME@DEPLOYMENT, for its live version. Ids work for both",
  version: "Another version of the prompt",
  time: "The version that was newest at this time, or that the deployment served then",
};

/** Finds options of these commands that exclude each other. */
const checkShown = (args: Arguments): string | undefined =>
  args.findNumber("version") !== undefined && args.findNumber("time") !== undefined
    ? "--version and --time exclude each other"
    : undefined;

const stream = "- is standard";

const fileCommands: Command[] = [
  {
    ...readUsage(
      "prompt push FILE [--name NAME] [--root DIR] [--prompt REF] [--new] [--deploy DEPLOYMENT] [--force] " +
        `[--note TEXT] [--actor NAME]${remote}`,
      publishPrompt.input.schema,
      {
        FILE: `The prompt file: JSON, or another format of prompt folders, such as Markdown. ${stream} input, as JSON`,
        name: "The name of the prompt. Default: the name in the file, or else its path without the extension",
        root: "The folder that the default name is relative to: with prompts, prompts/a.json is named a",
        new: "Create the prompt even if another one has its title or its content",
      },
    ),
    summary: "Push the next version of a prompt, or a new prompt",
    role: describeRole(publishPrompt),
    check: checkPush,
    run: push,
  },
  {
    ...readUsage(
      `prompt pull REF FILE [--version N] [--time TIME] [--force]${remote}`,
      getPromptVersion.input.schema,
      { ...shownVersion, FILE: `The file to write. ${stream} output` },
    ),
    summary: "Write a version to a file for prompt push",
    role: describeRole(getPromptVersion),
    check: checkShown,
    run: pull,
  },
];

/** Commands that call several operations. */
export const promptCommands: Command[] = [
  ...fileCommands,
  {
    ...readUsage(
      `prompt show REF [--version N] [--time TIME] [--render NAME=VALUE]...${remote}`,
      getPromptVersion.input.schema,
      { ...shownVersion, render: "The value of a variable. All variables are required" },
    ),
    summary: "Show a version of a prompt",
    role: describeRole(getPromptVersion),
    check: checkShown,
    run: showPrompt,
  },
];

export const promptPresentations = [
  present(listPrompts, { run: ({ call }, input) => listPromptsWithDeployments(call, input) }),
  present(renamePrompt, { show: showRename }),
  present(archivePrompt, { show: showArchiving }),
  present(unarchivePrompt, { show: showArchiving }),
  present(listPromptVersions, { row: toVersionRow }),
  present(diffVersions, { show: showDiff }),
];
