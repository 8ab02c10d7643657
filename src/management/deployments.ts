// Deployments: which version of a prompt is live, and whether it is. Whatever changes one takes `If-Match`, and adds to its
// history in the same transaction.
import { conflict, notFound, outdated } from "../common/errors.ts";
import { newId } from "../common/ids.ts";
import type { DeploymentId, PromptId, WorkspaceId } from "../common/ids.ts";
import type { Statement } from "../database/database.ts";
import { described, exactly, named, optional } from "../schema/struct.ts";
import type { Infer, Members } from "../schema/struct.ts";
import * as v from "./values.ts";
import {
  addChange,
  DeploymentChange,
  findRollbackTargets,
  listChanges,
  listVersionChanges,
  originOf,
} from "./history.ts";
import type { Action } from "./history.ts";
import { changeInfo, operation, pageOf } from "./operation.ts";
import type { Management, Store } from "./operation.ts";
import { requirePrompt } from "./prompts.ts";
import { tableOf } from "./table.ts";
import { requireVersion } from "./versions.ts";
import { requireWorkspace } from "./workspaces.ts";

const deployment = {
  id: v.textAs<DeploymentId>(),
  workspaceId: v.textAs<WorkspaceId>(),
  name: v.text,
  promptId: v.textAs<PromptId>(),
  currentVersion: described(v.positive, "The version of the prompt that is live"),
  isActive: described(v.isTrue, "Whether it is open to requests"),
  revision: described(v.positive, "How often it has changed, its creation included; the ETag has it too"),
  createdAt: v.timestamp,
};
const Deployment = named("Deployment", exactly(deployment));
export type Deployment = Infer<typeof Deployment>;
export const DeploymentResult = named(
  "DeploymentResult",
  exactly({ ...deployment, changed: described(v.isTrue, "Whether this request made a difference") }),
);
export type DeploymentResult = Infer<typeof DeploymentResult>;

const table = tableOf(Deployment, "select * from deployments");

/** Members of the input of whatever changes the deployment `id`. */
const change = { id: v.id<DeploymentId>(), ...changeInfo, ifRevision: optional(v.count) };
type ChangeInput = Members<typeof change>;

/** The statement that makes a deployment live, where a condition holds. `version` is SQL. */
export const addDeployment = (
  { id, workspaceId, name, promptId }: Pick<Deployment, "id" | "workspaceId" | "name" | "promptId">,
  version: string,
  now: number,
  args: Record<string, string | number>,
  condition = "true",
): Statement => ({
  sql: `insert into deployments (id, workspace_id, name, prompt_id, current_version, is_active, revision, created_at)
    select :id, :workspaceId, :name, :promptId, ${version}, 1, 1, :now where ${condition}`,
  args: { ...args, id, workspaceId, name, promptId, now },
});

/** The statement that finds a deployment, and what reads its row. */
export const findDeployment = table.byId;
export const toDeployment = table.toItem;

export const createDeployment = operation({
  id: "createDeployment",
  tag: "Deployments",
  summary: "Create an active deployment of a prompt's version, the newest unless named",
  method: "POST",
  path: "/workspaces/{workspaceId}/deployments",
  role: "editor",
  command: "deploy create --workspace ID --name NAME --prompt ID [--version N] [--note TEXT] [--actor NAME]",
  input: {
    workspaceId: v.id<WorkspaceId>(),
    name: v.name,
    promptId: v.id<PromptId>(),
    version: optional(described(v.positive, "The newest version unless given")),
    ...changeInfo,
  },
  output: Deployment,
  locate: ({ id }) => `/deployments/${id}`,
  refusals: ["not_found"],
  async run(management, { workspaceId, name, promptId, version, ...info }) {
    await requireWorkspace(management, workspaceId);
    await requirePrompt(management, promptId, workspaceId);
    const { version: currentVersion } = await requireVersion(management, promptId, version);
    const origin = originOf(management, info);
    const id = newId("dep", origin.now);
    const results = await management.database.write([
      addDeployment({ id, workspaceId, name, promptId }, ":currentVersion", origin.now, { currentVersion }),
      addChange("created", "null", "json_quote(current_version)", "id = :id", { id, ...origin }),
      findDeployment(id),
    ]);
    return toDeployment(results.at(-1)![0]!);
  },
});

export const listDeployments = operation({
  id: "listDeployments",
  tag: "Deployments",
  summary: "List a workspace's deployments, newest first",
  method: "GET",
  path: "/workspaces/{workspaceId}/deployments",
  role: "viewer",
  command: "deploy list --workspace ID",
  input: { workspaceId: v.id<WorkspaceId>(), ...v.page },
  output: pageOf(Deployment),
  refusals: ["not_found"],
  async run(management, { workspaceId, ...page }) {
    await requireWorkspace(management, workspaceId);
    return await table.list(management.database, { workspaceId }, page);
  },
});

export const getDeployment = operation({
  id: "getDeployment",
  tag: "Deployments",
  summary: "Show a deployment; its ETag is what If-Match takes",
  method: "GET",
  path: "/deployments/{id}",
  role: "viewer",
  command: "deploy show ID",
  input: { id: v.id<DeploymentId>() },
  output: Deployment,
  refusals: ["not_found"],
  run: (management, { id }) => requireDeployment(management, id),
});

export const promoteDeployment = operation({
  id: "promoteDeployment",
  tag: "Deployments",
  summary: "Make another version live",
  method: "POST",
  path: "/deployments/{id}/promote",
  role: "editor",
  command: "deploy promote ID --version N [--note TEXT] [--actor NAME]",
  input: { ...change, version: described(v.positive, "The version to make live") },
  output: DeploymentResult,
  refusals: ["not_found", "outdated"],
  async run(management, { version, ...input }) {
    const { promptId } = await requireDeployment(management, input.id);
    await requireVersion(management, promptId, version);
    return await changeDeployment(management, "promoted", "current_version", version, input);
  },
});

