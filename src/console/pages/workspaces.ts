// Workspaces: the start, the list, and a new one.
import { monthOf } from "../../common/month.ts";
import { listMonths } from "../../management/usage.ts";
import { createWorkspace, listWorkspaces } from "../../management/workspaces.ts";
import type { Workspace } from "../../management/workspaces.ts";
import { redirectTo } from "../answers.ts";
import { number } from "../format.tsx";
import { isolated, markup } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { asked, sent } from "../page.ts";
import type { Page, Resource, Visit } from "../page.ts";
import { shareBar } from "../parts/chart.tsx";
import { empty } from "../parts/empty.tsx";
import { field, form, guarded } from "../parts/form.tsx";
import { heading, section } from "../parts/heading.tsx";
import { pager } from "../parts/table.tsx";
import { numberIn } from "./inputs.ts";

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
    const { items, nextCursor } = await visit.call(listWorkspaces, { limit: pageSize, cursor: asked(visit, "cursor") });
    const used = await Promise.all(items.map(({ id }) => usedNow(visit, id)));
    return {
      title: "Workspaces",
      body: markup`${
        heading({ title: "Workspaces", lede: "Each has its own prompts, deployments and keys, and a monthly quota." })
      }${
        items.length === 0
          ? empty("No workspace yet", "Create the first one below. Everything else belongs to a workspace.")
          : markup`<ul class="cards">${items.map((workspace, index) => cardOf(visit, workspace, used[index]!))}</ul>`
      }${pager(nextCursor, (cursor) => `?cursor=${cursor}`)}${section("New workspace", newForm(visit))}`,
    };
  },
  async act(visit) {
    const { id } = await visit.call(createWorkspace, {
      name: sent(visit, "name") ?? "",
      monthlyLimit: numberIn(visit, "monthlyLimit"),
    });
    return { redirect: visit.root + id };
  },
};

async function usedNow({ call, now }: Visit, workspaceId: Workspace["id"]): Promise<number> {
  const { items: [latest] } = await call(listMonths, { workspaceId, limit: 1 });
  return latest?.month === monthOf(now) ? latest.used : 0;
}

const cardOf = ({ root }: Visit, { id, name, monthlyLimit }: Workspace, used: number): Html =>
  markup`<li class="card"><h2><a href="${root}${id}">${isolated(name)}</a></h2>${
    shareBar(
      used,
      monthlyLimit,
      "of the quota is used",
    )
  }<p class="hint">${number(used)} of ${number(monthlyLimit)} requests this month</p></li>`;

const newForm = (visit: Visit): Part =>
  visit.caller.workspaceId !== undefined
    ? markup`<p class="lack">This needs a token for all workspaces.</p>`
    : guarded(visit, createWorkspace, () =>
      form({
        submit: "Create workspace",
        body: markup`<div class="row">${
          field({ label: "Name", name: "name", value: visit.form.get("name"), isRequired: true })
        }${
          field({
            label: "Requests per month",
            name: "monthlyLimit",
            type: "number",
            value: visit.form.get("monthlyLimit") ?? 10_000,
          })
        }</div>`,
      }));
