// Asks before a deployment is changed: the difference, the changed variables, and the numbers of both versions.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { unknownPath } from "../../common/errors.ts";
import type { DeploymentId } from "../../common/ids.ts";
import { after } from "../../common/timeout.ts";
import { findFirst } from "../../database/page.ts";
import type { SearchResult } from "../../database/page.ts";
import { compareStats } from "../../management/records/compare.ts";
import type { Comparison } from "../../management/records/compare.ts";
import * as operations from "../../management/deployments/deployment-changes.ts";
import { getDeployment, listDeployments } from "../../management/deployments/deployments.ts";
import type { Deployment } from "../../management/deployments/deployments.ts";
import { listDiagnoses } from "../../management/records/records.ts";
import { listPromptVersions } from "../../management/prompts/versions.ts";
import type { PromptVersion } from "../../management/prompts/versions.ts";
import type { Diagnosis } from "../../schema/ledger.ts";
import { dayText } from "../frame/format.tsx";
import { breakable, Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { formValue, link, listAll, queryVersion, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { afterChange, isRequested, requestNotice, submitText } from "./change-parts.tsx";
import { Empty, Section } from "../frame/elements.tsx";
import {
  Checkbox,
  Filters,
  Form,
  Guarded,
  HiddenField,
  mostVersions,
  NoteField,
  VersionField,
} from "../frame/form.tsx";
import { endingOf } from "../frame/rollout.tsx";
import { comparisonView } from "../records/stats-parts.tsx";
import { comparedFeedback } from "../records/compared-feedback.tsx";
import { momentText, numberIn } from "../frame/inputs.tsx";
import { readDifference } from "../frame/diff.tsx";

/** A change of a deployment: the operation, its title, its effect on applications, and the text of its button. */
const change = <T,>(operation: T, title: string, effect: string, isDangerous = false, submit = title) => ({
  ...{ operation, title, effect, isDangerous, submit },
});

export const changes = {
  promote: change(
    operations.promoteDeployment,
    "Promote",
    "Applications get the new version with their next read.",
  ),
  rollback: change(
    operations.rollBackDeployment,
    "Roll back",
    "Applications get the earlier version with their next read.",
    false,
    "Roll back to",
  ),
  deactivate: change(
    operations.deactivateDeployment,
    "Deactivate",
    "Every request to it is refused from the next one on.",
    true,
  ),
  activate: change(operations.activateDeployment, "Activate", "It accepts requests again."),
  archive: change(
    operations.archiveDeployment,
    "Archive",
    "Lists hide it, and every request to it is refused. Its name stays taken, and nothing is deleted.",
    true,
  ),
  unarchive: change(operations.unarchiveDeployment, "Unarchive", "It accepts requests again if it is active."),
  protect: change(operations.protectDeployment, "Protect", "From then on, changing it needs the role publisher."),
  unprotect: change(
    operations.unprotectDeployment,
    "Unprotect",
    "From then on, an editor may promote to it.",
    true,
    "Remove the protection",
  ),
} as const;

export type ChangeName = keyof typeof changes;

export const deploymentChangePage: Page = {
  path: "/:workspaceId/deployments/:deployId/:change",
  async show(visit) {
    const name = changeName(visit);
    const { title, submit, effect, isDangerous, operation } = changes[name];
    const { id: workspaceId } = workspaceOf(visit), id = visit.params.deployId as DeploymentId;
    const deployment = await visit.call(getDeployment, { id, workspaceId });
    const { reference, currentVersion, revision, isProtected } = deployment;
    const hasVersion = name === "promote" || name === "rollback";
    const asking = hasVersion ? queryVersion(visit, "version") : undefined;
    const version = asking ?? (name === "rollback" ? await previousOf(visit, deployment) : undefined);
    const isOther = version !== undefined && version !== currentVersion;
    const isRequest = isRequested(visit, deployment, operation);
    const [choice, outcome] = await Promise.all([
      name === "promote" && versionChoice(visit, deployment, version),
      isOther && outcomeOf(visit, deployment, version),
    ]);
    return {
      title: `${title} ${reference}`,
      heading: <>{title} {breakable(reference)}</>,
      lede: effect,
      parent: { label: isolated(reference), href: link(visit, ["deployments", id]) },
      body: (
        <>
          {choice}
          {(!hasVersion || isOther) && (
            <Guarded visit={visit} operation={operation} isProtected={isProtected}>
              <div class="panel">
                {requestNotice(isRequest)}
                {(isOther || name === "deactivate" || name === "archive") && endingOf(deployment, version)}
                {isOther && (
                  <p>
                    <strong>v{currentVersion} → v{version}</strong> in {isolated(deployment.name)}
                  </p>
                )}
                <Form
                  submit={submitText(isOther ? `${submit} v${version}` : submit, isRequest)}
                  kind={isDangerous ? "danger" : "primary"}
                >
                  <HiddenField name="revision" value={revision} />
                  {isOther && <HiddenField name="version" value={version} />}
                  {name === "protect" && (
                    <Checkbox
                      label="Changes need the approval of another person"
                      name="approvals"
                      isChecked={deployment.approvals > 0}
                    />
                  )}
                  <NoteField visit={visit} />
                </Form>
              </div>
            </Guarded>
          )}
          {hasVersion && !isOther && version !== undefined && <p>Version {version} is live already.</p>}
          {name === "rollback" && version === undefined && (
            <Empty title="No earlier version">
              The deployment has served no other version that it could return to.
            </Empty>
          )}
          {outcome}
        </>
      ),
    };
  },
  async act(visit) {
    const name = changeName(visit);
    const { id: workspaceId } = workspaceOf(visit), id = visit.params.deployId as DeploymentId;
    const ifRevision = numberIn(visit, "revision"), version = numberIn(visit, "version");
    const input = { id, workspaceId, note: formValue(visit, "note"), ...ifRevision !== undefined && { ifRevision } };
    const result = name === "promote"
      ? await visit.call(changes.promote.operation, { ...input, version })
      : name === "protect"
      ? await visit.call(changes.protect.operation, {
        ...input,
        approvals: formValue(visit, "approvals") === "yes" ? 1 : 0,
      })
      : name === "rollback"
      ? await visit.call(operations.rollBackDeployment, { ...input, version })
      : await visit.call(changes[name].operation, input);
    return afterChange(visit, result, link(visit, ["deployments", id], { done: result.changed ? name : "unchanged" }));
  },
};

/** The version that was live before. */
async function previousOf({ call }: ConsoleRequest, { id, workspaceId }: Deployment): Promise<number | undefined> {
  return (await call(operations.findReturns, { id, workspaceId })).previous ?? undefined;
}

function changeName({ params }: ConsoleRequest): ChangeName {
  const name = params.change ?? "";
  if (!Object.hasOwn(changes, name)) throw unknownPath();
  return name as ChangeName;
}

/** A field for the version to promote or to roll out, which may be any one of the prompt. */
export async function versionChoice(
  visit: ConsoleRequest,
  { promptId, currentVersion }: Deployment,
  version: number | undefined,
): Promise<Part> {
  const { items } = await visit.call(listPromptVersions, { id: promptId, limit: mostVersions });
  const options = items.map(({ version, note }) => ({
    version,
    label: `v${version}${version === currentVersion ? " (live)" : ""}${note === "" ? "" : ` — ${note.slice(0, 60)}`}`,
  }));
  return (
    <Filters submit="Show">
      <VersionField value={version} newest={options} />
    </Filters>
  );
}

/** Difference between the live version and another one, and a comparison of their records. */
export async function outcomeOf(visit: ConsoleRequest, deployment: Deployment, version: number): Promise<Html> {
  const { promptId, currentVersion } = deployment;
  const { after: next, difference } = await readDifference(visit, promptId, currentVersion, version);
  const { comparison, since, isComplete } = await compareWithLive(visit, deployment, next);
  const { b } = comparison, other = b.deployId === deployment.id ? undefined : b.reference;
  const all = {
    ...{ from: currentVersion, to: version, deployment: deployment.id },
    other: other === undefined ? undefined : b.deployId,
  };
  return (
    <>
      <Section title="What will differ">{difference}</Section>
      <Section title={other === undefined ? "What both did here" : "What both did"}>
        {other !== undefined && (
          <p class="hint">Version {version} has no records here. Its numbers are those of {breakable(other)}.</p>
        )}
        {!isComplete && (
          <p class="hint">The search for records of version {version} ran out of time. It may have older ones.</p>
        )}
        <p class="hint">
          Records since {dayText(since)}. <a href={link(visit, ["prompts", promptId, "compare"], all)}>Compare all</a>
        </p>
        {comparisonView(comparison)}
      </Section>
      {await comparedFeedback(visit, comparison, { from: momentText(since) })}
    </>
  );
}

const span = 30 * 86_400_000; // ms before the newest record of the version, which are compared with what came since

/**
 * Compares the live version with another one, by its records in this deployment, or else in another one. `since` is
 * when the records that are compared begin, in Unix ms.
 */
async function compareWithLive(
  visit: ConsoleRequest,
  deployment: Deployment,
  next: PromptVersion,
): Promise<{ comparison: Comparison; since: number; isComplete: boolean }> {
  const { id, currentVersion } = deployment;
  const search = await findNewest(visit, deployment, next), isComplete = search.outcome !== "out_of_time";
  const newest = search.outcome === "found" ? search.item : undefined, b = newest?.deployId ?? id;
  const since = Math.max((newest?.createdAt ?? visit.now) - span, 0);
  const versions = { a: id, aVersion: currentVersion, b, bVersion: next.version };
  return { comparison: await visit.call(compareStats, { ...versions, from: since }), since, isComplete };
}

const mostOthers = 4; // deployments that are searched for records of the version
const searchTime = 2_000; // ms that the searches take together
const clockDifference = 86_400_000; // ms that the clocks of processes may differ by. No record is older than its version

/**
 * Finds the newest record of a version: in this deployment, or in another one of the prompt, first of those in which it
 * is live. The search of one ends at the first record, while a comparison reads all of a time.
 */
async function findNewest(
  visit: ConsoleRequest,
  { id, promptId }: Deployment,
  { version: promptVersion, createdAt }: PromptVersion,
): Promise<SearchResult<Diagnosis>> {
  const from = Math.max(createdAt - clockDifference, 0), isOver = after(searchTime);
  const newestIn = (deployId: DeploymentId) =>
    findFirst((cursor) => visit.call(listDiagnoses, { deployId, promptVersion, from, limit: 1, cursor }), isOver);
  const own = await newestIn(id);
  if (own.outcome !== "none") return own;
  const { id: workspaceId } = workspaceOf(visit);
  const all = await listAll((page) => visit.call(listDeployments, { workspaceId, promptId, ...page }));
  const others = all.filter((other) => other.id !== id)
    .sort((a, b) => Number(b.currentVersion === promptVersion) - Number(a.currentVersion === promptVersion));
  for (const other of others.slice(0, mostOthers)) {
    const newest = await newestIn(other.id);
    if (newest.outcome !== "none") return newest;
  }
  return own;
}
