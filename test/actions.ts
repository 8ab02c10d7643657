// What tests ask of management, as functions: each calls an operation as an owner at the command line does.
import type { Clock, PageRequest } from "../src/common/domain.ts";
import type { DeploymentId, KeyId, PromptId, WorkspaceId } from "../src/common/ids.ts";
import type { Database } from "../src/database/database.ts";
import * as keys from "../src/management/api-keys.ts";
import { listCalls as calls } from "../src/management/calls.ts";
import * as changes from "../src/management/deployment-changes.ts";
import * as deployments from "../src/management/deployments.ts";
import type { Management, Operation } from "../src/management/operation.ts";
import * as versions from "../src/management/versions.ts";
import type { PromptInput } from "../src/management/versions.ts";
import { publishPrompt as publish } from "../src/management/publications.ts";
import * as records from "../src/management/records.ts";
import { verify as verifyLedgers } from "../src/management/upkeep.ts";
import { readUsage as usage } from "../src/management/usage.ts";
import { createWorkspace as create, updateWorkspace as update } from "../src/management/workspaces.ts";
import { monthOf } from "../src/common/month.ts";

/** The moment at which tests begin, unless they say otherwise: 2026-11-15T12:00:00Z. */
export const noon = Date.UTC(2026, 10, 15, 12);

/** The management of a database, as the command line has it. */
export const managementOf = (database: Database, clock: Clock = () => noon): Management => ({
  database,
  clock,
  caller: { source: "command line", actor: "", role: "owner" },
});

type InputOf<O> = O extends Operation<infer Input, infer _> ? Input : never;
type Less<O, Name extends string> = Omit<InputOf<O>, Name>;

export const createApiKey = (
  management: Management,
  workspaceId: WorkspaceId,
  input: Less<typeof keys.createApiKey, "workspaceId">,
) => keys.createApiKey.run(management, { workspaceId, ...input });
export const revokeApiKey = (management: Management, id: KeyId) => keys.revokeApiKey.run(management, { id });
export const createWorkspace = (management: Management, input: InputOf<typeof create>) => create.run(management, input);
export const updateWorkspace = (management: Management, id: WorkspaceId, change: Less<typeof update, "id">) =>
  update.run(management, { id, ...change });
export const createPrompt = (management: Management, workspaceId: WorkspaceId, input: PromptInput) =>
  versions.createPrompt.run(management, { workspaceId, ...input });
export const pushPrompt = (management: Management, id: PromptId, input: PromptInput) =>
  versions.pushPrompt.run(management, { id, ...input });
export const publishPrompt = (
  management: Management,
  workspaceId: WorkspaceId,
  input: Less<typeof publish, "workspaceId">,
) => publish.run(management, { workspaceId, ...input });
export const createDeployment = (
  management: Management,
  workspaceId: WorkspaceId,
  input: Less<typeof deployments.createDeployment, "workspaceId">,
) => deployments.createDeployment.run(management, { workspaceId, ...input });
export const promoteDeployment = (management: Management, id: DeploymentId, input: { version: number }) =>
  changes.promoteDeployment.run(management, { id, ...input });
export const setDeploymentActive = (management: Management, id: DeploymentId, isActive: boolean) =>
  (isActive ? changes.activateDeployment : changes.deactivateDeployment).run(management, { id });
export const listDiagnoses = (
  management: Management,
  filter: Less<typeof records.listDiagnoses, "limit" | "cursor"> & { deployId: DeploymentId },
  page: PageRequest = {},
): ReturnType<typeof records.listDiagnoses.run> => records.listDiagnoses.run(management, { ...filter, ...page });
export const listCalls = (
  management: Management,
  filter: Less<typeof calls, "limit" | "cursor"> & { workspaceId: WorkspaceId },
  page: PageRequest = {},
): ReturnType<typeof calls.run> => calls.run(management, { ...filter, ...page });
export const readUsage = (management: Management, workspaceId: WorkspaceId, month = monthOf(management.clock())) =>
  usage.run(management, { workspaceId, month });
export const verify = (management: Management, workspaceId?: WorkspaceId) =>
  verifyLedgers.run(management, { workspaceId });
