// How the command line shows deployments: which version is live, and whether they are active.
import * as deployments from "../management/deployments.ts";
import type { DeploymentResult } from "../management/deployments.ts";
import { listDeploymentsWithPrompts, listHistory } from "./catalog.ts";
import { show } from "./command.ts";
import type { Outcome } from "./command.ts";
import { present } from "./operation-commands.ts";

const inactive = "it is inactive and refuses requests: see deploy activate";

/** The warning that a version is live in an inactive deployment. */
export const describeInactive = ({ isActive }: { isActive: boolean }): string => isActive ? "" : `, but ${inactive}`;

function showChange({ changed, ...deployment }: DeploymentResult): Outcome {
  const { currentVersion, isActive } = deployment;
  const state = isActive ? `version ${currentVersion} is live` : inactive;
  return show(
    deployment,
    changed && isActive ? undefined : `${changed ? "Changed, but" : "Nothing to change:"} ${state}`,
  );
}

export const deploymentPresentations = [
  present(deployments.listDeployments, {
    run: ({ call }, { workspaceId }) => listDeploymentsWithPrompts(call, workspaceId),
  }),
  present(deployments.promoteDeployment, { show: showChange }),
  present(deployments.rollBackDeployment, { show: showChange }),
  present(deployments.activateDeployment, { show: showChange }),
  present(deployments.deactivateDeployment, { show: showChange }),
  present(deployments.renameDeployment, { show: showChange }),
  present(deployments.listDeploymentChanges, { run: ({ call }, { id }) => listHistory(call, id) }),
];
