// The commands for prompts and their versions, and how the command line shows them.
import { describeRole } from "../management/operation.ts";
import { shortCommit } from "../management/origin.ts";
import { describePrompt } from "../management/prompt-text.ts";
import { archivePrompt, listPrompts, renamePrompt, unarchivePrompt } from "../management/prompts.ts";
import { diffVersions, renderPrompt } from "../management/renderings.ts";
import type { PromptDiff } from "../management/renderings.ts";
import { getPromptVersion, listPromptVersions } from "../management/versions.ts";
import type { PromptDetails, PromptVersion, VersionSummary } from "../management/versions.ts";
import { listPromptsWithDeployments } from "./catalog.ts";
import type { Command, CommandContext, Outcome } from "./command.ts";
import { showArchiving, showRename } from "./deployments.ts";
import { format, stripControls } from "./format.ts";
import { present } from "./operation-commands.ts";
import { readUsage, remote } from "./parameters.ts";
import { checkShown, fileCommands, findPrompt, shownVersion } from "./prompt-files.ts";

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

/** Commands that call several operations. */
export const promptCommands: Command[] = [
  ...fileCommands,
  {
    ...readUsage(
      `prompt show REF [--version N] [--time TIME] [--render NAME=VALUE]...${remote}`,
      getPromptVersion.input.schema,
      { ...shownVersion, render: "Fill in a variable. Give all of them" },
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
