// Tools that read and change deployments.
import { promoteDeployment, rollBackDeployment } from "../management/deployments/deployment-changes.ts";
import { listDeployments } from "../management/deployments/deployments.ts";
import { changeInfo } from "../management/kernel/operation.ts";
import { described, option } from "../schema/struct.ts";
import * as v from "../management/kernel/values.ts";
import { workspaceOf } from "./session.ts";
import { defaultPage, inWorkspace, page, tool } from "./tool.ts";

export const deployment = described(
  v.deploymentReference,
  "The reference of the deployment, such as support/assistant@production, or its id",
);

const findDeployments = tool({
  name: "list_deployments",
  title: "List deployments",
  description: "Lists deployments, newest first. A deployment serves one version of a prompt, its currentVersion, to " +
    "applications. revision counts its changes: promote and rollback need it. isProtected means that only some roles may change it, and approvals: 1 that " +
    "another person must approve a change.",
  runs: [listDeployments],
  input: {
    prompt: option(v.promptReference, "Only deployments of this prompt, by its name or id"),
    ...inWorkspace,
    ...page,
  },
  output: listDeployments.output,
  async run(session, { workspaceId, prompt, limit = defaultPage, cursor }) {
    const workspace = await workspaceOf(session, workspaceId);
    return await session.call(listDeployments, { workspaceId: workspace, promptId: prompt, limit, cursor });
  },
});

const change = {
  deployment,
  revision: described(
    v.positive,
    "The revision that list_deployments showed, or your last change of it. If it is another one by now, the call fails: see " +
      "what the deployment serves before you repeat it",
  ),
  note: changeInfo.note,
  ...inWorkspace,
};

const promote = tool({
  name: "promote",
  title: "Promote a version",
  description:
    "Makes a version live in a deployment: applications get it within seconds. Compare it with the live version by " +
    "diff_versions first. Promote only when the user asks for it. Where approvals is 1, this makes nothing live: it opens a " +
    "change request, which the result has in request, and a person other than you approves it in the console. Tell the user so.",
  runs: [promoteDeployment],
  change: "replaces",
  input: { ...change, version: described(v.positive, "The version to make live") },
  output: promoteDeployment.output,
  run: async ({ call }, { deployment: id, revision: ifRevision, ...input }) =>
    await call(promoteDeployment, { id, ifRevision, ...input }),
});

const rollback = tool({
  name: "rollback",
  title: "Roll back a deployment",
  description:
    "Makes the version live again that a deployment served before, or another one that it has served: stats lists them " +
    "in promotions. Roll back only when the user asks for it.",
  runs: [rollBackDeployment],
  change: "replaces",
  input: {
    ...change,
    version: option(v.positive, "A version that was live before. Default: the previous one"),
  },
  output: rollBackDeployment.output,
  run: async ({ call }, { deployment: id, revision: ifRevision, ...input }) =>
    await call(rollBackDeployment, { id, ifRevision, ...input }),
});

export const deploymentTools = [findDeployments, promote, rollback];
