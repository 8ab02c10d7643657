// Operations that change a deployment.
import { archived, bySetting, conflict, invalidField, listed } from "../../common/errors.ts";
import { integerOrNull } from "../../database/row.ts";
import { described, exactly, listOf, nullable, option, optional, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { change, changeDeployment, requireForChange, setActive } from "./deployment-writes.ts";
import type { ChangeInput } from "./deployment-writes.ts";
import {
  approvals,
  deployment,
  DeploymentResult,
  findLiveVersion,
  requestsOf,
  requireDeployment,
  requireFreeName,
  sourceDeployment,
} from "./deployments.ts";
import type { Deployment } from "./deployments.ts";
import {
  DeploymentChange,
  findLastLive,
  findLiveAt,
  findRollbackTargets,
  listChanges,
  listVersionChanges,
  LiveVersion,
} from "./history.ts";
import { changeOperation, listOperation } from "../kernel/declare.ts";
import { operation, pageOf, protectedRole } from "../kernel/operation.ts";
import type { Management, Role } from "../kernel/operation.ts";
import { renamed } from "../prompts/prompts.ts";
import { ofDeployment } from "../kernel/references.ts";
import { requireVersion } from "../prompts/versions.ts";

const RenamedDeployment = shape("RenamedDeployment", {
  ...deployment,
  changed: DeploymentResult.schema.changed,
  request: DeploymentResult.schema.request,
  ...renamed,
});
export type RenamedDeployment = Infer<typeof RenamedDeployment>;

export const promoteDeployment = changeOperation({
  id: "promoteDeployment",
  summary: "Make a version live: a given one, or the one that is live in another deployment of the prompt",
  path: "/deployments/{id}/promote",
  role: "editor",
  guardsProtected: true,
  command: "deploy promote REF [--version N] [--from DEPLOYMENT]",
  input: {
    ...change,
    version: option(v.positive, "The version to make live"),
    from: optional(sourceDeployment),
  },
  output: DeploymentResult,
  requests: requestsOf,
  async run(management, { version, from, ...input }) {
    if ((version === undefined) === (from === undefined)) {
      throw invalidField("version", "One of the fields version and from must be given");
    }
    const before = await requireForChange(management, input);
    const { promptId } = before;
    const wanted = from === undefined ? version : await findLiveVersion(management, promptId, from);
    const { version: target } = await requireVersion(management, promptId, wanted);
    return await makeLive(management, before, "promoted", target);
  },
});

async function makeLive(
  management: Management,
  before: Deployment,
  action: "promoted" | "rolled_back",
  currentVersion: number,
): Promise<DeploymentResult> {
  if (before.archivedAt !== null) throw archived("Deployment", before.reference);
  if (before.currentVersion === currentVersion) return { ...before, changed: false };
  return await changeDeployment(management, before, action, { currentVersion });
}

export const rollBackDeployment = changeOperation({
  id: "rollBackDeployment",
  summary: "Make the previous version live again, or another version that was live before",
  path: "/deployments/{id}/rollback",
  role: "publisher",
  command: "deploy rollback REF [--to-version N]",
  input: {
    ...change,
    version: option(v.positive, "A version that was live before. Default: the previous one"),
  },
  output: DeploymentResult,
  async run(management, { version, ...input }) {
    const before = await requireForChange(management, input);
    const { id, reference } = before;
    const { live, previous, served } = findRollbackTargets(await listVersionChanges(management.database, id));
    const target = version ?? previous;
    if (target === undefined) {
      const others = served.length === 0
        ? ""
        : `. It has also served ${listed(served.map(String))}. To make one of them live, ${bySetting("version")}`;
      throw conflict(
        `Deployment ${reference} has nothing before version ${live} to go back to${others}`,
        "conflict",
        "version",
      );
    }
    if (target !== live && !served.includes(target)) {
      throw conflict(
        `Deployment ${reference} has not served version ${target}. Promote it instead`,
        "conflict",
        "version",
      );
    }
    return await makeLive(management, before, "rolled_back", target);
  },
});

/** An operation that switches a property of a deployment. Its id, its path and its command have this verb. */
const switching = <const Verb extends string>(
  verb: Verb,
  role: Role,
  summary: string,
  run: (management: Management, input: ChangeInput) => Promise<DeploymentResult>,
  isRequested = true,
) =>
  changeOperation({
    id: `${verb}Deployment`,
    summary,
    path: `/deployments/{id}/${verb}`,
    role,
    command: `deploy ${verb} REF`,
    input: change,
    output: DeploymentResult,
    ...isRequested ? { requests: requestsOf } : {},
    run,
  });

export const activateDeployment = switching(
  "activate",
  "publisher",
  "Activate a deployment, so that it accepts requests",
  (management, input) => setActive(management, "activated", input, true),
);

export const deactivateDeployment = switching(
  "deactivate",
  "publisher",
  "Deactivate a deployment. It refuses requests from the next one on",
  (management, input) => setActive(management, "deactivated", input, false),
  false,
);

export const renameDeployment = changeOperation({
  id: "renameDeployment",
  summary: "Rename a deployment. Its reference changes, its id does not",
  path: "/deployments/{id}/rename",
  role: "editor",
  guardsProtected: true,
  command: "deploy rename REF --name NAME",
  input: { ...change, name: described(v.deploymentName, "The new name") },
  output: RenamedDeployment,
  requests: requestsOf,
  async run(management, { name, ...input }): Promise<RenamedDeployment> {
    const before = await requireForChange(management, input);
    if (before.name === name) return { ...before, changed: false, references: [] };
    await requireFreeName(management, before.promptId, name);
    const { reference: from } = before;
    const to = `${from.slice(0, from.indexOf("@"))}@${name}`;
    const renamed = await changeDeployment(management, before, "renamed", { name, reference: to }, { name });
    return { ...renamed, references: renamed.changed ? [{ from, to }] : [] };
  },
});

export const archiveDeployment = switching(
  "archive",
  "publisher",
  "Archive a deployment. Lists hide it, requests to it are refused, and its name stays taken",
  (management, input) => setArchived(management, true, input),
);

export const unarchiveDeployment = switching(
  "unarchive",
  "publisher",
  "Unarchive a deployment. It stays archived if its prompt is archived",
  (management, input) => setArchived(management, false, input),
);

/** A deployment whose prompt is archived stays so when it is unarchived itself. */
async function setArchived(management: Management, isArchived: boolean, input: ChangeInput): Promise<DeploymentResult> {
  const before = await requireForChange(management, input);
  const sql = "select archived_at, prompt_archived_at from deployments where id = ?";
  const [row] = await management.database.read({ sql, args: [before.id] });
  if ((row!.archived_at !== null) === isArchived) return { ...before, changed: false };
  const own = isArchived ? management.clock() : null;
  const archivedAt = own ?? integerOrNull(row!, "prompt_archived_at");
  const action = isArchived ? "archived" : "unarchived";
  return await changeDeployment(management, before, action, { archivedAt }, { archivedAt: own });
}

export const protectDeployment = changeOperation({
  id: "protectDeployment",
  summary:
    `Protect a deployment, so that changing it requires the role ${protectedRole}, and with approvals another person`,
  path: "/deployments/{id}/protect",
  role: "admin",
  command: "deploy protect REF [--approvals APPROVALS]",
  input: {
    ...change,
    approvals: option(
      approvals,
      "How many other people must approve a change of it: 0 or 1. Default: unchanged, initially 0",
    ),
  },
  output: DeploymentResult,
  requests: requestsOf,
  async run(management, { approvals: given, ...input }) {
    const before = await requireForChange(management, input);
    const approvals = given ?? before.approvals;
    if (before.isProtected && approvals === before.approvals) return { ...before, changed: false };
    const action = before.isProtected ? "approvals_changed" : "protected";
    return await changeDeployment(management, before, action, { isProtected: true, approvals });
  },
});

export const unprotectDeployment = switching(
  "unprotect",
  "admin",
  "Remove the protection of a deployment, and with it the need for approvals",
  async (management, input) => {
    const before = await requireForChange(management, input);
    if (!before.isProtected) return { ...before, changed: false };
    return await changeDeployment(management, before, "unprotected", { isProtected: false, approvals: 0 });
  },
);

export const listDeploymentChanges = listOperation({
  id: "listDeploymentChanges",
  summary: "List the changes of a deployment, newest first",
  path: "/deployments/{id}/history",
  conflicts: true,
  command: "deploy history REF",
  input: { ...ofDeployment, ...v.numberedPage },
  output: pageOf(DeploymentChange),
  async run(management, { id, ...page }) {
    await requireDeployment(management, id);
    return await listChanges(management.database, id, page);
  },
});

/** To which versions a rollback of a deployment can return, for its page. */
export const findReturns = operation({
  id: "findReturns",
  summary:
    "Show the version before the live one, and by the revision of the last change that made it live each version",
  method: "GET",
  path: "/deployments/{id}/returns",
  input: ofDeployment,
  output: exactly({
    previous: nullable(v.positive),
    lastLive: listOf(exactly({ revision: v.positive, version: v.positive })),
  }),
  async run({ database }, { id }) {
    const changes = await listVersionChanges(database, id);
    const { previous = null } = findRollbackTargets(changes), lastLive = findLastLive(changes.reverse());
    return { previous, lastLive: Array.from(lastLive, ([revision, version]) => ({ revision, version })) };
  },
});

export const readLiveVersion = operation({
  id: "readLiveVersion",
  summary: "Show which version was live in a deployment at a time, and who had made it so",
  method: "GET",
  path: "/deployments/{id}/live",
  conflicts: true,
  command: "deploy at REF --time TIME",
  input: { ...ofDeployment, time: described(v.timestamp, "The time, in Unix milliseconds") },
  output: LiveVersion,
  async run(management, { id, time }): Promise<LiveVersion> {
    const { promptId, reference } = await requireDeployment(management, id);
    const found = await findLiveAt(management.database, id, time);
    const version = found === undefined ? null : found.change.to as number;
    return { deployId: id, reference, promptId, at: time, version, isActive: false, change: null, ...found };
  },
});

export const deploymentChangeOperations = [
  readLiveVersion,
  promoteDeployment,
  rollBackDeployment,
  activateDeployment,
  deactivateDeployment,
  renameDeployment,
  archiveDeployment,
  unarchiveDeployment,
  protectDeployment,
  unprotectDeployment,
  listDeploymentChanges,
];
