// A deployment: its live version, its actions, and its history.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { DeploymentId } from "../../common/ids.ts";
import {
  findReturns,
  listDeploymentChanges,
  renameDeployment,
} from "../../management/deployments/deployment-changes.ts";
import { listChangeRequests } from "../../management/deployments/change-request-operations.ts";
import { operator } from "../../management/deployments/change-requests.ts";
import { getDeployment } from "../../management/deployments/deployments.ts";
import type { Deployment } from "../../management/deployments/deployments.ts";
import type { DeploymentChange } from "../../management/deployments/history.ts";
import { listRollouts, setRollout } from "../../management/deployments/rollout-operations.ts";
import { listPromptVersions } from "../../management/prompts/versions.ts";
import { ago } from "../frame/format.tsx";
import { breakable, Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { formValue, link, missingRole, missingRoles, queryValue, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { afterChange, isRequested, openNotice, requestNotice, submitText } from "./change-parts.tsx";
import { Chip, stateOf, versionLink } from "../frame/chips.tsx";
import { Field, Form, NoteField } from "../frame/form.tsx";
import { Fact, Facts, Pager, Section, Table } from "../frame/elements.tsx";
import { reasonOf } from "../frame/origin.tsx";
import { guardText, rolloutChip, rolloutsTable, shareText } from "../frame/rollout.tsx";
import { findUsable, UseIt } from "./use-it.tsx";
import { changes } from "./deployment-change.tsx";
import type { ChangeName } from "./deployment-change.tsx";

const pageSize = 50;
const mostRollouts = 10;

export const deploymentPage: Page = {
  path: "/:workspaceId/deployments/:deployId",
  async show(visit) {
    const { call } = visit;
    const { id: workspaceId } = workspaceOf(visit), id = visit.params.deployId as DeploymentId;
    const cursor = queryValue(visit, "cursor");
    const deployment = await call(getDeployment, { id, workspaceId });
    const [versions, shown, { previous, lastLive }, usable, rollouts, open] = await Promise.all([
      call(listPromptVersions, { id: deployment.promptId, workspaceId, limit: pageSize }),
      call(listDeploymentChanges, { id, workspaceId, limit: pageSize, cursor }),
      call(findReturns, { id, workspaceId }),
      findUsable(visit, deployment),
      call(listRollouts, { id, workspaceId, limit: mostRollouts }),
      call(listChangeRequests, { deployId: id, state: "open", limit: 1 }),
    ]);
    const { name, reference, promptId, currentVersion, isProtected, createdAt } = deployment;
    const isRequest = isRequested(visit, deployment, renameDeployment);
    const state = stateOf(deployment)?.trim() ?? "live", isLive = state === "live";
    return {
      title: reference,
      done: textsOf(deployment),
      heading: breakable(reference),
      actions: (
        <>
          <a class="button" href={link(visit, ["deployments", id, "stats"])}>Statistics</a>
          <a class="button" href={link(visit, ["records"], { deployment: id })}>Records</a>
        </>
      ),
      body: (
        <>
          <Facts>
            <Fact label="Serves">
              {versionLink(visit, promptId, currentVersion)} <Chip kind={isLive ? "live" : "off"}>{state}</Chip>{" "}
              {rolloutChip(visit, deployment)}
            </Fact>
            <Fact label="Protected">{protectionOf(deployment)}</Fact>
            <Fact label="Created">{ago(createdAt, visit.now)}</Fact>
            <Fact label="Id" code={id} />
          </Facts>
          {openNotice(visit, open.items[0])}
          <Section title="Change">
            {actionsOf(visit, deployment, versions.items.map(({ version }) => version), previous ?? undefined)}
          </Section>
          <Section title="Use it" aside={<a href={link(visit, ["keys"])}>Keys</a>}>
            <UseIt visit={visit} usable={usable} isOpen={queryValue(visit, "done") === "created"} />
          </Section>
          {rollouts.items.length > 0 && (
            <Section title="Rollouts">
              {rolloutsTable(visit, rollouts.items)}
              {rollouts.nextCursor !== null && <p class="hint">The newest {mostRollouts} are shown.</p>}
            </Section>
          )}
          <Section title="History">
            {historyOf(visit, deployment, shown.items, lastLive)}
            <Pager next={shown.nextCursor} href={(next) => `?cursor=${next}`} />
          </Section>
          {missingRole(visit, renameDeployment, isProtected) === undefined && (
            <details open={visit.refusal !== undefined}>
              <summary>Rename {isolated(name)}</summary>
              {requestNotice(isRequest)}
              <Form submit={submitText("Rename", isRequest)}>
                <Field label="New name" name="name" value={visit.form.get("name") ?? name} isRequired />
                <NoteField visit={visit} />
                <p class="hint">Applications that use the reference must change too.</p>
              </Form>
            </details>
          )}
        </>
      ),
    };
  },
  async act(visit) {
    const { id: workspaceId } = workspaceOf(visit), id = visit.params.deployId as DeploymentId;
    const result = await visit.call(renameDeployment, {
      id,
      workspaceId,
      name: formValue(visit, "name") ?? "",
      note: formValue(visit, "note"),
    });
    return afterChange(visit, result, link(visit, ["deployments", id], { done: "renamed" }));
  },
};

const protectionOf = ({ isProtected, approvals }: Deployment): string =>
  approvals > 0
    ? "yes, changes need the role publisher and the approval of another person"
    : isProtected
    ? "yes, changes need the role publisher"
    : "no";

const textsOf = ({ reference, currentVersion, approvals }: Deployment) => ({
  created: (
    <>
      The deployment is created. Applications read it as <code>{reference}</code>.
    </>
  ),
  renamed: (
    <>
      It is renamed. Applications read it as <code>{reference}</code> from now on.
    </>
  ),
  promote: `Version ${currentVersion} is live from now on.`,
  rollback: `Version ${currentVersion} is live again.`,
  deactivate: "It is off. Requests are refused from the next one on.",
  activate: `It is on. Version ${currentVersion} is live.`,
  archive: "It is archived. Requests are refused from the next one on.",
  unarchive: "It is no longer archived.",
  stopped: `The rollout is stopped. All callers get version ${currentVersion}.`,
  protect: `It is protected. Changes need the role publisher${
    approvals > 0 ? " and the approval of another person" : ""
  }.`,
  unprotect: "It is no longer protected.",
  unchanged: "Nothing had to be changed.",
});

function actionsOf(
  visit: ConsoleRequest,
  deployment: Deployment,
  versions: readonly number[],
  previous: number | undefined,
): Html {
  const { id, isActive, isProtected, archivedAt, currentVersion, rollout } = deployment;
  const href = (change: ChangeName, version?: number) => link(visit, ["deployments", id, change], { version });
  const all: (readonly [label: string, operation: typeof changes[ChangeName]["operation"] | typeof setRollout])[] = [];
  const linked = (operation: typeof all[number][1], label: string, href: string) => {
    all.push([label, operation]);
    if (missingRole(visit, operation, isProtected) === undefined) return <a class="button" href={href}>{label}</a>;
    return <span class="button" aria-disabled="true">{label}</span>;
  };
  const offered = (change: ChangeName, label: string, version?: number) =>
    linked(changes[change].operation, label, href(change, version));
  const rolloutHref = (version?: number) => link(visit, ["deployments", id, "rollout"], { version });
  const [newest = currentVersion] = versions;
  const buttons = archivedAt !== null ? [offered("unarchive", "Unarchive")] : [
    newest > currentVersion
      ? offered("promote", `Promote v${newest}`, newest)
      : newest > 1 && offered("promote", "Promote another version"),
    rollout !== null
      ? <a class="button" href={rolloutHref()}>Rollout of v{rollout.version}</a>
      : isActive && newest > 1 &&
        linked(setRollout, "Roll out to some", rolloutHref(newest > currentVersion ? newest : undefined)),
    previous !== undefined && offered("rollback", `Roll back to v${previous}`, previous),
    isActive ? offered("deactivate", "Deactivate") : offered("activate", "Activate"),
    isProtected ? offered("unprotect", "Unprotect") : offered("protect", "Protect"),
    isProtected && offered("protect", "Approvals"),
    offered("archive", "Archive"),
  ];
  const lack = missingRoles(visit, all, isProtected);
  return (
    <>
      <p class="actions">{buttons}</p>
      {lack !== undefined && <p class="lack">{lack}</p>}
    </>
  );
}

/** Each version that was live can be made live again, where it was last. */
function historyOf(
  visit: ConsoleRequest,
  { id, promptId, currentVersion, isProtected }: Deployment,
  shown: readonly DeploymentChange[],
  lastLive: readonly { revision: number; version: number }[],
): Html {
  const mayReturn = missingRole(visit, changes.rollback.operation, isProtected) === undefined;
  const returnTo = ({ revision }: DeploymentChange): Part => {
    const { version } = lastLive.find((each) => each.revision === revision) ?? {};
    if (version === undefined || version === currentVersion) return "";
    const href = link(visit, ["deployments", id, "rollback"], { version });
    return <a class="button small" href={href}>Return to v{version}</a>;
  };
  return (
    <Table
      caption="History"
      rows={shown}
      columns={[
        { label: "When", cell: ({ createdAt }) => ago(createdAt, visit.now) },
        { label: "What", isHead: true, cell: (change) => whatChanged(visit, promptId, change) },
        { label: "Who", cell: whoChanged },
        { label: "Why", isMain: true, cell: (change) => reasonOf(change) },
        mayReturn && { label: "Return", isAction: true, cell: returnTo },
      ]}
    />
  );
}

const whoChanged = ({ actor, source, requestedBy, withoutApproval }: DeploymentChange): Part => [
  actor === "" ? source : isolated(actor),
  requestedBy !== undefined && [", requested by ", isolated(requestedBy || operator)],
  withoutApproval && ", without approval",
];

function whatChanged(visit: ConsoleRequest, promptId: string, { action, from, to, rollout }: DeploymentChange): Part {
  const word = action === "approvals_changed" ? `approvals ${to ? "on" : "off"}` : action.replace("_", " ");
  if (action.startsWith("rollout")) return rollout ? `${word} ${shareText(rollout)}${guardText(rollout)}` : word;
  if (typeof to === "number") {
    return [word, " ", typeof from === "number" && `v${from} → `, versionLink(visit, promptId, to)];
  }
  return typeof to === "string" ? `${word} ${String(from)} → ${to}` : word;
}
