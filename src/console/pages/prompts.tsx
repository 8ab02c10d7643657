// The prompts of a workspace as a tree by the slashes in their names, and a search over names and texts.
/** @jsx h */
/** @jsxFrag Fragment */
import type { Page as ListPage } from "../../common/domain.ts";
import { listDeployments } from "../../management/deployments.ts";
import type { Deployment } from "../../management/deployments.ts";
import { listPrompts } from "../../management/prompts.ts";
import type { Prompt } from "../../management/prompts.ts";
import { createPrompt } from "../../management/versions.ts";
import { groupBy } from "../group-by.ts";
import { Fragment, h, isolated } from "../html.ts";
import type { Html } from "../html.ts";
import { asked, findLack, isChecked, link, listMost, workspaceOf } from "../page.ts";
import type { Page, Visit } from "../page.ts";
import { chip, chips, deploymentChip } from "../parts/chips.tsx";
import { Empty } from "../parts/empty.tsx";
import { checkbox, field, filters } from "../parts/form.tsx";
import { Heading } from "../parts/heading.tsx";
import { pager, partHint } from "../parts/table.tsx";

export const promptsPage: Page = {
  path: "/:workspaceId/prompts",
  section: "prompts",
  async show(visit) {
    const { call } = visit;
    const { id: workspaceId } = workspaceOf(visit);
    const text = asked(visit, "q"), archived = isChecked(visit, "archived"), cursor = asked(visit, "cursor");
    const [{ items: prompts, nextCursor }, deployments] = await Promise.all([
      listMost((page) => call(listPrompts, { workspaceId, archived, text, ...page }), cursor),
      listMost((page) => call(listDeployments, { workspaceId, archived, ...page })),
    ]);
    const isFiltered = text !== undefined || archived;
    const isEmpty = prompts.length === 0 && !isFiltered;
    const mayCreate = findLack(visit, createPrompt) === undefined;
    const isPart = cursor !== undefined || nextCursor !== null;
    return {
      title: "Prompts",
      body: (
        <>
          <Heading
            title="Prompts"
            actions={mayCreate && <a class="button primary" href={link(visit, ["prompts", "new"])}>New prompt</a>}
          />
          {!isEmpty && filters(
            <>
              {field({ label: "Search", name: "q", type: "search", value: text, placeholder: "Name, title or text" })}
              {checkbox("Archived too", "archived", archived)}
            </>,
            isFiltered ? link(visit, ["prompts"]) : undefined,
          )}
          {isPart && partHint("prompts", "Search for others.")}
          {deployments.nextCursor !== null && partHint("deployments", "Open a prompt to see all of its own.")}
          {prompts.length > 0
            ? treeOf(visit, prompts, deployments)
            : isEmpty
            ? noneYet(visit)
            : (
              <Empty title="No prompt has this text">
                The search looks at names, titles and the messages of the newest version.
              </Empty>
            )}
          {pager(nextCursor, (cursor) => link(visit, ["prompts"], { ...Object.fromEntries(visit.query), cursor }))}
        </>
      ),
    };
  },
};

const noneYet = (visit: Visit): Html => (
  <Empty title="No prompt yet">
    {findLack(visit, createPrompt) ?? (
      <>
        <a href={link(visit, ["prompts", "new"])}>Write the first one</a>, or push a file with{" "}
        <code>promptledger prompt push</code>.
      </>
    )}
  </Empty>
);

/** The prompts below their folders, both in the order of the alphabet. */
function treeOf(visit: Visit, prompts: readonly Prompt[], deployments: ListPage<Deployment>): Html {
  const byPrompt = groupBy(deployments.items, ({ promptId }) => promptId);
  const isWhole = deployments.nextCursor === null;
  const sorted = [...prompts].sort((a, b) => a.name < b.name ? -1 : 1);
  const folders = groupBy(sorted, ({ name }) => name.slice(0, name.lastIndexOf("/") + 1));
  const inOrder = [...folders].sort(([a], [b]) => a < b ? -1 : 1);
  return (
    <ul class="tree">
      {inOrder.map(([folder, all]) => (
        <li>
          {folder !== "" && <p class="folder mono">{isolated(folder)}</p>}
          <ul>{all.map((prompt) => leafOf(visit, prompt, folder, byPrompt.get(prompt.id) ?? [], isWhole))}</ul>
        </li>
      ))}
    </ul>
  );
}

function leafOf(
  visit: Visit,
  { id, name, title, latestVersion, archivedAt }: Prompt,
  folder: string,
  deployments: readonly Deployment[],
  isWhole: boolean,
): Html {
  const live = chips(deployments.map((deployment) => deploymentChip(visit, deployment)));
  return (
    <li class="leaf">
      <div>
        <p>
          <a href={link(visit, ["prompts", id])} aria-label={name}>
            <strong>{isolated(name.slice(folder.length))}</strong>
          </a>
        </p>
        <p class="hint">{isolated(title)} · v{latestVersion}</p>
      </div>
      {archivedAt !== null ? chip("archived", "off") : live || isWhole && <span class="hint">not deployed</span>}
    </li>
  );
}
