// What tests ask of management, as functions: each calls an operation as an owner at the command line does.
import type { Clock, Page } from "../src/common/domain.ts";
import type { DeploymentId, KeyId, PromptId, WorkspaceId } from "../src/common/ids.ts";
import type { Database } from "../src/database/database.ts";
import { eachPage } from "../src/database/page.ts";
import * as keys from "../src/management/access/api-keys.ts";
import { listCalls as calls } from "../src/management/records/calls.ts";
import * as changes from "../src/management/deployments/deployment-changes.ts";
import * as deployments from "../src/management/deployments/deployments.ts";
import { perform } from "../src/management/kernel/operation.ts";
import type { Operation, Session } from "../src/management/kernel/operation.ts";
import * as versions from "../src/management/prompts/versions.ts";
import type { PromptInput } from "../src/management/prompts/versions.ts";
import { publishPrompt as publish } from "../src/management/release/publications.ts";
import * as records from "../src/management/records/records.ts";
import { verify as verifyLedgers } from "../src/management/verify/verify.ts";
import { readUsage as usage } from "../src/management/records/usage.ts";
import { createWorkspace as create, updateWorkspace as update } from "../src/management/kernel/workspaces.ts";
import { monthOf } from "../src/common/month.ts";

/** The moment at which tests begin, unless they say otherwise: 2026-11-15T12:00:00Z. */
export const noon = Date.UTC(2026, 10, 15, 12);

/** The management of a database, as the command line has it. */
export const managementOf = (database: Database, clock: Clock = () => noon): Session => ({
  database,
  clock,
  caller: { source: "command line", actor: "", role: "owner" },
});

/** Calls an operation, as whoever the session says. */
export const call = <Input extends object, Output>(
  operation: Operation<Input, Output>,
  session: Session,
  input: Input,
) => perform(operation, session, { value: input });

const readAll = async <Item>(list: (cursor: string | undefined) => Promise<Page<Item>>): Promise<Item[]> => {
  const items: Item[] = [];
  for await (const page of eachPage(list)) items.push(...page);
  return items;
};

type InputOf<O> = O extends Operation<infer Input, infer _> ? Input : never;
type Less<O, Name extends string> = Omit<InputOf<O>, Name>;

export const createApiKey = (
  management: Session,
  workspaceId: WorkspaceId,
  input: Less<typeof keys.createApiKey, "workspaceId">,
) => call(keys.createApiKey, management, { workspaceId, ...input });
export const revokeApiKey = (management: Session, id: KeyId) => call(keys.revokeApiKey, management, { id });
export const createWorkspace = (management: Session, input: InputOf<typeof create>) => call(create, management, input);
export const updateWorkspace = (management: Session, id: WorkspaceId, change: Less<typeof update, "id">) =>
  call(update, management, { id, ...change });
export const createPrompt = (management: Session, workspaceId: WorkspaceId, input: PromptInput) =>
  call(versions.createPrompt, management, { workspaceId, ...input });
export const pushPrompt = (management: Session, id: PromptId, input: PromptInput) =>
  call(versions.pushPrompt, management, { id, ...input });
export const publishPrompt = (
  management: Session,
  workspaceId: WorkspaceId,
  input: Less<typeof publish, "workspaceId">,
) => call(publish, management, { workspaceId, ...input });
export const createDeployment = (
  management: Session,
  workspaceId: WorkspaceId,
  input: Less<typeof deployments.createDeployment, "workspaceId">,
) => call(deployments.createDeployment, management, { workspaceId, ...input });
export const promoteDeployment = (management: Session, id: DeploymentId, input: { version: number }) =>
  call(changes.promoteDeployment, management, { id, ...input });
export const setDeploymentActive = (management: Session, id: DeploymentId, isActive: boolean) =>
  call(isActive ? changes.activateDeployment : changes.deactivateDeployment, management, { id });
/** All of a deployment's records, newest first. */
export const listDiagnoses = (
  management: Session,
  filter: Less<typeof records.listDiagnoses, "limit" | "cursor"> & { deployId: DeploymentId },
) => readAll((cursor) => call(records.listDiagnoses, management, { ...filter, limit: 1000, cursor }));
/** All calls of a workspace, newest first. */
export const listCalls = (
  management: Session,
  filter: Less<typeof calls, "limit" | "cursor"> & { workspaceId: WorkspaceId },
) => readAll((cursor) => call(calls, management, { ...filter, limit: 1000, cursor }));
export const readUsage = (management: Session, workspaceId: WorkspaceId, month = monthOf(management.clock())) =>
  call(usage, management, { workspaceId, month });
export const verify = (management: Session, workspaceId?: WorkspaceId) =>
  call(verifyLedgers, management, { workspaceId });
