// Edits a prompt, and writes a new one: a box for each message, and below it the difference, variables, and a preview.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { Refusal } from "../../common/errors.ts";
import type { PromptId } from "../../common/ids.ts";
import { diffPrompts, variablesOf } from "../../management/prompts/prompt-text.ts";
import type { PromptContent } from "../../management/prompts/prompt-text.ts";
import { createPrompt, getPrompt, getPromptVersion, pushPrompt } from "../../management/prompts/versions.ts";
import type { PromptVersion } from "../../management/prompts/versions.ts";
import { assetPath } from "../frame/addresses.ts";
import { contentOf, emptyDraft, faultsOf, keepUnchanged, readDraft, rearrange, requireName, toDraft } from "./draft.ts";
import type { Draft } from "./draft.ts";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { link, missingRole, queryVersion, workspaceOf } from "../frame/page.ts";
import type { ActResult, ConsoleRequest, Page, View } from "../frame/page.ts";
import { Diff } from "../frame/diff.tsx";
import { DraftForm, filledIn } from "./draft-form.tsx";
import { Notice, Section } from "../frame/elements.tsx";
import { DeclarationsNotice, VariablesNotice } from "../frame/content.tsx";
import { numberIn } from "../frame/inputs.tsx";

/** Edited version; undefined for a new prompt. */
type Base = { version: PromptVersion; latest: number } | undefined;

/** Makes the page of an editor. `publish` makes the version, and gives the page to go to. */
const editorPage = (
  path: string,
  findBase: (visit: ConsoleRequest) => Promise<Base>,
  publish: (visit: ConsoleRequest, base: Base, draft: Draft) => Promise<ActResult>,
): Page => ({
  path: `/:workspaceId/prompts/${path}`,
  async show(visit) {
    const base = await findBase(visit), start = base === undefined ? emptyDraft : toDraft(base.version);
    return viewOf(visit, base, visit.form.has("title") ? readDraft(visit.form) : start);
  },
  async act(visit) {
    const base = await findBase(visit), draft = readDraft(visit.form), action = visit.form.get("do") ?? "preview";
    return action === "publish" ? await publish(visit, base, draft) : viewOf(visit, base, rearrange(draft, action));
  },
});

export const editPage = editorPage(":promptId/edit", findBase, async (visit, base, draft) => {
  const { version, latest } = base!, { id } = version, { id: workspaceId } = workspaceOf(visit);
  const content = keepUnchanged(contentOf(draft), version), seen = numberIn(visit, "latest") ?? latest;
  try {
    const pushed = await visit.call(pushPrompt, { id, workspaceId, ...content, note: draft.note, ifLatest: seen });
    return { redirect: link(visit, ["prompts", id], { done: pushed.isNew ? "published" : "same" }) };
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind !== "outdated") throw error;
    return await conflictView(visit, base!, draft, seen);
  }
});

export const newPromptPage = editorPage("new", () => Promise.resolve(undefined), async (visit, _, draft) => {
  const { id: workspaceId } = workspaceOf(visit), name = requireName(draft);
  const { id } = await visit.call(createPrompt, { workspaceId, name, ...contentOf(draft), note: draft.note });
  return { redirect: link(visit, ["prompts", id], { done: "published" }) };
});

/** The version that is edited: the one in the query, or the newest. */
async function findBase(visit: ConsoleRequest): Promise<Base> {
  const { id: workspaceId } = workspaceOf(visit);
  const id = visit.params.promptId as PromptId;
  const newest = await visit.call(getPrompt, { id, workspaceId });
  const wanted = queryVersion(visit, "base") ?? newest.version;
  const version = wanted === newest.version
    ? newest
    : await visit.call(getPromptVersion, { id, workspaceId, version: wanted });
  return { version, latest: newest.version };
}

