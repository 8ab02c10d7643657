// Approvals: where a deployment needs one, a change becomes a change request, unless it must be possible at once.
import type { PromptId } from "../../common/ids.ts";
import type { Statement } from "../../database/database.ts";
import { findOpenRequest, planDecision, planRequest } from "./change-requests.ts";
import type { Requestable } from "./change-requests.ts";
import type { Change } from "../kernel/commit.ts";
import type { Deployment, DeploymentPlan, DeploymentResult } from "./deployments.ts";
import type { Action } from "./history.ts";
import { hasRole } from "../kernel/operation.ts";
import type { Management } from "../kernel/operation.ts";
import { textsOf } from "../prompts/prompt-text.ts";
import { describeGuarded } from "../terms/rollouts.ts";
import { contentHash, requireVersion } from "../prompts/versions.ts";

/** A planned change of a deployment that exists. */
export type ChangePlan = DeploymentPlan & { before: Deployment; action: Action };

/** Form of a change request: the operation, its input, its subject in words, and the version that it serves. */
type Form = {
  operation: Requestable;
  inputOf?(after: Deployment): Record<string, unknown>;
  words(deployment: Deployment): string;
  versionOf?(after: Deployment): number;
};

const form = (
  operation: Requestable,
  words: Form["words"],
  inputOf?: Form["inputOf"],
  versionOf?: Form["versionOf"],
) => ({
  ...{ operation, words },
  ...inputOf === undefined ? {} : { inputOf },
  ...versionOf === undefined ? {} : { versionOf },
});

const rolling = form(
  "setRollout",
  ({ currentVersion, rollout }) => rollout === null ? `version ${currentVersion} to all` : describeGuarded(rollout),
  ({ rollout }) => {
    const { version, percent, guard, certain } = rollout!;
    return { version, percent, guard, ...certain === null ? {} : { certain } };
  },
  ({ rollout }) => rollout!.version,
);
const activity = ({ isActive }: Deployment) => isActive ? "active" : "inactive";
const archival = ({ archivedAt }: Deployment) => archivedAt === null ? "not archived" : "archived";
const protection = ({ isProtected, approvals }: Deployment) =>
  approvals > 0 ? "changed with an approval" : isProtected ? "changed without approval" : "not protected";

/**
 * The changes that take an approval. The others are exempt, because they must be possible at once: a rollback, a
 * deactivation, and the end of a rollout.
 */
const forms: Partial<Record<Action, Form>> = {
  promoted: form(
    "promoteDeployment",
    ({ currentVersion }) => `version ${currentVersion}`,
    ({ currentVersion: version }) => ({ version }),
    ({ currentVersion }) => currentVersion,
  ),
  rollout_started: rolling,
  rollout_changed: rolling,
  activated: form("activateDeployment", activity),
  renamed: form("renameDeployment", ({ name }) => name, ({ name }) => ({ name })),
  archived: form("archiveDeployment", archival),
  unarchived: form("unarchiveDeployment", archival),
  approvals_changed: form("protectDeployment", protection, ({ approvals }) => ({ approvals })),
  unprotected: form("unprotectDeployment", protection),
};

/** Result of a planned change: entries, statements, and the caller's result. */
export type Settled = { changes: Change[]; statements: Statement[]; result: DeploymentResult };

/**
 * Makes or requests a planned change. `hash` is that of the content of the version that it serves, if the database does
 * not have that version yet.
 */
export async function settle(management: Management, plan: ChangePlan, hash?: string): Promise<Settled> {
  const { before, action, deployment, change, statements } = plan;
  const { approval, database } = management;
  const result = { ...deployment, changed: true };
  if (before.approvals === 0) return { changes: [change], statements, result };
  if (approval?.deployId === before.id) {
    const after = { ...change.after, ...approval.marks };
    return {
      changes: [{ ...change, after, note: approval.note }, approval.change],
      statements: [...statements, approval.statement],
      result,
    };
  }
  const open = await findOpenRequest(database, before.id), wanted = forms[action];
  if (wanted === undefined || isSwitchedOff(management, plan)) {
    const ended = open &&
      planDecision(management, open, management.clock() >= open.expiresAt ? "expired" : "stale");
    return {
      changes: [{ ...change, after: { ...change.after, withoutApproval: true } }, ...ended ? [ended.change] : []],
      statements: [...statements, ...ended ? [ended.statement] : []],
      result,
    };
  }
  const version = wanted.versionOf?.(deployment) ?? null;
  const { id: deployId, workspaceId, promptId, reference, currentVersion: liveVersion, revision } = before;
  const planned = await planRequest(management, {
    ...{ deployId, workspaceId, promptId, reference, liveVersion, revision, version },
    ...{ operation: wanted.operation, input: wanted.inputOf?.(deployment) ?? {} },
    ...{ fromState: wanted.words(before), toState: wanted.words(deployment) },
    contentHash: version === null ? null : hash ?? await hashOf(management, promptId, version),
  }, open);
  const { changes, request } = planned;
  return { changes, statements: planned.statements, result: { ...before, changed: false, request } };
}

/** True if an owner switches the rule off, which needs no approval. */
const isSwitchedOff = ({ caller }: Management, { deployment }: ChangePlan): boolean =>
  deployment.approvals === 0 && hasRole(caller, "owner");

/** The hash of the content of a version. */
export const hashOf = async (management: Management, promptId: PromptId, version: number): Promise<string> =>
  await contentHash(textsOf(await requireVersion(management, promptId, version)));
