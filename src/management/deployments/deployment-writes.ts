// Writes changes of deployments. Each one honors `If-Match`, increments the revision and adds an entry to the audit
// log. If a deployment needs an approval, a change becomes a change request (approvals.ts).
import { outdated } from "../../common/errors.ts";
import { optional } from "../../schema/struct.ts";
import type { Members } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { requireChangeable, requireDeployment } from "./deployments.ts";
import type { Deployment, DeploymentPlan, DeploymentResult } from "./deployments.ts";
import { settle } from "./approvals.ts";
import type { ChangePlan, Settled } from "./approvals.ts";
import type { Statement } from "../../database/database.ts";
import type { Action } from "./history.ts";
import { changeInfo } from "../kernel/operation.ts";
import type { Management } from "../kernel/operation.ts";
import { ofDeployment } from "../kernel/references.ts";
import { endRollout } from "../terms/rollouts.ts";
import type { ActiveRollout, RolloutOutcome } from "../terms/rollouts.ts";
import { updateOf } from "../kernel/table.ts";
import type { Columns } from "../kernel/table.ts";

/** Input members of operations that change the deployment `id`. */
export const change = { ...ofDeployment, ...changeInfo, ifRevision: optional(v.count) };
export type ChangeInput = Members<typeof change>;

type Changeable = Partial<
  Pick<Deployment, "currentVersion" | "isActive" | "isProtected" | "approvals" | "name" | "reference" | "archivedAt">
>;

/** Returns a deployment to change. Throws if the caller may not change it, or has seen another revision of it. */
export async function requireForChange(management: Management, { id, ifRevision }: ChangeInput): Promise<Deployment> {
  const deployment = await requireDeployment(management, id);
  requireChangeable(management, deployment);
  if (ifRevision !== undefined && ifRevision !== deployment.revision) throw outdated("Deployment", id);
  return deployment;
}

/** Plans a change of members at a time. `columns` are the stored ones. */
export function planChange(
  before: Deployment,
  action: Action,
  members: Changeable & Partial<Pick<Deployment, "rollout">>,
  columns: Columns,
  now: number,
): ChangePlan {
  const { id, workspaceId } = before;
  const revision = before.revision + 1;
  const outcome = before.rollout === null ? undefined : outcomeOf(before.rollout, action, members);
  const ended = outcome === undefined ? {} : { rollout: null };
  const after = { ...before, ...ended, ...members, revision };
  return {
    ...{ before, action },
    deployment: after,
    change: { action: `deployment.${action}`, id, workspaceId, before, after },
    statements: [
      updateOf("deployments", id, { ...columns, revision }),
      ...(outcome === undefined ? [] : [endRollout(before.rollout!.id, outcome, now)]),
    ],
  };
}

/** Outcome of a rollout by a change of its deployment. Undefined if it goes on. */
function outcomeOf(
  { version }: ActiveRollout,
  action: Action,
  { currentVersion, isActive, archivedAt }: Changeable,
): RolloutOutcome | undefined {
  if (currentVersion === version) return "promoted";
  if (currentVersion !== undefined) return action === "rolled_back" ? "rolled_back" : "replaced";
  if (isActive === false) return "deactivated";
  return typeof archivedAt === "number" ? "archived" : undefined;
}

/** Makes or requests a version live in a deployment, unless it is live already. `hash` is that of its content. */
export async function settlePromotion(
  management: Management,
  before: Deployment,
  currentVersion: number,
  hash?: string,
): Promise<Settled> {
  if (before.currentVersion === currentVersion) {
    return { changes: [], statements: [], result: { ...before, changed: false } };
  }
  const plan = planChange(before, "promoted", { currentVersion }, { currentVersion }, management.clock());
  return await settle(management, plan, hash);
}

/** Creates a deployment. A new one needs no approval yet. */
export const settleNew = ({ deployment, change, statements }: DeploymentPlan): Settled => ({
  ...{ changes: [change], statements },
  result: { ...deployment, changed: true },
});

/** Changes members of a deployment. */
export async function changeDeployment(
  management: Management,
  before: Deployment,
  action: Action,
  members: Changeable,
  columns: Columns = members,
): Promise<DeploymentResult> {
  return await commitPlan(management, planChange(before, action, members, columns, management.clock()));
}

/** Stops the rollout in progress: all callers get the live version. */
export async function stopRolloutOf(
  management: Management,
  before: Deployment & { rollout: ActiveRollout },
  outcome: RolloutOutcome,
): Promise<DeploymentResult> {
  const now = management.clock();
  const plan = planChange(before, "rollout_stopped", { rollout: null }, {}, now);
  return await commitPlan(management, plan, [endRollout(before.rollout.id, outcome, now)]);
}

/** Makes a planned change, with further statements, or requests it. */
export async function commitPlan(
  management: Management,
  plan: ChangePlan,
  more: Statement[] = [],
): Promise<DeploymentResult> {
  const { changes, statements, result } = await settle(management, {
    ...plan,
    statements: [...plan.statements, ...more],
  });
  if (changes.length > 0) await management.commit(changes, statements);
  return result;
}

/** Switches a deployment on or off, unless it already is. */
export async function setActive(
  management: Management,
  action: Action,
  input: ChangeInput,
  isActive: boolean,
): Promise<DeploymentResult> {
  const before = await requireForChange(management, input);
  if (before.isActive === isActive) return { ...before, changed: false };
  return await changeDeployment(management, before, action, { isActive });
}
