// `types` and `bundle`: types of prompts for applications to compile with, and prompts to ship with them.
import type { WorkspaceId } from "../../common/ids.ts";
import { conflict } from "../../common/errors.ts";
import { toBundle } from "../../files/bundle.ts";
import type { BundledPrompt } from "../../files/bundle.ts";
import { toPython, toTypeScript } from "../../files/types.ts";
import { listDeployments } from "../../management/deployments/deployments.ts";
import { getWorkspace } from "../../management/kernel/workspaces.ts";
import type { Terminal } from "../../runtime/terminal.ts";
import type { Arguments } from "../frame/arguments.ts";
import type { Command, CommandContext, LocalContext, Outcome } from "../frame/command.ts";
import { counted } from "../frame/format.ts";
import { readLive } from "./ledger-prompts.ts";
import { readAll } from "../frame/lists.ts";
import { readUsage, remote } from "../frame/parameters.ts";
import { readRepository, refuseFaults } from "./repository.ts";
import { findWorkspace } from "../frame/workspace.ts";

/** The prompts of a folder, each as the deployments of the manifest that have it would serve it. */
async function promptsOfFolder(context: LocalContext): Promise<BundledPrompt[]> {
  const { manifest, prompts, faults } = await readRepository(context);
  refuseFaults(faults, context.terminal);
  const { deploy, pinned, workspace = "" } = manifest;
  if (deploy.size === 0) {
    throw conflict("promptledger.yml names no deployment under deploy, so there are no references");
  }
  return prompts.flatMap(({ name, content }) =>
    [...deploy].filter(([deployment, target]) => target === "latest" || pinned.get(deployment)?.has(name)).map(
      ([deployment]) => {
        const reference = `${name}@${deployment}`;
        return {
          reference,
          content,
          version: 0,
          id: name,
          deployId: reference,
          workspace: { id: "", name: workspace },
        };
      },
    )
  );
}

/** Prompts that the deployments of a workspace serve, or would if on. */
async function promptsOfLedger({ args, call }: CommandContext): Promise<(BundledPrompt & { isActive: boolean })[]> {
  const workspaceId = await findWorkspace(call, args.findText<WorkspaceId>("workspace"));
  const workspace = await call(getWorkspace, { id: workspaceId });
  const found = await readLive(call, { workspaceId });
  const deployments = await readAll(call, listDeployments, { workspaceId });
  return deployments.flatMap(({ id, reference, promptId, currentVersion, isActive }) => {
    const content = found.get(`${promptId} ${currentVersion}`);
    return content === undefined
      ? []
      : [{ reference, content, version: currentVersion, id: promptId, deployId: id, workspace, isActive }];
  });
}

/** Writes a text to `--out`, or prints it. With `--check` it only compares. */
async function put(
  text: string,
  count: number,
  { args, terminal }: { args: Arguments; terminal: Terminal },
): Promise<Outcome> {
  const out = args.findText("out");
  if (args.has("check")) {
    if (out === undefined) throw conflict("--check needs --out FILE, which it compares");
    const isSame = await terminal.exists(out) && await terminal.read(out) === text;
    return { note: isSame ? `${out} is up to date` : `${out} is behind: write it again`, differs: !isSame };
  }
  if (out === undefined) return { data: { text }, text: () => text };
  const file = await terminal.create(out, { force: true });
  await file.write(text);
  await file.finish();
  return {
    data: { file: out, prompts: count },
    text: () => "",
    note: `Wrote ${counted(count, "reference")} to ${out}`,
  };
}

const putTypes = (prompts: BundledPrompt[], context: LocalContext): Promise<Outcome> =>
  put(
    context.args.findText("language") === "python" ? toPython(prompts) : toTypeScript(prompts),
    prompts.length,
    context,
  );

const putBundle = (prompts: BundledPrompt[], context: LocalContext): Promise<Outcome> =>
  put(toBundle(prompts), prompts.length, context);

const explanations = {
  dir: "The folder of promptledger.yml. Default: the current one",
  language: "The language of the types. Default: typescript",
  check: "Compare with the file, write nothing, and exit with 3 if it is out of date",
};
const typesOptions = "[--out FILE] [--language typescript|python] [--check]";

export const typesCommands: Command[] = [
  {
    ...readUsage(`types [--dir DIR] ${typesOptions}`, {}, explanations),
    summary:
      "Write the types of the prompts in a folder, for createClient<Prompts>: references, variables, configurations",
    needs: "nothing",
    runLocally: async (context) => putTypes(await promptsOfFolder(context), context),
  },
  {
    ...readUsage(`types live [--workspace WORKSPACE] ${typesOptions}${remote}`, {}, explanations),
    summary: "Write the types of the prompts that deployments serve",
    role: "viewer",
    run: async (context) => putTypes(await promptsOfLedger(context), context),
  },
  {
    ...readUsage("bundle [--dir DIR] [--out FILE] [--check]", {}, explanations),
    summary: "Write the prompts in a folder as a snapshot for the client, for builds and tests without a service",
    needs: "nothing",
    runLocally: async (context) => putBundle(await promptsOfFolder(context), context),
  },
  {
    ...readUsage(`bundle live [--workspace WORKSPACE] [--out FILE] [--check]${remote}`, {}, explanations),
    summary: "Write the prompts that deployments serve as a snapshot for the client",
    role: "viewer",
    run: async (context) => putBundle((await promptsOfLedger(context)).filter(({ isActive }) => isActive), context),
  },
];
