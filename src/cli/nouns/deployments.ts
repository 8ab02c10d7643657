// Commands for deployments. They show which version is live, and warn if a deployment refuses requests.
import { Refusal } from "../../common/errors.ts";
import type { PromptId } from "../../common/ids.ts";
import { readReference } from "../../common/reference.ts";
import { compareNames } from "../../files/plan.ts";
import type { VariableChange } from "../../files/plan.ts";
import * as changes from "../../management/deployments/deployment-changes.ts";
import type { RenamedDeployment } from "../../management/deployments/deployment-changes.ts";
import { createDeployment, getDeployment, listDeployments } from "../../management/deployments/deployments.ts";
import type { Deployment, DeploymentResult } from "../../management/deployments/deployments.ts";
import type { LiveVersion } from "../../management/deployments/history.ts";
import { protectedRole } from "../../management/kernel/operation.ts";
import type { RenamedPrompt } from "../../management/prompts/prompts.ts";
import { listRollouts, setRollout, stopRollout } from "../../management/deployments/rollout-operations.ts";
import { describeGuarded } from "../../management/terms/rollouts.ts";
import { getPrompt, getPromptVersion } from "../../management/prompts/versions.ts";
import type { Arguments } from "../frame/arguments.ts";
import { listDeploymentsWithPrompts, listHistory } from "../frame/catalog.ts";
import { orRequested } from "./changes.ts";
import { show } from "../frame/command.ts";
import type { Call, CommandContext, Outcome } from "../frame/command.ts";
import { format, formatTime } from "../frame/format.ts";
import { readAll } from "../frame/lists.ts";
import { present } from "../frame/operation-commands.ts";

const inactive = "it is inactive and refuses requests: see deploy activate";

const isArchived = "it or its prompt is archived, so requests are refused: see deploy unarchive and prompt unarchive";

/** The warning that a version is live in an inactive deployment. */
export const describeInactive = ({ isActive }: { isActive: boolean }): string => isActive ? "" : `, but ${inactive}`;

type Promotion = Parameters<typeof changes.promoteDeployment.run>[1];

/** Promotes a version. A reference to a deployment that does not exist yet creates it. */
async function promote({ call }: CommandContext, input: Promotion): Promise<Outcome> {
  try {
    return await showPromotion(call, await call(changes.promoteDeployment, input));
  } catch (error) {
    const { id, workspaceId, ...more } = input;
    const reference = readReference(id);
    const isNew = error instanceof Refusal && error.code === "deployment_not_found" &&
      (error.field ?? "id") === "id";
    if (!isNew || reference === undefined) throw error;
    const { promptName, deploymentName: name } = reference;
    const { prompt } = await call(getPrompt, { id: promptName as PromptId, workspaceId });
    const created = await call(createDeployment, {
      workspaceId: prompt.workspaceId,
      name,
      promptId: prompt.id,
      ...more,
    });
    return show(created, `Created ${created.reference}, which serves version ${created.currentVersion}`);
  }
}

/** Shows which version a deployment serves from now on, and which it served before. */
async function showPromotion(call: Call, result: DeploymentResult): Promise<Outcome> {
  const { id, promptId, changed, revision, reference, currentVersion, isActive } = result;
  const outcome = orRequested(showChange)(result);
  if (!changed || !isActive) return outcome;
  const { items: [last] } = await call(changes.listDeploymentChanges, { id, limit: 1 });
  const isLast = last?.revision === revision;
  const before = isLast && typeof last.from === "number" ? last.from : undefined;
  const ended = isLast && last.rollout === null ? await describeEnded(call, id) : "";
  const note = `${reference} serves version ${currentVersion} from now on${ended}`;
  if (before === undefined) return { ...outcome, note };
  const [was, is] = await Promise.all(
    [before, currentVersion].map((version) => call(getPromptVersion, { id: promptId, version })),
  );
  const variables = describeVariables(before, compareNames(was!.variables, is!.variables));
  return { ...outcome, note: `${note} (before: ${before})${variables === "" ? "" : `; ${variables}`}` };
}

/** Describes a rollout ended by a promotion or rollback. */
async function describeEnded(call: Call, id: Deployment["id"]): Promise<string> {
  const { items: [rollout] } = await call(listRollouts, { id, limit: 1 });
  return rollout === undefined
    ? ""
    : `, which ${rollout.outcome === "promoted" ? "completes" : "ends"} the rollout of version ${rollout.version}`;
}

type Rolling = Parameters<typeof setRollout.run>[1];

async function roll(
  { args, call }: CommandContext,
  { version, percent, guard, certain, ...input }: Rolling,
): Promise<Outcome> {
  if (args.has("list")) {
    const { id, workspaceId } = input;
    return { data: await readAll(call, listRollouts, { id, workspaceId }) };
  }
  const isStop = args.has("stop");
  const rolled = { ...input, version, percent, guard: args.has("no-guard") ? null : guard, certain };
  const result = await (isStop ? call(stopRollout, input) : call(setRollout, rolled));
  return orRequested(showRollout)(result);
}

function showRollout({ changed, ...deployment }: DeploymentResult): Outcome {
  const { reference, currentVersion, rollout } = deployment;
  const all = `${reference} serves version ${currentVersion} to all`;
  const shares = rollout === null
    ? `${all}${changed ? " from now on" : ": no rollout is in progress"}`
    : `${reference} serves version ${rollout.version} to ${rollout.percent} % and version ${currentVersion} to the others`;
  return showDeployment(
    deployment,
    changed ? `${shares}${rollout === null ? "" : " from now on"}` : `Nothing to change: ${shares}`,
  );
}

