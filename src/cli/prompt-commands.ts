// Commands for prompts and their versions.
import type { DeploymentResult } from "../admin/deployments.ts";
import { readPromptFile } from "../admin/prompt-file.ts";
import type { PromptWithVariables, PushResult } from "../admin/prompts.ts";
import { notFound } from "../common/errors.ts";
import { jsonText, stringify } from "../common/json-text.ts";
import * as operations from "../operations/prompt-operations.ts";
import { describePrompt } from "../management/prompt-text.ts";
import { nameOfFile } from "../runtime/terminal.ts";
import { listPromptsWithDeployments } from "./catalog.ts";
import type { Call, Command, CommandContext, Outcome } from "./command.ts";
import { describeInactive, whyOf } from "./deployment-commands.ts";
import { format, harmless } from "./format.ts";
import { listAll, pagesOf } from "./lists.ts";

/** What a push did, in a sentence. */
const describePush = ({ isNew, id, version }: PushResult): string =>
  isNew ? `Pushed version ${version} of ${id}` : `Unchanged: version ${version} has this content already`;

async function push({ args, call, terminal }: CommandContext): Promise<Outcome> {
  const workspaceId = args.text("workspace");
  const file = args.text("FILE");
  const content = readPromptFile(await terminal.read(file), nameOfFile(file));
  const promptId = args.findText("prompt");
  const deploy = args.findText("deploy");
  const why = whyOf(args, terminal);
  if (deploy !== undefined) {
    const input = { ...content, ...why, workspaceId, promptId, deploy };
    const published = await call(operations.publishPrompt, input) as PushResult & { deployment: DeploymentResult };
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
  const input = { ...content, note: why.note };
  if (promptId !== undefined) await checkWorkspace(call, workspaceId, promptId);
  const pushed =
    (promptId === undefined
      ? await call(operations.createPrompt, { workspaceId, ...input })
      : await call(operations.pushPrompt, { id: promptId, ...input })) as PushResult;
  const { isNew: _, ...prompt } = pushed;
  return { data: prompt, text: () => format(summaryOf(prompt)), note: describePush(pushed) };
}

/** What people need of a pushed prompt: whoever pushes it has its content. */
const summaryOf = ({ id, version, title, variables }: PromptWithVariables) => ({
  promptId: id,
  version,
  title,
  variables: variables.join(", "),
});

/** A prompt of another workspace is as good as none: its id has been mixed up. */
async function checkWorkspace(call: Call, workspaceId: string, promptId: string): Promise<void> {
  for await (const prompts of pagesOf(call, operations.listPrompts, { workspaceId })) {
    if (prompts.some(({ id }) => id === promptId)) return;
  }
  throw notFound("Prompt", promptId);
}

async function showPrompt({ args, call }: CommandContext): Promise<Outcome> {
  const id = args.text("ID");
  const version = args.findNumber("version");
  const prompt = version === undefined
    ? await call(operations.getPrompt, { id })
    : await call(operations.getPromptVersion, { id, version });
  const values = args.values("render");
  if (Object.keys(values).length === 0) return { data: prompt, text: () => toText(prompt) };
  const rendered = await call(operations.renderPrompt, { id, version: prompt.version, values });
  const unknown = Object.keys(values).filter((name) => !prompt.variables.includes(name));
  return {
    data: rendered,
    text: () => toText({ ...prompt, messages: rendered.messages }),
    note: unknown.length === 0 ? undefined : `Not in the prompt: ${unknown.join(", ")}`,
  };
}

/** A version as people read it. From afar JSON comes as plain values. */
function toText({ title, description, messages, llmConfig, variables, ...facts }: PromptWithVariables): string {
  const json = { messages: jsonText(stringify(messages)), llmConfig: jsonText(stringify(llmConfig)) };
  const head = format({ ...facts, variables: variables.join(", ") });
  return harmless(`${head}\n${describePrompt({ title, description, ...json })}`);
}

async function diff({ args, call, terminal }: CommandContext): Promise<Outcome> {
  const input = { id: args.text("ID"), from: args.number("from"), to: args.findNumber("to") };
  const data = await call(operations.diffVersions, input);
  return {
    data,
    text: () => terminal.isColoured ? coloured(harmless(data.diff)) : harmless(data.diff),
    note: data.diff === "" ? `Nothing differs between versions ${data.from} and ${data.to}` : undefined,
  };
}

const bold = "\x1b[1m", red = "\x1b[31m", green = "\x1b[32m", cyan = "\x1b[36m", plain = "\x1b[m";
const colours: Record<string, string> = { "-": red, "+": green, "@": cyan };

/** A unified diff, whose first two lines are its head. */
const coloured = (diff: string): string =>
  diff.split("\n").map((line, index) => {
    const colour = index < 2 && line !== "" ? bold : colours[line.charAt(0)];
    return colour === undefined ? line : `${colour}${line}${plain}`;
  }).join("\n");

export const promptCommands: Command[] = [
  {
    usage: "prompt push FILE --workspace ID [--prompt ID] [--deploy DEPLOYMENT] [--note TEXT] [--actor NAME]",
    summary:
      "Push a prompt, or its next version; FILE is JSON, - is standard input; --deploy makes it live under a name or id",
    run: push,
  },
  {
    usage: "prompt list --workspace ID",
    summary: "List a workspace's prompts with their newest version and what is live where, newest first",
    run: ({ args, call }) => listPromptsWithDeployments(call, args.text("workspace")),
  },
  {
    usage: "prompt versions ID",
    summary: "List a prompt's versions, newest first",
    run: ({ args, call }) => listAll(call, operations.listPromptVersions, { id: args.text("ID") }),
  },
  {
    usage: "prompt show ID [--version N] [--render NAME=VALUE]...",
    summary: "Show a version of a prompt, the newest unless named; --render fills in its variables, each of them",
    run: showPrompt,
  },
  {
    usage: "prompt diff ID --from N [--to N]",
    summary: "Show what differs between two versions; --to is the newest unless named",
    run: diff,
  },
];
