// All deployments: a row for each prompt, a column for each name.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { createDeployment, listDeployments } from "../../management/deployments/deployments.ts";
import type { Deployment } from "../../management/deployments/deployments.ts";
import { groupBy } from "../../support/group-by.ts";
import { counted } from "../frame/format.tsx";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html } from "../frame/html.ts";
import { isChecked, link, listMost, missingRole, queryValue, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { Chip, stateOf } from "../frame/chips.tsx";
import { Empty, Pager, PartHint, Table } from "../frame/elements.tsx";
import { Checkbox, Filters } from "../frame/form.tsx";
import { rolloutChip } from "../frame/rollout.tsx";

export const deploymentsPage: Page = {
  path: "/:workspaceId/deployments",
  async show(visit) {
    const { id: workspaceId } = workspaceOf(visit);
    const archived = isChecked(visit, "archived"), cursor = queryValue(visit, "cursor");
    const { items: all, nextCursor } = await listMost(
      (page) => visit.call(listDeployments, { workspaceId, archived, ...page }),
      cursor,
    );
    const rows = [...groupBy(all, ({ promptId }) => promptId).values()]
      .sort(([a], [b]) => promptName(a!) < promptName(b!) ? -1 : 1);
    const counts = groupBy(all, ({ name }) => name);
    const names = [...counts.keys()].sort((a, b) => counts.get(b)!.length - counts.get(a)!.length || (a < b ? -1 : 1));
    const query = Object.fromEntries(visit.query);
    return {
      title: "Deployments",
      isWide: true,
      heading: "Deployments",
      lede: "What each name serves. Choose one to promote, roll back or deactivate it.",
      body: (
        <>
          {(cursor !== undefined || nextCursor !== null) && (
            <PartHint of="deployments">Open a prompt to see all of its own.</PartHint>
          )}
          {all.length > 0 ? boardOf(visit, rows, names) : noneYet(visit)}
          <Pager next={nextCursor} href={(cursor) => link(visit, ["deployments"], { ...query, cursor })} />
          <p></p>
          <Filters>
            <Checkbox label="Show archived" name="archived" isChecked={archived} />
          </Filters>
        </>
      ),
    };
  },
};

function noneYet(visit: ConsoleRequest): Html {
  const choose = <a href={link(visit, ["prompts"])}>Choose a prompt</a>;
  return (
    <Empty title="No deployment yet">
      A deployment has a name such as <code>production</code> and serves one version of a prompt.{" "}
      {missingRole(visit, createDeployment) ?? <>{choose} to deploy it.</>}
    </Empty>
  );
}

const promptName = ({ reference }: Deployment): string => reference.slice(0, reference.indexOf("@"));

const mostColumns = 12, mostOthers = 20; // deployments of a prompt under other names

function boardOf(visit: ConsoleRequest, rows: readonly Deployment[][], names: readonly string[]): Html {
  const shown = new Set(names.slice(0, mostColumns));
  return (
    <Table
      caption="Deployments by prompt"
      rows={rows}
      columns={[
        {
          label: "Prompt",
          isHead: true,
          cell: ([first]) => <a href={link(visit, ["prompts", first!.promptId])}>{isolated(promptName(first!))}</a>,
        },
        ...[...shown].map((name) => ({
          label: name,
          cell: (row: Deployment[]) => cellOf(visit, row.find((deployment) => deployment.name === name)),
        })),
        names.length > shown.size && {
          label: "Others",
          cell: (row: Deployment[]) => othersOf(visit, row.filter(({ name }) => !shown.has(name))),
        },
      ]}
    />
  );
}

/** The deployments of a prompt whose names have no column. */
const othersOf = (visit: ConsoleRequest, others: readonly Deployment[]): Html => (
  <span class="chips">
    {others.slice(0, mostOthers).map(({ id, name, currentVersion }) => (
      <a class="chip" href={link(visit, ["deployments", id])}>
        {isolated(name)} <b>v{currentVersion}</b>
      </a>
    ))}
    {others.length > mostOthers && <span class="hint">{counted(others.length - mostOthers, "more", "more")}</span>}
  </span>
);

function cellOf(visit: ConsoleRequest, deployment: Deployment | undefined): Html {
  if (deployment === undefined) return <span class="none">–</span>;
  const { id, reference, currentVersion, isProtected } = deployment, state = stateOf(deployment);
  return (
    <span class="chips">
      <a class={`chip ${state === undefined ? "live" : "off"}`} href={link(visit, ["deployments", id])}>
        <b>v{currentVersion}</b>
        {state}
        <span class="hide">{` in ${reference}`}</span>
      </a>
      {rolloutChip(visit, deployment)}
      {isProtected && <Chip>protected</Chip>}
    </span>
  );
}