function checkRollout(args: Arguments): string | undefined {
  const isSet = ["percent", "guard", "no-guard", "certain"].some((name) => args.has(name));
  const given = [isSet, args.has("stop"), args.has("list")].filter(Boolean).length;
  if (given === 0) return "One of --percent, --guard, --no-guard, --certain, --stop and --list must be given";
  if (given > 1) return "A change of the rollout, --stop and --list exclude each other";
  const other = ["guard", "certain"].find((name) => args.has(name));
  if (other !== undefined && args.has("no-guard")) return `--${other} and --no-guard exclude each other`;
  return args.has("version") && !args.has("percent") ? "--version needs --percent" : undefined;
}

/** Deployment for display. */
const showDeployment = (deployment: Deployment, note?: string): Outcome => ({
  note,
  data: deployment,
  text: () => format({ ...deployment, rollout: deployment.rollout && describeGuarded(deployment.rollout) }),
});

function showChange({ changed, ...deployment }: DeploymentResult): Outcome {
  const { currentVersion, isActive, archivedAt } = deployment;
  const isOpen = isActive && archivedAt === null;
  const state = archivedAt !== null ? isArchived : isActive ? `version ${currentVersion} is live` : inactive;
  return show(
    deployment,
    changed && isOpen ? undefined : `${changed ? "Changed, but" : "Nothing to change:"} ${state}`,
  );
}

/** Describes the references that a rename changed. */
const describeReferences = (references: RenamedDeployment["references"]): string =>
  references.length === 0
    ? "No reference changes"
    : `From now on ${references.map(({ from, to }) => `${from} is ${to}`).join(", ")}`;

type Renamed = Pick<RenamedPrompt, "name" | "references" | "changed">;

export function showRename<T extends Renamed>({ changed, ...renamed }: T): Outcome {
  const { name, references } = renamed;
  return show(renamed, changed ? describeReferences(references) : `Nothing to change: it is named ${name}`);
}

function showProtection({ changed, ...deployment }: DeploymentResult): Outcome {
  const approval = deployment.approvals > 0 ? " and the approval of another person" : "";
  const state = deployment.isProtected
    ? `protected: changing it requires the role ${protectedRole}${approval}`
    : "not protected";
  return show(deployment, `${changed ? "From now on it is" : "Nothing to change: it is"} ${state}`);
}

type Archived = { archivedAt: number | null; changed: boolean };

export function showArchiving<T extends Archived>({ changed, ...item }: T): Outcome {
  const state = item.archivedAt === null ? "not archived" : "archived, so requests are refused";
  return show(item, `${changed ? "From now on it is" : "Nothing to change: it is"} ${state}`);
}

/** A deployment stays archived if its prompt is archived. */
function showUnarchiving({ changed, ...deployment }: DeploymentResult): Outcome {
  if (deployment.archivedAt === null) return showArchiving({ changed, ...deployment });
  const why = "its prompt is archived, so requests are refused: see prompt unarchive";
  return show(deployment, `${changed ? "Changed, but" : "Nothing to change: it is not archived itself;"} ${why}`);
}

function showLive(live: LiveVersion): Outcome {
  const { reference, at, version, isActive, change } = live;
  if (change === null) return { data: live, text: () => "", note: `${reference} did not exist yet at that time` };
  const { action, createdAt, actor, source, note, origin } = change;
  const times = { at: formatTime(at), since: formatTime(createdAt) };
  const shown = { reference, ...times, version, active: isActive, action, actor, source, note, commit: origin?.commit };
  return { data: live, text: () => format(shown) };
}

export const deploymentPresentations = [
  present(getDeployment, { show: (deployment) => showDeployment(deployment) }),
  present(setRollout, {
    explanations: {
      "no-guard": "Remove the guard of the rollout in progress",
      stop: "Stop the rollout in progress, so that all callers get the live version",
      list: "List all rollouts of the deployment, newest first",
    },
    check: checkRollout,
    run: roll,
  }),
  present(listDeployments, {
    run: ({ call }, input) => listDeploymentsWithPrompts(call, input),
  }),
  present(changes.promoteDeployment, {
    check: (args) =>
      (args.findNumber("version") === undefined) === (args.findText("from") === undefined)
        ? "One of --version and --from must be given"
        : undefined,
    run: promote,
  }),
  present(changes.rollBackDeployment, {
    run: async ({ call }, input) => showPromotion(call, await call(changes.rollBackDeployment, input)),
  }),
  present(changes.activateDeployment, { show: orRequested(showChange) }),
  present(changes.deactivateDeployment, { show: showChange }),
  present(changes.renameDeployment, { show: orRequested(showRename) }),
  present(changes.archiveDeployment, { show: orRequested(showArchiving) }),
  present(changes.unarchiveDeployment, { show: orRequested(showUnarchiving) }),
  present(changes.protectDeployment, { show: orRequested(showProtection) }),
  present(changes.unprotectDeployment, { show: orRequested(showProtection) }),
  present(changes.readLiveVersion, { show: showLive }),
  present(changes.listDeploymentChanges, { run: ({ call }, input) => listHistory(call, input) }),
];

/** `variables since version 1: added tone, removed shop`; empty without changes. */
export function describeVariables(since: number, { added, removed }: VariableChange): string {
  const changes = [["added", added], ["removed", removed]] as const;
  const described = changes.flatMap(([verb, names]) => names.length === 0 ? [] : [`${verb} ${names.join(", ")}`]);
  return described.length === 0 ? "" : `variables since version ${since}: ${described.join(", ")}`;
}
