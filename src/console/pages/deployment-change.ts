// Asks before a deployment is changed: what will differ, which variables change, and the numbers of both versions.
import { unknownPath } from "../../common/errors.ts";
import type { DeploymentId } from "../../common/ids.ts";
import { compareStats } from "../../management/compare.ts";
import type { Comparison } from "../../management/compare.ts";
import { listDeploymentChanges, rollBackDeployment } from "../../management/deployment-changes.ts";
import { getDeployment, listDeployments } from "../../management/deployments.ts";
import type { Deployment } from "../../management/deployments.ts";
import { findRollbackTargets } from "../../management/history.ts";
import { diffVersions } from "../../management/renderings.ts";
import { getPromptVersion, listPromptVersions } from "../../management/versions.ts";
import { breakable, isolated, markup } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { askedVersion, link, listAll, sent, workspaceOf } from "../page.ts";
import type { Page, Visit } from "../page.ts";
import { diffView } from "../parts/diff.ts";
import { empty } from "../parts/empty.ts";
import { filters, form, guarded, hiddenField, noteField, select } from "../parts/form.ts";
import { heading, section } from "../parts/heading.ts";
import { comparisonView } from "../parts/stats.ts";
import { variablesNotice } from "../parts/variables.ts";
import { changes } from "./deployment-changes.ts";
import type { ChangeName } from "./deployment-changes.ts";

const mostVersions = 100;

export const deploymentChangePage: Page = {
  path: "/:workspaceId/deployments/:deployId/:change",
  section: "deployments",
  async show(visit) {
    const name = changeName(visit);
    const { title, submit, effect, isDangerous, operation } = changes[name];
    const { id: workspaceId } = workspaceOf(visit), id = visit.params.deployId as DeploymentId;
    const deployment = await visit.call(getDeployment, { id, workspaceId });
    const { reference, currentVersion, revision, isProtected } = deployment;
    const hasVersion = name === "promote" || name === "rollback";
    const asking = hasVersion ? askedVersion(visit, "version") : undefined;
    const version = asking ?? (name === "rollback" ? await previousOf(visit, deployment) : undefined);
    const isOther = version !== undefined && version !== currentVersion;
    return {
      title: `${title} ${reference}`,
      body: markup`${
        heading({
          title: markup`${title} ${breakable(reference)}`,
          trail: [
            { label: "Deployments", href: link(visit, ["deployments"]) },
            { label: isolated(reference), href: link(visit, ["deployments", id]) },
          ],
          lede: effect,
        })
      }${name === "promote" && await versionChoice(visit, deployment, version)}${
        (!hasVersion || isOther) && guarded(visit, operation, () =>
          markup`<div class="panel">${
            isOther && markup`<p><strong>v${currentVersion} → v${version}</strong> in ${isolated(deployment.name)}</p>`
          }${
            form({
              submit: isOther ? `${submit}: v${version}` : submit,
              kind: isDangerous ? "danger" : "primary",
              body: markup`${hiddenField("revision", revision)}${isOther && hiddenField("version", version)}${
                noteField(visit)
              }`,
            })
          }</div>`, isProtected)
      }${hasVersion && !isOther && version !== undefined && markup`<p>Version ${version} is live already.</p>`}${
        name === "rollback" && version === undefined &&
        empty("No earlier version", "The deployment has served no other version that it could return to.")
      }${isOther && await outcomeOf(visit, deployment, version)}`,
    };
  },
  async act(visit) {
    const name = changeName(visit);
    const { id: workspaceId } = workspaceOf(visit), id = visit.params.deployId as DeploymentId;
    const revision = Number(sent(visit, "revision")), note = sent(visit, "note");
    const input = { id, workspaceId, note, ...(revision > 0 ? { ifRevision: revision } : {}) };
    const version = Number(sent(visit, "version")) || undefined;
    const { changed } = name === "promote"
      ? await visit.call(changes.promote.operation, { ...input, version })
      : name === "rollback"
      ? await visit.call(rollBackDeployment, { ...input, version })
      : await visit.call(changes[name].operation, input);
    return { redirect: link(visit, ["deployments", id], { done: changed ? name : "unchanged" }) };
  },
};

/** The version that was live before. */
async function previousOf({ call }: Visit, { id, workspaceId }: Deployment): Promise<number | undefined> {
  const history = await listAll((page) => call(listDeploymentChanges, { id, workspaceId, ...page }));
  return findRollbackTargets(history.reverse()).previous;
}

function changeName({ params }: Visit): ChangeName {
  const name = params.change ?? "";
  if (!Object.hasOwn(changes, name)) throw unknownPath();
  return name as ChangeName;
}

/** A version to promote: each of the prompt. */
async function versionChoice(
  visit: Visit,
  { promptId, currentVersion }: Deployment,
  version: number | undefined,
): Promise<Part> {
  const { id: workspaceId } = workspaceOf(visit);
  const { items } = await visit.call(listPromptVersions, { id: promptId, workspaceId, limit: mostVersions });
  const choice = select({
    label: "Version",
    name: "version",
    value: version ?? "",
    options: items.map(({ version, note }) => [
      String(version),
      `v${version}${version === currentVersion ? " (live)" : ""}${note === "" ? "" : ` — ${note.slice(0, 60)}`}`,
    ]),
  });
  return filters(choice, undefined, "Show");
}

async function outcomeOf(visit: Visit, deployment: Deployment, version: number): Promise<Html> {
  const { call } = visit;
  const { promptId, currentVersion } = deployment;
  const { id: workspaceId } = workspaceOf(visit);
  const [live, next, { diff }, comparison] = await Promise.all([
    call(getPromptVersion, { id: promptId, workspaceId, version: currentVersion }),
    call(getPromptVersion, { id: promptId, workspaceId, version }),
    call(diffVersions, { id: promptId, workspaceId, from: currentVersion, to: version }),
    compareWithLive(visit, deployment, version),
  ]);
  const other = comparison.b.deployId === deployment.id ? undefined : comparison.b.reference;
  return markup`${
    section(
      "What will differ",
      markup`${variablesNotice(live.variables, next.variables)}${
        diffView(diff, `Version ${currentVersion} to ${version}`)
      }`,
    )
  }${
    section(
      other === undefined ? "What both did here" : "What both did",
      markup`${
        other !== undefined &&
        markup`<p class="hint">Version ${version} has no records here. Its numbers are those of ${
          breakable(other)
        }.</p>`
      }${comparisonView(comparison)}`,
    )
  }`;
}

const mostOthers = 4; // deployments that are searched for records of the version

/**
 * Compares the live version with another one of the same deployment. If that one has no records there, its records come from
 * another deployment of the prompt: first from those in which it is live.
 */
async function compareWithLive(
  visit: Visit,
  { id, promptId, currentVersion }: Deployment,
  version: number,
): Promise<Comparison> {
  const compare = (b: DeploymentId) =>
    visit.call(compareStats, { a: id, aVersion: currentVersion, b, bVersion: version });
  const here = await compare(id);
  if (here.b.records > 0) return here;
  const { id: workspaceId } = workspaceOf(visit);
  const all = await listAll((page) => visit.call(listDeployments, { workspaceId, promptId, ...page }));
  const others = all.filter((other) => other.id !== id)
    .sort((a, b) => Number(b.currentVersion === version) - Number(a.currentVersion === version));
  for (const other of others.slice(0, mostOthers)) {
    const found = await compare(other.id);
    if (found.b.records > 0) return found;
  }
  return here;
}
