// A prompt: the content of a version, its other versions, and where it is live.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { wrongField } from "../../common/errors.ts";
import type { PromptId } from "../../common/ids.ts";
import { promoteDeployment } from "../../management/deployments/deployment-changes.ts";
import { createDeployment, listDeployments } from "../../management/deployments/deployments.ts";
import type { Deployment } from "../../management/deployments/deployments.ts";
import { readStats } from "../../management/records/stats.ts";
import type { Stats } from "../../management/records/stats.ts";
import { archivePrompt, renamePrompt, unarchivePrompt } from "../../management/prompts/prompts.ts";
import type { Prompt } from "../../management/prompts/prompts.ts";
import { getPrompt, getPromptVersion, listPromptVersions, pushPrompt } from "../../management/prompts/versions.ts";
import type { VersionSummary } from "../../management/prompts/versions.ts";
import { ago } from "../frame/format.tsx";
import { breakable, Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { formValue, link, listAll, missingRole, queryVersion, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { Chip, deploymentChips } from "../frame/chips.tsx";
import { contentView } from "../frame/content.tsx";
import { mainOf, numberIn } from "../frame/inputs.tsx";
import { faultAt, Field, Form, Guarded, HiddenField, mostVersions, NoteField, VersionField } from "../frame/form.tsx";
import { Notice, Section } from "../frame/elements.tsx";
import { OriginLine } from "../frame/origin.tsx";
import { numbersLine } from "../records/stats-parts.tsx";

const numbersOf = 30 * 86_400_000; // ms: the numbers beside versions are those of the last 30 days

export const promptPage: Page = {
  path: "/:workspaceId/prompts/:promptId",
  async show(visit) {
    const { call } = visit;
    const { id: workspaceId } = workspaceOf(visit);
    const id = visit.params.promptId as PromptId;
    const [{ prompt }, versions, open] = await Promise.all([
      call(getPrompt, { id, workspaceId }),
      call(listPromptVersions, { id, workspaceId, limit: mostVersions }),
      listAll((page) => call(listDeployments, { workspaceId, promptId: id, ...page })),
    ]);
    const version = queryVersion(visit, "version") ?? prompt.latestVersion;
    const measured = mainOf(open);
    const [shown, numbers] = await Promise.all([
      call(getPromptVersion, { id, workspaceId, version }),
      measured && call(readStats, { deployId: measured.id, from: visit.now - numbersOf }),
    ]);
    const isArchived = prompt.archivedAt !== null;
    return {
      title: `${prompt.name} v${version}`,
      done: textsOf(prompt),
      heading: breakable(prompt.name),
      lede: [isolated(shown.title), shown.description !== "" && [" — ", isolated(shown.description)]],
      actions: !isArchived && missingRole(visit, pushPrompt) === undefined && (
        <a class="button primary" href={link(visit, ["prompts", id, "edit"], { base: version })}>
          Edit{version !== prompt.latestVersion && ` from v${version}`}
        </a>
      ),
      body: (
        <>
          {isArchived && (
            <Notice kind="warning">This prompt is archived. Requests to its deployments are refused.</Notice>
          )}
          <div class="split">
            <div>
              <div class="line">
                <h2>Version {version}</h2>
                <div class="actions">{promoteLinks(visit, open, version)}</div>
              </div>
              <p class="hint">{ago(shown.createdAt, visit.now)}{shown.note !== "" && [" · ", isolated(shown.note)]}</p>
              {contentView(shown)}
            </div>
            <div>
              <h2>Versions</h2>
              <p></p>
              {versionsList(visit, prompt, versions.items, version, open, numbers)}
              <Section title="Deployments">{deploymentsOf(visit, prompt, open, version)}</Section>
              <Section title="This prompt">{changesOf(visit, prompt)}</Section>
            </div>
          </div>
        </>
      ),
    };
  },
  async act(visit) {
    const id = visit.params.promptId as PromptId, { id: workspaceId } = workspaceOf(visit);
    const note = formValue(visit, "note");
    const action = visit.form.get("do");
    if (action === "deploy") {
      const version = numberIn(visit, "version"), name = formValue(visit, "name") ?? "";
      const deployment = await visit.call(createDeployment, { workspaceId, promptId: id, name, version, note });
      return { redirect: link(visit, ["deployments", deployment.id], { done: "created" }) };
    }
    if (action === "rename") await visit.call(renamePrompt, { id, workspaceId, name: formValue(visit, "name") ?? "" });
    else if (action === "archive") await visit.call(archivePrompt, { id, workspaceId, note });
    else if (action === "unarchive") await visit.call(unarchivePrompt, { id, workspaceId, note });
    else throw wrongField("do", "one of deploy, rename, archive, unarchive");
    return { redirect: link(visit, ["prompts", id], { done: action }) };
  },
};

const textsOf = ({ latestVersion }: Prompt) => ({
  published: `Version ${latestVersion} is published. It is not live yet: promote it where it should be served.`,
  same: `Nothing differs from version ${latestVersion}, so no version was made.`,
  rename: "The prompt is renamed. Its references have changed.",
  archive: "The prompt is archived.",
  unarchive: "The prompt is no longer archived.",
});

const promoteLinks = (visit: ConsoleRequest, deployments: readonly Deployment[], version: number): Part =>
  deployments.filter((deployment) =>
    deployment.currentVersion !== version && missingRole(visit, promoteDeployment, deployment.isProtected) === undefined
  ).slice(0, 4).map(({ id, name }) => (
    <a class="button small" href={link(visit, ["deployments", id, "promote"], { version })}>
      <span>Promote to {isolated(name)}</span>
    </a>
  ));

const statisticsLink = (visit: ConsoleRequest, { id }: Deployment): Html => (
  <a href={link(visit, ["deployments", id, "stats"])}>All statistics</a>
);

function versionsList(
  visit: ConsoleRequest,
  { id, latestVersion }: Prompt,
  versions: readonly VersionSummary[],
  shown: number,
  deployments: readonly Deployment[],
  numbers: Stats | undefined,
): Html {
  const measured = deployments.find(({ id }) => id === numbers?.deployId);
  const comparison = (one: number, other: number) => {
    const [from, to] = [one, other].sort((a, b) => a - b);
    return <a href={link(visit, ["prompts", id, "compare"], { from, to })}>compare with v{other}</a>;
  };
  return (
    <>
      {measured && (
        <p class="hint">
          Numbers of {isolated(measured.name)} in the last 30 days. {statisticsLink(visit, measured)}
        </p>
      )}
      <ol class="versions" reversed>
        {versions.map(({ version, note, actor, source, origin, createdAt }) => {
          const live = deployments.filter(({ currentVersion, rollout }) =>
            currentVersion === version || rollout?.version === version
          );
          const compared = version === shown ? version - 1 : shown;
          return (
            <li aria-current={version === shown && "true"}>
              <div class="line">
                <a href={link(visit, ["prompts", id], { version })}>
                  <strong>v{version}</strong>
                  {version === latestVersion && " newest"}
                </a>
                {deploymentChips(visit, live)}
              </div>
              {note !== "" && <p>{isolated(note)}</p>}
              {numbersLine(numbers?.versions.find((each) => each.version === version))}
              <p class="hint">
                {ago(createdAt, visit.now)}
                {source !== null && [" · ", actor === "" ? source : isolated(actor)]}
                {compared > 0 && [" · ", comparison(version, compared)]}
              </p>
              <OriginLine origin={origin} />
            </li>
          );
        })}
      </ol>
      {latestVersion > mostVersions && <p class="hint">The newest {mostVersions} are shown.</p>}
    </>
  );
}

/** True if one of the forms of the page was refused. It is shown open, with its values. */
const wasRefused = ({ form, refusal }: ConsoleRequest, action: string): boolean =>
  refusal !== undefined && form.get("do") === action;

const entered = (visit: ConsoleRequest, action: string, name: string): string | null =>
  wasRefused(visit, action) ? visit.form.get(name) : null;

const deploymentsOf = (visit: ConsoleRequest, prompt: Prompt, open: readonly Deployment[], version: number): Html => (
  <>
    {open.length === 0
      ? (
        <p class="hint">
          Applications read a deployment. Create one, such as <code>production</code>.
        </p>
      )
      : <p>{deploymentChips(visit, open)}</p>}
    {prompt.archivedAt === null && (
      <details open={open.length === 0 || wasRefused(visit, "deploy")}>
        <summary>New deployment</summary>
        <Guarded visit={visit} operation={createDeployment}>
          <Form submit="Create deployment">
            <HiddenField name="do" value="deploy" />
            <Field
              label="Name of the deployment"
              name="name"
              value={entered(visit, "deploy", "name") ?? (open.length === 0 ? "production" : "")}
              isRequired
              {...wasRefused(visit, "deploy") && faultAt(visit, "name")}
            />
            <VersionField
              value={entered(visit, "deploy", "version") ?? version}
              newest={newestVersions(prompt)}
            />
          </Form>
        </Guarded>
      </details>
    )}
  </>
);

const newestVersions = ({ latestVersion }: Prompt) =>
  Array.from({ length: Math.min(latestVersion, mostVersions) }, (_, index) => {
    const version = latestVersion - index;
    return { version, label: `v${version}` };
  });

const changesOf = (visit: ConsoleRequest, { id, name, archivedAt, createdAt }: Prompt): Html => (
  <>
    <p class="hint">
      Created {ago(createdAt, visit.now)}. Its id is <code>{id}</code>.
    </p>
    <details open={wasRefused(visit, "rename")}>
      <summary>Rename</summary>
      <Guarded visit={visit} operation={renamePrompt}>
        <Form submit="Rename">
          <HiddenField name="do" value="rename" />
          <Field
            label="New name"
            name="name"
            id="new-name"
            value={entered(visit, "rename", "name") ?? name}
            isRequired
            hint={
              <>
                References such as <Chip>{name}@production</Chip> change. Applications that use them must change too.
              </>
            }
            {...wasRefused(visit, "rename") && faultAt(visit, "name")}
          />
        </Form>
      </Guarded>
    </details>
    {archivedAt === null
      ? (
        <details open={wasRefused(visit, "archive")}>
          <summary>Archive</summary>
          <Guarded visit={visit} operation={archivePrompt}>
            <Form submit="Archive prompt" kind="danger">
              <HiddenField name="do" value="archive" />
              <p>Lists hide it with its deployments, and requests to them are refused. Nothing is deleted.</p>
              <NoteField visit={visit} />
            </Form>
          </Guarded>
        </details>
      )
      : (
        <details open={wasRefused(visit, "unarchive")}>
          <summary>Unarchive</summary>
          <Guarded visit={visit} operation={unarchivePrompt}>
            <Form submit="Unarchive prompt">
              <HiddenField name="do" value="unarchive" />
              <NoteField visit={visit} />
            </Form>
          </Guarded>
        </details>
      )}
  </>
);
