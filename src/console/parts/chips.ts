// Small marks for what has a state: deployments, versions, statuses, roles.
import type { Deployment } from "../../management/deployments.ts";
import { isolated, markup } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { link } from "../page.ts";
import type { Visit } from "../page.ts";

/** A deployment and what it serves. */
export const deploymentChip = (visit: Visit, deployment: Deployment): Html =>
  markup`<a class="chip ${stateOf(deployment) === undefined ? "live" : "off"}" href="${
    link(visit, ["deployments", deployment.id])
  }">${isolated(deployment.name)} <b>v${deployment.currentVersion}</b>${stateOf(deployment)}</a>`;

/** Why a deployment refuses requests. */
export const stateOf = ({ isActive, archivedAt }: Deployment): string | undefined =>
  archivedAt !== null ? " archived" : isActive ? undefined : " off";

export const chips = (all: readonly Part[]): Part => all.length > 0 && markup`<span class="chips">${all}</span>`;

export const chip = (text: Part, kind: "" | "live" | "off" | "bad" = ""): Html =>
  markup`<span class="chip ${kind}">${text}</span>`;

/** A version of a prompt, with a link to it. */
export const versionLink = (visit: Visit, promptId: string, version: number): Html =>
  markup`<a href="${link(visit, ["prompts", promptId], { version })}">v${version}</a>`;

/** A status by its name in the workspace. A failure says so. */
export function statusChip({ workspace }: Visit, status: number): Html {
  const named = workspace?.statuses.find((each) => each.status === status);
  if (named === undefined) return chip(String(status));
  return chip(markup`${isolated(named.name)}${named.isFailure && " ✕"}`, named.isFailure ? "bad" : "live");
}
