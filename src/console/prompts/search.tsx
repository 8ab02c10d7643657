// Finds items of a workspace by name or id: prompts, deployments, sessions, records, and pages. The script shows the
// results of this page in a dialog.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { Refusal } from "../../common/errors.ts";
import { isId } from "../../common/ids.ts";
import type { DeploymentId, PromptId, RecordId } from "../../common/ids.ts";
import { getDeployment, listDeployments } from "../../management/deployments/deployments.ts";
import type { Deployment } from "../../management/deployments/deployments.ts";
import { listPrompts } from "../../management/prompts/prompts.ts";
import type { Prompt } from "../../management/prompts/prompts.ts";
import { getDiagnosis } from "../../management/records/records.ts";
import { showSession } from "../../management/records/sessions.ts";
import { createPrompt, getPrompt } from "../../management/prompts/versions.ts";
import { ago, excerpt } from "../frame/format.tsx";
import { breakable, Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { link, listMost, missingRole, navigation, queryValue, sectionAddress, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { stateOf } from "../frame/chips.tsx";
import { shareText } from "../frame/rollout.tsx";
import { Empty } from "../frame/elements.tsx";
import { Field, Filters } from "../frame/form.tsx";
import { findDeployment, findWith } from "../frame/inputs.tsx";
import { filterNotice } from "../records/record-filter.tsx";

const mostHits = 8; // of a kind
const mostPrompts = 50; // among which those with the text in their names come first

/** A search result. `note` distinguishes it from others with this name. */
type Hit = { kind: "Page" | "Prompt" | "Deployment" | "Session" | "Record"; href: string; name: Part; note?: Part };

export const searchPage: Page = {
  path: "/:workspaceId/search",
  async show(visit) {
    const text = queryValue(visit, "q");
    const { found = [], refusal } = await findWith(() => search(visit, text));
    return {
      title: "Search",
      ...refusal && { kind: refusal.kind },
      heading: "Search",
      body: (
        <>
          <Filters submit="Search">
            <Field label="Name or id" name="q" type="search" value={text} />
          </Filters>
          <div id="results">
            {refusal !== undefined
              ? filterNotice(refusal)
              : found.length > 0
              ? <ul class="hits">{found.map(hitView)}</ul>
              : (
                <Empty title="Nothing found">
                  Search for a part of the name or text of a prompt, a part of the name of a deployment, or the whole id
                  of a session or a record.
                </Empty>
              )}
          </div>
        </>
      ),
    };
  },
};

const hitView = ({ kind, href, name, note }: Hit): Html => (
  <li>
    <a href={href}>
      <span class="kind">{kind}</span>
      <span>{name}</span>
      {note && <span class="hint">{note}</span>}
    </a>
  </li>
);

async function search(visit: ConsoleRequest, text: string | undefined): Promise<Hit[]> {
  if (text === undefined) return pagesWith(visit, "");
  const found = await Promise.all([
    atId(visit, text),
    pagesWith(visit, text),
    promptsWith(visit, text),
    deploymentsWith(visit, text),
    sessionAt(visit, text),
  ]);
  return found.flat();
}

/** True if a name has all words of a text. */
function hasWords(name: string, text: string): boolean {
  const folded = name.toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => folded.includes(word));
}

function pagesWith(visit: ConsoleRequest, text: string): Hit[] {
  const all = [
    ...navigation.flat().map(({ path, title }) => [title, sectionAddress(visit, path)] as const),
    ...missingRole(visit, createPrompt) === undefined ? [["New prompt", link(visit, ["prompts", "new"])] as const] : [],
    ["Workspaces", `${visit.root}workspaces`] as const,
  ];
  return all.filter(([name]) => hasWords(name, text)).map(([name, href]) => ({ kind: "Page", href, name }));
}

async function promptsWith(visit: ConsoleRequest, text: string): Promise<Hit[]> {
  const { id: workspaceId } = workspaceOf(visit);
  const { items } = await visit.call(listPrompts, { workspaceId, text, limit: mostPrompts });
  const isNamed = ({ name }: Prompt) => hasWords(name, text);
  return [...items.filter(isNamed), ...items.filter((prompt) => !isNamed(prompt))].slice(0, mostHits).map((prompt) =>
    promptHit(visit, prompt)
  );
}

/** Deployments whose reference contains the words. If there are very many, old ones need the whole reference. */
async function deploymentsWith(visit: ConsoleRequest, text: string): Promise<Hit[]> {
  const { id: workspaceId } = workspaceOf(visit);
  const { items, nextCursor } = await listMost((page) => visit.call(listDeployments, { workspaceId, ...page }));
  const named = items.filter(({ reference }) => hasWords(reference, text));
  const isWhole = nextCursor !== null && text.includes("@") && !named.some(({ reference }) => reference === text);
  const exact = isWhole ? await findDeployment(visit, text) : undefined;
  return [...exact === undefined ? [] : [exact], ...named].slice(0, mostHits).map((deployment) =>
    deploymentHit(visit, deployment)
  );
}

const promptHit = (visit: ConsoleRequest, { id, name, title }: Pick<Prompt, "id" | "name" | "title">): Hit => (
  { kind: "Prompt", href: link(visit, ["prompts", id]), name: breakable(name), note: excerpt(title, 60) }
);

const deploymentHit = (visit: ConsoleRequest, deployment: Deployment): Hit => ({
  kind: "Deployment",
  href: link(visit, ["deployments", deployment.id]),
  name: breakable(deployment.reference),
  note: [
    `v${deployment.currentVersion}`,
    stateOf(deployment),
    deployment.rollout && `, ${shareText(deployment.rollout)}`,
  ],
});

/** Item of the workspace with this id. */
async function atId(visit: ConsoleRequest, id: string): Promise<Hit[]> {
  const { id: workspaceId } = workspaceOf(visit), { call } = visit;
  try {
    if (isId("prompt", id)) return [promptHit(visit, await call(getPrompt, { id: id as PromptId, workspaceId }))];
    if (isId("dep", id)) {
      return [deploymentHit(visit, await call(getDeployment, { id: id as DeploymentId, workspaceId }))];
    }
    if (!isId("diag", id)) return [];
    const { deployId, createdAt } = await call(getDiagnosis, { id: id as RecordId });
    // It may be of another workspace.
    const { reference } = await call(getDeployment, { id: deployId, workspaceId });
    const note = [ago(createdAt, visit.now), " · ", isolated(reference)];
    return [{ kind: "Record", href: link(visit, ["records", id]), name: <code>…{id.slice(-10)}</code>, note }];
  } catch (error) {
    if (error instanceof Refusal && ["not_found", "gone"].includes(error.kind)) return [];
    throw error;
  }
}

/** The session with this id. In a long log it is not looked for to the end. */
async function sessionAt(visit: ConsoleRequest, sessionId: string): Promise<Hit[]> {
  const { id: workspaceId } = workspaceOf(visit);
  const found = await visit.call(showSession, { workspaceId, sessionId, limit: 1 }).catch(unlessBusy);
  if (found?.items.length === 0 && found.nextCursor === null) return [];
  const note = found === undefined || found.items.length === 0 ? "if there is one with this id" : undefined;
  return [{ kind: "Session", href: link(visit, ["session"], { id: sessionId }), name: excerpt(sessionId, 60), note }];
}

/** Undefined if many long requests run already. */
function unlessBusy(error: unknown): undefined {
  if (!(error instanceof Refusal) || error.kind !== "overloaded") throw error;
}
