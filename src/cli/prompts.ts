// Commands for prompts and their versions, and how the command line shows them.
import { notFound } from "../common/errors.ts";
import type { PromptId, WorkspaceId } from "../common/ids.ts";
import { readPromptFile } from "../management/prompt-file.ts";
import { describePrompt } from "../management/prompt-text.ts";
import { listPrompts } from "../management/prompts.ts";
import { publishPrompt } from "../management/publications.ts";
import * as versions from "../management/versions.ts";
import type { PromptDiff, PromptVersion, PushResult } from "../management/versions.ts";
import { nameOfFile } from "../runtime/terminal.ts";
import { listPromptsWithDeployments } from "./catalog.ts";
import type { Call, Command, CommandContext, Outcome } from "./command.ts";
import { describeInactive } from "./deployments.ts";
import { format, stripControls } from "./format.ts";
import { pagesOf } from "./lists.ts";
import { present, userOf } from "./operation-commands.ts";

/** What a push did, in a sentence. */
const describePush = ({ isNew, id, version }: PushResult): string =>
  isNew ? `Pushed version ${version} of ${id}` : `Unchanged: version ${version} has this content already`;

async function push({ args, call, terminal }: CommandContext): Promise<Outcome> {
  const workspaceId = args.text<WorkspaceId>("workspace");
  const file = args.text("FILE");
  const content = readPromptFile(await terminal.read(file), nameOfFile(file));
  const promptId = args.findText<PromptId>("prompt");
  const deploy = args.findText("deploy");
  const note = args.findText("note");
  if (deploy !== undefined) {
    const actor = args.findText("actor") ?? userOf(terminal);
    const published = await call(publishPrompt, { ...content, note, actor, workspaceId, promptId, deploy });
    const { isNew, deployment: { changed, ...deployment }, ...prompt } = published;
    const serves = !changed
      ? "serves it"
      : deployment.revision === 1
      ? "is new and serves it"
      : "serves it from now on";
    const live = `${deployment.name} (${deployment.id}) ${serves}${describeInactive(deployment)}`;
    return {
      data: { ...prompt, deployment },
      text: () => format({ deployId: deployment.id, deployment: deployment.name, ...summaryOf(prompt) }),
      note: `${describePush({ ...prompt, isNew })}; ${live}`,
    };
  }
  const input = { ...content, note };
  if (promptId !== undefined) await checkWorkspace(call, workspaceId, promptId);
  const pushed = promptId === undefined
    ? await call(versions.createPrompt, { workspaceId, ...input })
    : await call(versions.pushPrompt, { id: promptId, ...input });
  const { isNew: _, ...prompt } = pushed;
  return { data: prompt, text: () => format(summaryOf(prompt)), note: describePush(pushed) };
}

/** A pushed prompt without its content, which the user has already. */
const summaryOf = ({ id, version, title, variables }: PromptVersion) => ({
  promptId: id,
  version,
  title,
  variables: variables.join(", "),
});

/** Refuses a prompt of another workspace, because the ids are probably mixed up. */
async function checkWorkspace(call: Call, workspaceId: WorkspaceId, promptId: PromptId): Promise<void> {
  for await (const page of pagesOf(call, listPrompts, { workspaceId })) {
    if (page.some(({ id }) => id === promptId)) return;
  }
  throw notFound("Prompt", promptId);
}

async function showPrompt({ args, call }: CommandContext): Promise<Outcome> {
  const id = args.text<PromptId>("ID");
  const version = args.findNumber("version");
  const prompt = version === undefined
    ? await call(versions.getPrompt, { id })
    : await call(versions.getPromptVersion, { id, version });
  const values = args.values("render");
  if (Object.keys(values).length === 0) return { data: prompt, text: () => toText(prompt) };
  const rendered = await call(versions.renderPrompt, { id, version: prompt.version, values });
  const unknown = Object.keys(values).filter((name) => !prompt.variables.includes(name));
  return {
    data: rendered,
    text: () => toText({ ...prompt, messages: rendered.messages }),
    note: unknown.length === 0 ? undefined : `Not in the prompt: ${unknown.join(", ")}`,
  };
}

/** A version as people read it. */
function toText({ title, description, messages, llmConfig, variables, ...meta }: PromptVersion): string {
  const head = format({ ...meta, variables: variables.join(", ") });
  return stripControls(`${head}
${describePrompt({ title, description, messages, llmConfig })}`);
}

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

/** Commands that call several operations. */
export const promptCommands: Command[] = [
  {
    usage: "prompt push FILE --workspace ID [--prompt ID] [--deploy DEPLOYMENT] [--note TEXT] [--actor NAME]",
    summary: "Push a prompt, or its next version; FILE is JSON, - is stdin; --deploy makes it live under a name or id",
    run: push,
  },
  {
    usage: "prompt show ID [--version N] [--render NAME=VALUE]...",
    summary:
      "Show a version of a prompt, by default the newest; --render fills in its variables, and needs all of them",
    run: showPrompt,
  },
];

export const promptPresentations = [
  present(listPrompts, { run: ({ call }, { workspaceId }) => listPromptsWithDeployments(call, workspaceId) }),
  present(versions.diffVersions, { show: showDiff }),
];
