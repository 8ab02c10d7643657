// Lists of prompts with their deployments, of deployments with their prompts, and histories with rollback targets.
import type { DeploymentId, PromptId, WorkspaceId } from "../../common/ids.ts";
import { operator } from "../../management/deployments/change-requests.ts";
import { listDeploymentChanges } from "../../management/deployments/deployment-changes.ts";
import { listDeployments } from "../../management/deployments/deployments.ts";
import type { Deployment } from "../../management/deployments/deployments.ts";
import { findLastLive, findRollbackTargets } from "../../management/deployments/history.ts";
import type { DeploymentChange } from "../../management/deployments/history.ts";
import { shortCommit } from "../../management/kernel/origin.ts";
import { describeRollout } from "../../management/terms/rollouts.ts";
import { listPrompts } from "../../management/prompts/prompts.ts";
import type { Call, Outcome } from "./command.ts";
import { readAll } from "./lists.ts";

type ListInput = { workspaceId: WorkspaceId; archived?: boolean | undefined };
type PromptListInput = ListInput & { text?: string | undefined };
type DeploymentListInput = ListInput & { promptId?: PromptId | undefined };

/** Archive time, for lists that include archived items. */
const archivedAt = (item: { archivedAt: number | null }, { archived }: ListInput) =>
  archived ? { archivedAt: item.archivedAt } : {};

/** The deployments of a workspace, each with the title of its prompt's newest version. */
export async function listDeploymentsWithPrompts(
  call: Call,
  { promptId, ...input }: DeploymentListInput,
): Promise<Outcome> {
  const deployments = await readAll(call, listDeployments, { ...input, promptId });
  const prompts = deployments.length === 0 ? [] : await readAll(call, listPrompts, input);
  // The column is there if any deployment has one.
  const isRolling = deployments.some(({ rollout }) => rollout !== null);
  const rolloutIn = ({ rollout }: Deployment) => isRolling ? { rollout: rollout && describeRollout(rollout) } : {};
  const titles = new Map(prompts.map(({ id, title }) => [id, title]));
  const data = deployments.map((each) => ({ ...each, promptTitle: titles.get(each.promptId) ?? null }));
  const rows = data.map((each) => {
    const { reference, promptTitle, currentVersion, isActive, createdAt, promptId, id } = each;
    const state = { version: currentVersion, ...rolloutIn(each), active: isActive, ...archivedAt(each, input) };
    return { reference, ...state, title: promptTitle, createdAt, promptId, id };
  });
  return { data, rows };
}

type HistoryInput = { id: DeploymentId; workspaceId?: WorkspaceId | undefined };

/** The changes of a deployment, newest first. Each shows if a rollback can return to it. */
export async function listHistory(call: Call, input: HistoryInput): Promise<Outcome> {
  const changes: DeploymentChange[] = await readAll(call, listDeploymentChanges, input);
  const { live, previous, served } = findRollbackTargets([...changes].reverse());
  const lastLive = findLastLive(changes);
  // A version is marked once, where it was last made live.
  const targetOf = ({ revision }: DeploymentChange): string => {
    const version = lastLive.get(revision);
    if (version === undefined) return "";
    return version === live ? "is live" : version === previous ? "by default" : `with --to-version ${version}`;
  };
  const hadApprovals = changes.some(({ requestedBy, withoutApproval }) => requestedBy !== undefined || withoutApproval);
  const rows = changes.map((change) => {
    const { revision, action, from, to, createdAt, actor, requestedBy, withoutApproval, note, source, origin } = change;
    const approval = withoutApproval
      ? "not needed"
      : requestedBy === undefined
      ? ""
      : `requested by ${requestedBy || operator}`;
    const why = { createdAt, actor, ...hadApprovals && { approval }, note, source, commit: shortCommit(origin) };
    return { revision, action, from, to, "roll back to it": targetOf(change), ...why };
  });
  const data = changes.map((change) => ({ ...change, canRollBackTo: served.some((version) => version === change.to) }));
  return { data, rows };
}

/** The prompts of a workspace, each with the deployments that serve it. */
export async function listPromptsWithDeployments(
  call: Call,
  { text, ...input }: PromptListInput,
): Promise<Outcome> {
  const prompts = await readAll(call, listPrompts, { ...input, text });
  const deployments = prompts.length === 0 ? [] : await readAll(call, listDeployments, input);
  const byPrompt = new Map<string, Deployment[]>();
  for (const each of deployments) byPrompt.set(each.promptId, [...byPrompt.get(each.promptId) ?? [], each]);
  const data = prompts.map((prompt) => ({
    ...prompt,
    deployments: (byPrompt.get(prompt.id) ?? [])
      .map(({ id, name, reference, currentVersion, isActive }) => ({ id, name, reference, currentVersion, isActive })),
  }));
  const rows = data.map((each) => {
    const { name, title, latestVersion, deployments, createdAt, id } = each;
    const live = deployments.map(describeLive).join(", ");
    return { name, version: latestVersion, live, title, ...archivedAt(each, input), createdAt, id };
  });
  return { data, rows };
}

const describeLive = ({ name, currentVersion, isActive }: Pick<Deployment, "name" | "currentVersion" | "isActive">) =>
  `${name} ${currentVersion}${isActive ? "" : " (inactive)"}`;