export const rollBackDeployment = operation({
  id: "rollBackDeployment",
  tag: "Deployments",
  summary: "Make the previous version live again, or another one that was live before",
  method: "POST",
  path: "/deployments/{id}/rollback",
  role: "publisher",
  command: "deploy rollback ID [--to-version N] [--note TEXT] [--actor NAME]",
  input: {
    ...change,
    version: optional(
      described(v.positive, "A version that was live before; the one before the live one unless given"),
    ),
  },
  output: DeploymentResult,
  refusals: ["not_found", "conflict", "outdated"],
  async run(management, { version, ...input }) {
    const { id } = input;
    const { revision } = await requireDeployment(management, id);
    // What was live before depends on what is live now: this revision counts even where the caller names none.
    const { ifRevision = revision } = input;
    if (ifRevision !== revision) throw outdated("Deployment", id);
    const { live, previous, served } = findRollbackTargets(await listVersionChanges(management.database, id));
    const target = version ?? previous;
    if (target === undefined) {
      const others = served.length === 0 ? "" : `. Versions it has served: ${served.join(", ")}`;
      throw conflict(`Deployment ${id} has no earlier version to roll back to${others}`);
    }
    if (target !== live && !served.includes(target)) {
      throw conflict(`Deployment ${id} has not served version ${target}. Promote it instead`);
    }
    return await changeDeployment(management, "rolled_back", "current_version", target, { ...input, ifRevision });
  },
});

export const activateDeployment = operation({
  id: "activateDeployment",
  tag: "Deployments",
  summary: "Open a deployment to requests",
  method: "POST",
  path: "/deployments/{id}/activate",
  role: "publisher",
  command: "deploy activate ID [--note TEXT] [--actor NAME]",
  input: change,
  output: DeploymentResult,
  refusals: ["not_found", "outdated"],
  run: (management, input) => changeDeployment(management, "activated", "is_active", 1, input),
});

export const deactivateDeployment = operation({
  id: "deactivateDeployment",
  tag: "Deployments",
  summary: "Close a deployment to requests, from the next one on",
  method: "POST",
  path: "/deployments/{id}/deactivate",
  role: "publisher",
  command: "deploy deactivate ID [--note TEXT] [--actor NAME]",
  input: change,
  output: DeploymentResult,
  refusals: ["not_found", "outdated"],
  run: (management, input) => changeDeployment(management, "deactivated", "is_active", 0, input),
});

export const renameDeployment = operation({
  id: "renameDeployment",
  tag: "Deployments",
  summary: "Give a deployment another name; its id stays",
  method: "POST",
  path: "/deployments/{id}/rename",
  role: "editor",
  command: "deploy rename ID --name NAME [--note TEXT] [--actor NAME]",
  input: { ...change, name: described(v.name, "The new name") },
  output: DeploymentResult,
  refusals: ["not_found", "outdated"],
  run: (management, { name, ...input }) => changeDeployment(management, "renamed", "name", name, input),
});

export const listDeploymentChanges = operation({
  id: "listDeploymentChanges",
  tag: "Deployments",
  summary: "List what changed in a deployment, newest first",
  method: "GET",
  path: "/deployments/{id}/history",
  role: "viewer",
  command: "deploy history ID",
  input: { id: v.id<DeploymentId>(), ...v.numberedPage },
  output: pageOf(DeploymentChange),
  refusals: ["not_found"],
  async run(management, { id, ...page }) {
    await requireDeployment(management, id);
    return await listChanges(management.database, id, page);
  },
});

/** What may change: columns, and how the history writes what they hold. */
const columns = {
  current_version: (value: string) => `json_quote(${value})`,
  is_active: (value: string) => `iif(${value}, 'true', 'false')`,
  name: (value: string) => `json_quote(${value})`,
};

/** Gives a column another value; with `ifRevision` only where the deployment has not changed since it had that revision. */
async function changeDeployment(
  management: Management,
  action: Action,
  column: keyof typeof columns,
  value: number | string,
  { id, ifRevision, ...info }: ChangeInput,
): Promise<DeploymentResult> {
  const condition = `id = :id and ${column} <> :value and revision = coalesce(:ifRevision, revision)`;
  const args = { id, value, ifRevision: ifRevision ?? null };
  const write = columns[column];
  const [changes, , found] = await management.database.write([
    addChange(action, write(column), write(":value"), condition, { ...args, ...originOf(management, info) }),
    { sql: `update deployments set ${column} = :value, revision = revision + 1 where ${condition}`, args },
    findDeployment(id),
  ]);
  const deployment = found!.map(toDeployment)[0] ?? missing(id);
  const changed = changes!.length > 0;
  if (!changed && ifRevision !== undefined && ifRevision !== deployment.revision) throw outdated("Deployment", id);
  return { ...deployment, changed };
}

/** The deployment; refused where there is none. */
export const requireDeployment = async ({ database }: Store, id: DeploymentId): Promise<Deployment> =>
  await table.find(database, id) ?? missing(id);

function missing(id: DeploymentId): never {
  throw notFound("Deployment", id);
}

export const deploymentOperations = [
  createDeployment,
  listDeployments,
  getDeployment,
  promoteDeployment,
  rollBackDeployment,
  activateDeployment,
  deactivateDeployment,
  renameDeployment,
  listDeploymentChanges,
];
