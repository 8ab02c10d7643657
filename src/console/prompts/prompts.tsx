// The prompts of a workspace as a tree by the slashes in their names, and a search over names and texts.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import type { Page as ListPage } from "../../common/domain.ts";
import { listDeployments } from "../../management/deployments/deployments.ts";
import type { Deployment } from "../../management/deployments/deployments.ts";
import { listPrompts } from "../../management/prompts/prompts.ts";
import type { Prompt } from "../../management/prompts/prompts.ts";
import { createPrompt } from "../../management/prompts/versions.ts";
import { groupBy } from "../../support/group-by.ts";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html } from "../frame/html.ts";
import { isChecked, link, listMost, missingRole, queryValue, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { Chip, deploymentChips } from "../frame/chips.tsx";
import { Empty, Pager, PartHint } from "../frame/elements.tsx";
import { Checkbox, Field, Filters } from "../frame/form.tsx";

export const promptsPage: Page = {
  path: "/:workspaceId/prompts",
  async show(visit) {
    const { call } = visit;
    const { id: workspaceId } = workspaceOf(visit);
    const text = queryValue(visit, "q"), archived = isChecked(visit, "archived"), cursor = queryValue(visit, "cursor");
    const [{ items: prompts, nextCursor }, deployments] = await Promise.all([
      listMost((page) => call(listPrompts, { workspaceId, archived, text, ...page }), cursor),
      listMost((page) => call(listDeployments, { workspaceId, archived, ...page })),
    ]);
    const isFiltered = text !== undefined || archived;
    const isEmpty = prompts.length === 0 && !isFiltered;
    const mayCreate = missingRole(visit, createPrompt) === undefined;
    const isPart = cursor !== undefined || nextCursor !== null;
    const query = Object.fromEntries(visit.query);
    return {
      title: "Prompts",
      heading: "Prompts",
      actions: mayCreate && <a class="button primary" href={link(visit, ["prompts", "new"])}>New prompt</a>,
      body: (
        <>
          {!isEmpty && (
            <Filters clear={isFiltered ? link(visit, ["prompts"]) : undefined}>
              <Field label="Search" name="q" type="search" value={text} placeholder="Name, title or text" />
              <Checkbox label="Show archived" name="archived" isChecked={archived} />
            </Filters>
          )}
          {isPart && <PartHint of="prompts">Search for others.</PartHint>}
          {deployments.nextCursor !== null && (
            <PartHint of="deployments">
              Open a prompt to see all of its own.
            </PartHint>
          )}
          {prompts.length > 0
            ? treeOf(visit, prompts, deployments)
            : isEmpty
            ? noneYet(visit)
            : (
              <Empty title="No prompt has this text">
                The search looks at names, titles and the messages of the newest version.
              </Empty>
            )}
          <Pager next={nextCursor} href={(cursor) => link(visit, ["prompts"], { ...query, cursor })} />
        </>
      ),
    };
  },
};

function noneYet(visit: ConsoleRequest): Html {
  const write = <a href={link(visit, ["prompts", "new"])}>Write the first one</a>;
  const steps = (
    <>
      {write}, or push a file with <code>promptledger prompt push</code>.
    </>
  );
  return <Empty title="No prompt yet">{missingRole(visit, createPrompt) ?? steps}</Empty>;
}

/** The prompts below their folders, both in the order of the alphabet. */
function treeOf(visit: ConsoleRequest, prompts: readonly Prompt[], deployments: ListPage<Deployment>): Html {
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
  visit: ConsoleRequest,
  { id, name, title, latestVersion, archivedAt }: Prompt,
  folder: string,
  deployments: readonly Deployment[],
  isWhole: boolean,
): Html {
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
      {archivedAt !== null
        ? <Chip kind="off">archived</Chip>
        : deploymentChips(visit, deployments) || isWhole && <span class="hint">not deployed</span>}
    </li>
  );
}
