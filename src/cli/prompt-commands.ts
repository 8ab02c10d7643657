// Commands for prompts and deployments: what is served.
import * as deployments from "../admin/deployments.ts";
import type { DeploymentResult } from "../admin/deployments.ts";
import * as prompts from "../admin/prompts.ts";
import type { PushResult } from "../admin/prompts.ts";
import { show } from "./command.ts";
import type { Command, Outcome } from "./command.ts";

const inactive = "it is inactive, so requests are refused: see deploy activate";

function changed({ changed, ...deployment }: DeploymentResult): Outcome {
  const { currentVersion, isActive } = deployment;
  const state = isActive ? `version ${currentVersion} is live` : inactive;
  return show(
    deployment,
    changed && isActive ? undefined : `${changed ? "Changed, but" : "Nothing to change:"} ${state}`,
  );
}

/** What a push did, and what is live now, in a sentence. */
function describePush(prompt: PushResult, deployment: DeploymentResult | undefined): string {
  const pushed = prompt.isNew
    ? `Pushed version ${prompt.version} of ${prompt.id}`
    : `Unchanged: version ${prompt.version} has this content already`;
  if (deployment === undefined) return pushed;
  return `${pushed}; it is what ${deployment.name} (${deployment.id}) serves${
    deployment.isActive ? "" : `, but ${inactive}`
  }`;
}

export const promptCommands: Command[] = [
  {
    usage: "prompt push FILE --workspace ID [--prompt ID] [--deploy DEPLOYMENT]",
    summary:
      "Push a prompt, or its next version; FILE is JSON, - is standard input; --deploy makes it live under a name or id",
    run: async ({ admin, args, read }) => {
      const workspaceId = args.text("workspace");
      const source = await read(args.text("FILE"));
      const input = { workspaceId, promptId: args.findText("prompt"), source };
      const deploy = args.findText("deploy");
      if (deploy === undefined) {
        const { isNew, ...prompt } = await prompts.pushPrompt(admin, input);
        return show(prompt, describePush({ ...prompt, isNew }, undefined));
      }
      const { isNew, deployment, ...prompt } = await deployments.publishPrompt(admin, { ...input, deploy });
      const { changed: _, ...live } = deployment;
      return show({ ...prompt, deployment: live }, describePush({ ...prompt, isNew }, deployment));
    },
  },
  {
    usage: "prompt list --workspace ID",
    summary: "List a workspace's prompts with their newest version",
    run: async ({ admin, args }) => show(await prompts.listPrompts(admin, args.text("workspace"))),
  },
  {
    usage: "prompt versions ID",
    summary: "List a prompt's versions, newest first",
    run: async ({ admin, args }) => show(await prompts.listPromptVersions(admin, args.text("ID"))),
  },
  {
    usage: "prompt show ID [--version N]",
    summary: "Show a version of a prompt, the newest unless named",
    run: async ({ admin, args }) =>
      show(await prompts.getPromptVersion(admin, args.text("ID"), args.findNumber("version"))),
  },
  {
    usage: "deploy create --workspace ID --name NAME --prompt ID [--version N]",
    summary: "Make a deployment of a prompt's version, the newest unless named",
    run: async ({ admin, args }) =>
      show(
        await deployments.createDeployment(admin, {
          workspaceId: args.text("workspace"),
          name: args.text("name"),
          promptId: args.text("prompt"),
          version: args.findNumber("version"),
        }),
      ),
  },
  {
    usage: "deploy list --workspace ID",
    summary: "List a workspace's deployments",
    run: async ({ admin, args }) => show(await deployments.listDeployments(admin, args.text("workspace"))),
  },
  {
    usage: "deploy promote ID --version N",
    summary: "Make another version live",
    run: async ({ admin, args }) =>
      changed(await deployments.promoteDeployment(admin, args.text("ID"), args.number("version"))),
  },
  {
    usage: "deploy activate ID",
    summary: "Open a deployment to requests",
    run: async ({ admin, args }) => changed(await deployments.setDeploymentActive(admin, args.text("ID"), true)),
  },
  {
    usage: "deploy deactivate ID",
    summary: "Close a deployment to requests",
    run: async ({ admin, args }) => changed(await deployments.setDeploymentActive(admin, args.text("ID"), false)),
  },
  {
    usage: "deploy history ID",
    summary: "List what changed in a deployment, newest first",
    run: async ({ admin, args }) => show(await deployments.listDeploymentChanges(admin, args.text("ID"))),
  },
];
