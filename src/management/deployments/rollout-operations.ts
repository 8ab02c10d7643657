// Operations on rollouts. A promotion, a rollback, and what makes a deployment refuse requests end it:
// see deployment-writes.ts.
import { archived, conflict, invalidField } from "../../common/errors.ts";
import { newId, withoutSecrets } from "../../common/ids.ts";
import { option } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { change, commitPlan, planChange, requireForChange, stopRolloutOf } from "./deployment-writes.ts";
import { DeploymentResult, requestsOf, requireDeployment } from "./deployments.ts";
import type { Deployment } from "./deployments.ts";
import { readFeedbackNames } from "../terms/feedback-names.ts";
import { guardInput, requireUnits } from "../terms/guards.ts";
import { withoutSpaces } from "../terms/limits.ts";
import { changeOperation, listOperation } from "../kernel/declare.ts";
import { pageOf } from "../kernel/operation.ts";
import type { Management } from "../kernel/operation.ts";
import { ofDeployment } from "../kernel/references.ts";
import { requireRoom } from "../kernel/room.ts";
import { percent, Rollout, rolloutTable } from "../terms/rollouts.ts";
import { insertInto, updateOf } from "../kernel/table.ts";
import { requireVersion } from "../prompts/versions.ts";

export const setRollout = changeOperation({
  id: "setRollout",
  summary:
    "Start a rollout of a version to a share of the callers, or change the share or the guard of the one in progress",
  path: "/deployments/{id}/rollout",
  role: "editor",
  guardsProtected: true,
  command:
    "deploy rollout REF [--version N] [--percent PERCENT] [--guard LIMITS] [--no-guard] [--certain PERCENT] [--stop] [--list]",
  input: {
    ...change,
    version: option(v.positive, "The version to roll out. Default: that of the rollout in progress"),
    percent: option(
      percent,
      "The share of the callers that gets it, in percent, in steps of 0.1. Default: that of the rollout in progress",
    ),
    ...guardInput,
  },
  output: DeploymentResult,
  requests: requestsOf,
  async run(
    management,
    { version, percent, guard: typed, certain: atLeast, note = "", actor = management.caller.actor, ...input },
  ) {
    const before = await requireForChange(management, input);
    const { id, reference, currentVersion, rollout } = before;
    if (before.archivedAt !== null) throw archived("Deployment", reference);
    if (!before.isActive) throw conflict(`Deployment ${reference} is inactive. Activate it before you start a rollout`);
    const given = typed && withoutSpaces(typed);
    if (typeof given === "string") requireUnits(given, await readFeedbackNames(management, before.workspaceId));
    const guard = given === undefined ? rollout?.guard ?? null : given;
    if (guard === null && atLeast !== undefined) {
      throw invalidField(
        "certain",
        "Field certain must come with a guard: there is none",
        "given with a guard: there is none",
      );
    }
    const certain = guard === null ? null : atLeast ?? rollout?.certain ?? 99;
    if (rollout !== null) {
      return await changeRollout(management, before, {
        ...rollout,
        percent: percent ?? rollout.percent,
        guard,
        certain,
      }, version);
    }
    if (version === undefined || percent === undefined) {
      throw conflict(
        `Deployment ${reference} has no rollout in progress. To start one, set version and percent`,
        "conflict",
        "version",
      );
    }
    if (version === currentVersion) {
      throw conflict(
        `Version ${version} is live in ${reference}. A rollout needs another version`,
        "conflict",
        "version",
      );
    }
    await requireVersion(management, before.promptId, version);
    const startedAt = management.clock();
    const started = { id: newId("ro", startedAt), version, percent, startedAt, guard, certain };
    const masked = (text: string) => withoutSecrets(text.toWellFormed(), management.secrets);
    const insertion = insertInto("rollouts", {
      ...{ id: started.id, workspaceId: before.workspaceId, deploymentId: id, baseVersion: currentVersion, version },
      ...{ share: Math.round(10 * percent), salt: crypto.randomUUID(), startedAt },
      ...{ startedBy: masked(actor), note: masked(note), guard, certain },
    });
    return await commitPlan(management, planChange(before, "rollout_started", { rollout: started }, {}, startedAt), [
      insertion,
    ]);
  },
});

async function changeRollout(
  management: Management,
  before: Deployment,
  rollout: NonNullable<Deployment["rollout"]>,
  version = rollout.version,
): Promise<DeploymentResult> {
  const { id, percent, guard, certain } = rollout;
  if (version !== rollout.version) {
    throw conflict(
      `Deployment ${before.reference} has a rollout of version ${rollout.version} in progress. ` +
        `Promote that version or stop its rollout before you start another`,
    );
  }
  const { percent: share, guard: known, certain: level } = before.rollout!;
  if (percent === share && guard === known && certain === level) return { ...before, changed: false };
  await requireRoom(management, "rolloutChanges", rollout.id);
  const update = updateOf("rollouts", id, { share: Math.round(10 * percent), guard, certain });
  return await commitPlan(management, planChange(before, "rollout_changed", { rollout }, {}, management.clock()), [
    update,
  ]);
}

export const stopRollout = changeOperation({
  id: "stopRollout",
  summary: "Stop the rollout in progress, so that all callers get the live version",
  path: "/deployments/{id}/rollout/stop",
  role: "editor",
  guardsProtected: true,
  input: change,
  output: DeploymentResult,
  async run(management, input) {
    const before = await requireForChange(management, input);
    const { rollout } = before;
    if (rollout === null) return { ...before, changed: false };
    return await stopRolloutOf(management, { ...before, rollout }, "stopped");
  },
});

export const listRollouts = listOperation({
  id: "listRollouts",
  summary: "List the rollouts of a deployment, newest first",
  path: "/deployments/{id}/rollouts",
  conflicts: true,
  input: { ...ofDeployment, ...v.page },
  output: pageOf(Rollout),
  async run(management, { id, ...page }) {
    await requireDeployment(management, id);
    return await rolloutTable.list(management.database, { deployId: id }, page);
  },
});

export const rolloutOperations = [setRollout, stopRollout, listRollouts];
