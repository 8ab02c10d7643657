// How a deployment changes: under its `If-Match`, and with an entry in its history in the same transaction.
import { archived, outdated } from "../common/errors.ts";
import { optional } from "../schema/struct.ts";
import type { Members } from "../schema/struct.ts";
import * as v from "./values.ts";
import { findDeployment, isChangeable, missing, requireChangeable, toDeployment } from "./deployments.ts";
import type { DeploymentResult } from "./deployments.ts";
import { addChange, originOf } from "./history.ts";
import type { Action } from "./history.ts";
import { changeInfo } from "./operation.ts";
import type { Management } from "./operation.ts";
import { ofDeployment } from "./references.ts";

/** Members of the input of whatever changes the deployment `id`. */
export const change = { ...ofDeployment, ...changeInfo, ifRevision: optional(v.count) };
type ChangeInput = Members<typeof change>;

type Column = { toJson(value: string): string; differs?: string; isAllowed?: string };

/** What may change: columns, how the history writes what they hold, where a value is another, and where it is allowed. */
const columns: Record<"current_version" | "is_active" | "name" | "archived_at", Column> = {
  current_version: {
    toJson: (value) => `json_quote(${value})`,
    isAllowed: "archived_at is null and prompt_archived_at is null",
  },
  archived_at: {
    toJson: (value) => `iif(${value} is null, 'false', 'true')`,
    differs: "(archived_at is null) <> (:value is null)",
  },
  is_active: { toJson: (value) => `iif(${value}, 'true', 'false')` },
  name: {
    toJson: (value) => `json_quote(${value})`,
    isAllowed: `not exists (
      select 1 from deployments other where other.prompt_id = deployments.prompt_id and other.name = :value
    )`,
  },
};

/** Gives a column another value; with `ifRevision` only where the deployment has not changed since it had that revision. */
export async function changeDeployment(
  management: Management,
  action: Action,
  column: keyof typeof columns,
  value: number | string | null,
  { id, ifRevision, ...info }: ChangeInput,
): Promise<DeploymentResult> {
  const { toJson, differs = `${column} <> :value`, isAllowed = "true" } = columns[column];
  const condition = `id = :id and ${differs} and revision = coalesce(:ifRevision, revision) and ${isAllowed}
    and ${isChangeable(management)}`;
  const args = { id, value, ifRevision: ifRevision ?? null };
  const [changes, , found] = await management.database.write([
    addChange(action, toJson(column), toJson(":value"), condition, { ...args, ...originOf(management, info) }),
    { sql: `update deployments set ${column} = :value, revision = revision + 1 where ${condition}`, args },
    findDeployment(id),
  ]);
  const deployment = found!.map(toDeployment)[0] ?? missing(id);
  requireChangeable(management, deployment);
  const changed = changes!.length > 0;
  if (!changed && ifRevision !== undefined && ifRevision !== deployment.revision) throw outdated("Deployment", id);
  if (!changed && column === "current_version" && deployment.archivedAt !== null) {
    throw archived("Deployment", deployment.reference);
  }
  return { ...deployment, changed };
}
