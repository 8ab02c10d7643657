// Rollouts. A share of the callers of a deployment gets a candidate, the others the version that is live. The
// operations are in rollout-operations.ts.
import type { DeploymentId, PromptId, RolloutId, WorkspaceId } from "../../common/ids.ts";
import type { Statement } from "../../database/database.ts";
import { described, exactly, oneOf, orNull, predicate, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { guardMembers } from "./guards.ts";
import { tableOf, updateOf } from "../kernel/table.ts";

/** A percentage in whole tenths. */
const isPercent = (value: unknown): value is number =>
  typeof value === "number" && value >= 0.1 && value <= 100 && Math.round(10 * value) / 10 === value;
export const percent = predicate<number>("a number from 0.1 to 100 in steps of 0.1", isPercent, {
  type: "number",
  minimum: 0.1,
  maximum: 100,
  description: "Percent, in steps of 0.1",
});

const candidate = described(v.positive, "The candidate: the version that a share of the callers gets");
const share = described(percent, "The share of the callers that gets the candidate, in percent");

const activeRollout = exactly({
  id: v.textAs<RolloutId>(),
  version: candidate,
  percent: share,
  startedAt: v.timestamp,
  ...guardMembers,
});
export type ActiveRollout = Infer<typeof activeRollout>;

/** Member of a deployment, and its column in a query of deployments (d). */
export const rolloutOfDeployment = orNull(activeRollout, "The rollout in progress, or null");
export const rolloutColumn = `(
    select json_object('id', r.id, 'version', r.version, 'percent', r.share / 10.0, 'startedAt', r.started_at,
      'guard', r.guard, 'certain', r.certain)
    from rollouts r where r.deployment_id = d.id and r.ended_at is null
  ) as rollout`;

export const outcomes = ["promoted", "replaced", "rolled_back", "stopped", "guard", "deactivated", "archived"] as const;
export type RolloutOutcome = (typeof outcomes)[number];

export const Rollout = shape("Rollout", {
  id: v.textAs<RolloutId>(),
  workspaceId: v.textAs<WorkspaceId>(),
  deployId: v.textAs<DeploymentId>(),
  baseVersion: described(v.positive, "The version that is live while the rollout lasts"),
  version: candidate,
  percent: described(
    percent,
    "The share of the callers that gets the candidate, in percent: the last one, if it has ended",
  ),
  salt: described(v.text, "What callers are chosen with. It stays the same while the share changes"),
  note: described(v.text, "The reason that was given for its start. It may be empty"),
  ...guardMembers,
  startedAt: v.timestamp,
  startedBy: described(v.text, "Who started it. It may be empty"),
  endedAt: described(v.moment, "When it ended, in Unix milliseconds. Null while it is in progress"),
  outcome: orNull(
    oneOf(...outcomes),
    "How it ended: `promoted` made the candidate live, `replaced` another version. Null while it is in progress",
  ),
});
export type Rollout = Infer<typeof Rollout>;

export const rolloutTable = tableOf(
  Rollout,
  `select id, workspace_id, deployment_id, deployment_id as deploy_id, base_version, version, share / 10.0 as percent, salt, note, guard, certain,
    started_at, started_by, ended_at, outcome from rollouts`,
);

/** The statement that ends a rollout. */
export const endRollout = (id: RolloutId, outcome: RolloutOutcome, endedAt: number): Statement =>
  updateOf("rollouts", id, { outcome, endedAt });

/** The statement that ends the rollouts of the deployments of a prompt that is archived. */
export const endRolloutsOf = (promptId: PromptId, endedAt: number): Statement => ({
  sql: `update rollouts set outcome = 'archived', ended_at = :endedAt
    where ended_at is null and deployment_id in (select id from deployments where prompt_id = :promptId)`,
  args: { promptId, endedAt },
});

/** A rollout in a list: `8 at 10 %`. */
export const describeRollout = (rollout: Pick<ActiveRollout, "version" | "percent"> | null): string =>
  rollout === null ? "none" : `${rollout.version} at ${rollout.percent} %`;

/** A rollout with its guard: `8 at 10 %, guarded by failures=+2% at 99 %`. */
export function describeGuarded(rollout: ActiveRollout | null): string {
  const { guard = null, certain = null } = rollout ?? {};
  return `${describeRollout(rollout)}${guard === null ? "" : `, guarded by ${guard} at ${certain} %`}`;
}