function viewOf(visit: ConsoleRequest, base: Base, draft: Draft, warning?: Part): View {
  const lack = missingRole(visit, base === undefined ? createPrompt : pushPrompt);
  const name = base?.version.name;
  const title = base === undefined ? "New prompt" : `Edit ${name}`;
  const faults = faultsOf(draft);
  return {
    title,
    isWide: true,
    heading: base === undefined ? title : <>Edit {isolated(name!)}</>,
    lede: base === undefined ? "Version 1. It is not served before it is deployed." : (
      <>
        From version {base.version.version}
        {base.version.version !== base.latest && `, while version ${base.latest} is the newest`}. A version never
        changes: publishing makes version {base.latest + 1}.
      </>
    ),
    parent: base && { label: isolated(name!), href: link(visit, ["prompts", base.version.id]) },
    body: (
      <>
        {warning}
        {lack !== undefined ? <Notice kind="info">{lack}</Notice> : editorOf(visit, base, draft, faults)}
      </>
    ),
  };
}

function editorOf(visit: ConsoleRequest, base: Base, draft: Draft, faults: ReadonlyMap<string, string>): Html {
  return (
    <>
      <link rel="stylesheet" href={visit.root + assetPath("editor.css")} />
      <div class="split">
        <DraftForm visit={visit} draft={draft} faults={faults} isNew={base === undefined} latest={base?.latest} />
        <div id="preview" role="region" aria-label="Preview" tabindex="0">
          {faults.size === 0 ? previewOf(visit, base, draft) : repairsOf(faults)}
        </div>
      </div>
      <script src={visit.root + assetPath("editor.js")} defer></script>
    </>
  );
}

/** Faults to correct before there can be a preview. */
const repairsOf = (faults: ReadonlyMap<string, string>): Html => (
  <>
    <h2>No preview yet</h2>
    <ul class="hint">
      {Array.from(faults, ([name, text]) => (
        <li>
          <a href={`#${name}`}>{text}</a>
        </li>
      ))}
    </ul>
  </>
);

/** Effect of publishing: the difference, added and removed variables, and the messages with values filled in. */
function previewOf(visit: ConsoleRequest, base: Base, draft: Draft): Html {
  const content = base === undefined ? contentOf(draft) : keepUnchanged(contentOf(draft), base.version);
  const labelled = (label: string, content: PromptContent) => ({ label, content });
  return (
    <>
      {base !== undefined && (
        <>
          <h2>Difference to version {base.version.version}</h2>
          <p></p>
          <VariablesNotice before={base.version.variables} after={variablesOf(content.messages)} />
          <Diff
            text={diffPrompts(labelled("before", base.version), labelled("after", content))}
            label="Difference"
          />
        </>
      )}
      <DeclarationsNotice content={content} />
      <Section title="Preview">{filledIn(visit.form, content)}</Section>
    </>
  );
}

/** Edit conflict. The entered text stays in the form, beside the other version's changes. */
async function conflictView(
  visit: ConsoleRequest,
  base: { version: PromptVersion; latest: number },
  draft: Draft,
  seen: number,
) {
  const { id: workspaceId } = workspaceOf(visit);
  const { id } = base.version;
  const [newest, old] = await Promise.all([
    visit.call(getPrompt, { id, workspaceId }),
    visit.call(getPromptVersion, { id, workspaceId, version: seen }),
  ]);
  const labelled = (content: PromptContent) => ({ label: "version", content });
  const warning = (
    <>
      <Notice kind="error">
        Someone published version {newest.version} while you were editing
        {newest.note !== "" && ` (“${newest.note}”)`}. Your text is still below. Take over what changed, and publish
        again: then yours becomes version {newest.version + 1}.
      </Notice>
      <details open>
        <summary>What version {newest.version} changed against version {seen}</summary>
        <Diff text={diffPrompts(labelled(old), labelled(newest))} label={`Version ${seen} to ${newest.version}`} />
      </details>
      <p></p>
    </>
  );
  return { ...viewOf(visit, { version: newest, latest: newest.version }, draft, warning), kind: "outdated" as const };
}
