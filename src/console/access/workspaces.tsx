// Workspaces: the start, the list, and a new one.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { listWorkspaceStates } from "../../management/access/workspace-states.ts";
import type { WorkspaceState } from "../../management/access/workspace-states.ts";
import { createWorkspace, listWorkspaces } from "../../management/kernel/workspaces.ts";
import { redirectTo } from "../frame/safety.ts";
import { counted, number } from "../frame/format.tsx";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html } from "../frame/html.ts";
import { formValue, queryValue } from "../frame/page.ts";
import type { ConsoleRequest, Page, Resource } from "../frame/page.ts";
import { ShareBar } from "../frame/chart.tsx";
import { Chip } from "../frame/chips.tsx";
import { Empty, Pager, Section } from "../frame/elements.tsx";
import { Field, Form, given, Guarded } from "../frame/form.tsx";
import { numberIn } from "../frame/inputs.tsx";

const pageSize = 24;

/** The workspace of a person who has one, else the list. */
export const startPage: Resource = {
  path: "/",
  async answer({ call, root }) {
    const { items: [only, ...others] } = await call(listWorkspaces, { limit: 2 });
    return redirectTo(root + (only !== undefined && others.length === 0 ? only.id : "workspaces"));
  },
};

export const workspacesPage: Page = {
  path: "/workspaces",
  async show(visit) {
    const { items, nextCursor } = await visit.call(listWorkspaceStates, {
      limit: pageSize,
      cursor: queryValue(visit, "cursor"),
    });
    return {
      title: "Workspaces",
      heading: "Workspaces",
      lede: "Each has its own prompts, deployments and keys, and a monthly quota.",
      body: (
        <>
          {items.length === 0
            ? (
              <Empty title="No workspace yet">
                Create the first one below. Everything else belongs to a workspace.
              </Empty>
            )
            : <ul class="cards">{items.map((workspace) => cardOf(visit, workspace))}</ul>}
          <Pager next={nextCursor} href={(cursor) => `?cursor=${cursor}`} />
          <Section title="New workspace">
            {visit.caller.workspaceId !== undefined
              ? <p class="lack">This needs a token for all workspaces.</p>
              : <Guarded visit={visit} operation={createWorkspace}>{newForm(visit)}</Guarded>}
          </Section>
        </>
      ),
    };
  },
  async act(visit) {
    const { id } = await visit.call(createWorkspace, {
      name: formValue(visit, "name") ?? "",
      monthlyLimit: numberIn(visit, "monthlyLimit"),
    });
    return { redirect: visit.root + id };
  },
};

const cardOf = ({ root }: ConsoleRequest, { id, name, monthlyLimit, used, firing }: WorkspaceState): Html => (
  <li class="card">
    <h2>
      <a href={root + id}>{isolated(name)}</a>
    </h2>
    <ShareBar part={used} whole={monthlyLimit} label="of the quota is used" />
    <p class="hint">{number(used)} of {number(monthlyLimit)} requests this month</p>
    {firing > 0 && <Chip kind="bad">{counted(firing, "alert")} firing</Chip>}
  </li>
);

const newForm = (visit: ConsoleRequest): Html => (
  <Form submit="Create workspace">
    <div class="row">
      <Field {...given(visit, "name", "Name")} isRequired />
      <Field {...given(visit, "monthlyLimit", "Requests per month", 1_000_000)} type="number" />
    </div>
  </Form>
);
