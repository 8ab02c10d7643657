// Writes changes of deployments. Each one honors `If-Match`, increments the revision and adds an entry to the audit log.
import { outdated } from "../common/errors.ts";
import { optional } from "../schema/struct.ts";
import type { Members } from "../schema/struct.ts";
import * as v from "./values.ts";
import { requireChangeable, requireDeployment } from "./deployments.ts";
import type { Deployment, DeploymentPlan, DeploymentResult } from "./deployments.ts";
import type { Action } from "./history.ts";
import { changeInfo } from "./operation.ts";
import type { Management } from "./operation.ts";
import { ofDeployment } from "./references.ts";
import { updateOf } from "./table.ts";
import type { Columns } from "./table.ts";

/** Input members of operations that change the deployment `id`. */
export const change = { ...ofDeployment, ...changeInfo, ifRevision: optional(v.count) };
export type ChangeInput = Members<typeof change>;

type Changeable = Partial<
  Pick<Deployment, "currentVersion" | "isActive" | "isProtected" | "name" | "reference" | "archivedAt">
>;

/** Returns a deployment to change. Throws if the caller may not change it, or has seen another revision of it. */
export async function requireForChange(management: Management, { id, ifRevision }: ChangeInput): Promise<Deployment> {
  const deployment = await requireDeployment(management, id);
  requireChangeable(management, deployment);
  if (ifRevision !== undefined && ifRevision !== deployment.revision) throw outdated("Deployment", id);
  return deployment;
}

/** Plans a change of members. `columns` has those of them that are stored. */
export function planChange(
  before: Deployment,
  action: Action,
  members: Changeable,
  columns: Columns,
): DeploymentPlan {
  const { id, workspaceId } = before;
  const revision = before.revision + 1;
  const after = { ...before, ...members, revision };
  return {
    deployment: after,
    change: { action: `deployment.${action}`, id, workspaceId, before, after },
    statement: updateOf("deployments", id, { ...columns, revision }),
  };
}

/** Plans to make a version live in a deployment, unless it is live already. */
export const planPromotion = (before: Deployment, currentVersion: number): DeploymentPlan | undefined =>
  before.currentVersion === currentVersion
    ? undefined
    : planChange(before, "promoted", { currentVersion }, { currentVersion });

/** Changes members of a deployment. */
export async function changeDeployment(
  management: Management,
  before: Deployment,
  action: Action,
  members: Changeable,
  columns: Columns = members,
): Promise<DeploymentResult> {
  const { deployment, change, statement } = planChange(before, action, members, columns);
  await management.commit([change], [statement]);
  return { ...deployment, changed: true };
}

/** Sets a flag of a deployment, unless it has that value already. */
export async function setFlag(
  management: Management,
  action: Action,
  input: ChangeInput,
  member: "isActive" | "isProtected",
  value: boolean,
): Promise<DeploymentResult> {
  const before = await requireForChange(management, input);
  if (before[member] === value) return { ...before, changed: false };
  return await changeDeployment(management, before, action, { [member]: value });
}
