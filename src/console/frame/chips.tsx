// Small marks for states: of deployments, versions, statuses, roles.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { Deployment } from "../../management/deployments/deployments.ts";
import { h, isolated } from "./html.ts";
import type { Html, Part } from "./html.ts";
import { link } from "./page.ts";
import type { ConsoleRequest } from "./page.ts";
import { shareText } from "./rollout.tsx";

/** Deployments and their live versions; empty without any. */
export const deploymentChips = (visit: ConsoleRequest, deployments: readonly Deployment[]): Part =>
  deployments.length > 0 && (
    <span class="chips">{deployments.map((deployment) => deploymentChip(visit, deployment))}</span>
  );

function deploymentChip(visit: ConsoleRequest, deployment: Deployment): Html {
  const { id, name, currentVersion, rollout } = deployment, state = stateOf(deployment);
  return (
    <a class={`chip ${state === undefined ? "live" : "off"}`} href={link(visit, ["deployments", id])}>
      {isolated(name)} <b>v{currentVersion}</b>
      {state}
      {rollout !== null && `, ${shareText(rollout)}`}
    </a>
  );
}

/** Reason for refused requests. */
export const stateOf = ({ isActive, archivedAt }: Deployment): string | undefined =>
  archivedAt !== null ? " archived" : isActive ? undefined : " off";

type ChipProps = { kind?: "" | "live" | "off" | "bad"; children?: Part };

export const Chip = ({ kind = "", children }: ChipProps): Html => <span class={`chip ${kind}`}>{children}</span>;

/** A version of a prompt, with a link to it. */
export const versionLink = (visit: ConsoleRequest, promptId: string, version: number): Html => (
  <a href={link(visit, ["prompts", promptId], { version })}>v{version}</a>
);

/** A status by its name in the workspace. Failures are marked. */
export function statusChip({ workspace }: ConsoleRequest, status: number): Html {
  const named = workspace?.statuses.find((each) => each.status === status);
  if (named === undefined) return <Chip>{status}</Chip>;
  return (
    <Chip kind={named.isFailure ? "bad" : "live"}>
      {isolated(named.name)}
      {named.isFailure && " ✕"}
    </Chip>
  );
}
