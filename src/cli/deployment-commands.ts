// Commands for deployments: which version is live, and whether it is.
import type { DeploymentResult } from "../admin/deployments.ts";
import type { Deployment } from "../common/domain.ts";
import * as operations from "../operations/deployment-operations.ts";
import type { Operation } from "../operations/operation.ts";
import type { Terminal } from "../runtime/terminal.ts";
import type { Arguments } from "./arguments.ts";
import { listDeploymentsWithPrompts, listHistory } from "./catalog.ts";
import { show } from "./command.ts";
import type { Command, CommandContext, Outcome } from "./command.ts";

type Why = { note: string | undefined; actor: string | undefined };

/** Why something is changed, and who says so: whoever is logged in here unless named. */
export const whyOf = (args: Arguments, { env }: Terminal): Why => ({
  note: args.findText("note"),
  actor: args.findText("actor") ?? (env.USER || env.USERNAME || undefined),
});

const inactive = "it is inactive, so requests are refused: see deploy activate";

/** What must be said where something goes live that no one gets. */
export const describeInactive = ({ isActive }: { isActive: boolean }): string => isActive ? "" : `, but ${inactive}`;

function showChange({ changed, ...deployment }: DeploymentResult): Outcome {
  const { currentVersion, isActive } = deployment;
  const state = isActive ? `version ${currentVersion} is live` : inactive;
  return show(
    deployment,
    changed && isActive ? undefined : `${changed ? "Changed, but" : "Nothing to change:"} ${state}`,
  );
}

type Change = Why & { id: string };

/** Runs an operation that changes the deployment `ID`. */
const change = async <More extends object>(
  { args, call, terminal }: CommandContext,
  operation: Operation<Change & More, DeploymentResult>,
  more: More,
): Promise<Outcome> => showChange(await call(operation, { id: args.text("ID"), ...whyOf(args, terminal), ...more }));

export const deploymentCommands: Command[] = [
  {
    usage: "deploy create --workspace ID --name NAME --prompt ID [--version N] [--note TEXT] [--actor NAME]",
    summary:
      "Make a deployment of a prompt's version, the newest unless named; --actor is USER of the environment unless named",
    run: async ({ args, call, terminal }) =>
      show(
        await call(operations.createDeployment, {
          workspaceId: args.text("workspace"),
          name: args.text("name"),
          promptId: args.text("prompt"),
          version: args.findNumber("version"),
          ...whyOf(args, terminal),
        }) as Deployment,
      ),
  },
  {
    usage: "deploy list --workspace ID",
    summary: "List a workspace's deployments with their prompts, newest first",
    run: ({ args, call }) => listDeploymentsWithPrompts(call, args.text("workspace")),
  },
  {
    usage: "deploy show ID",
    summary: "Show a deployment",
    run: async ({ args, call }) => show(await call(operations.getDeployment, { id: args.text("ID") })),
  },
  {
    usage: "deploy promote ID --version N [--note TEXT] [--actor NAME]",
    summary: "Make another version live",
    run: (context) => change(context, operations.promoteDeployment, { version: context.args.number("version") }),
  },
  {
    usage: "deploy rollback ID [--to-version N] [--note TEXT] [--actor NAME]",
    summary: "Make the version live that was before, or another that deploy history marks",
    run: (context) =>
      change(context, operations.rollBackDeployment, { version: context.args.findNumber("to-version") }),
  },
  {
    usage: "deploy activate ID [--note TEXT] [--actor NAME]",
    summary: "Open a deployment to requests",
    run: (context) => change(context, operations.activateDeployment, {}),
  },
  {
    usage: "deploy deactivate ID [--note TEXT] [--actor NAME]",
    summary: "Close a deployment to requests",
    run: (context) => change(context, operations.deactivateDeployment, {}),
  },
  {
    usage: "deploy rename ID --name NAME [--note TEXT] [--actor NAME]",
    summary: "Give a deployment another name; its id stays",
    run: (context) => change(context, operations.renameDeployment, { name: context.args.text("name") }),
  },
  {
    usage: "deploy history ID",
    summary: "List what changed in a deployment, newest first, and what can be rolled back to",
    run: ({ args, call }) => listHistory(call, args.text("ID")),
  },
];
