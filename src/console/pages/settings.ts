// The settings of a workspace: its name, its limit, and how long it keeps what was recorded.
import { updateWorkspace } from "../../management/workspaces.ts";
import type { Workspace } from "../../management/workspaces.ts";
import { ageText, number, time } from "../format.ts";
import { isolated, markup } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { asked, link, sent, workspaceOf } from "../page.ts";
import type { Page, Visit } from "../page.ts";
import { field, form, guarded } from "../parts/form.ts";
import { heading, section } from "../parts/heading.ts";
import { notice } from "../parts/notice.ts";
import { facts } from "../parts/table.ts";
import { daysIn, numberIn } from "./inputs.ts";
import { statusesForm, statusesIn } from "./statuses.ts";

const day = 86_400_000; // ms

export const settingsPage: Page = {
  path: "/:workspaceId/settings",
  section: "settings",
  // deno-lint-ignore require-await -- a page returns a promise
  async show(visit) {
    const workspace = workspaceOf(visit);
    const { id, name, monthlyLimit, upgradeUrl, keepRecordsMs, keepCallsMs, createdAt } = workspace;
    return {
      title: "Settings",
      body: markup`${asked(visit, "done") !== undefined && notice("done", "The settings are stored.")}${
        heading({
          title: "Settings",
        })
      }${
        facts([
          ["Name", isolated(name)],
          ["Limit", markup`${number(monthlyLimit)} requests a month`],
          ["Link at the limit", upgradeUrl === null ? "none" : isolated(upgradeUrl)],
          ["Records are kept", keepText(keepRecordsMs)],
          ["Calls are kept", keepText(keepCallsMs)],
          ["Created", time(createdAt)],
          ["Id", markup`<code>${id}</code>`],
        ])
      }${section("Change", guarded(visit, updateWorkspace, () => changeForm(visit, workspace)))}${
        section("Statuses", guarded(visit, updateWorkspace, () => statusesForm(visit, workspace)))
      }
<p class="hint">To delete a workspace with everything in it, use <code>promptledger workspace delete ${id}</code>.</p>`,
    };
  },
  async act(visit) {
    const { id } = workspaceOf(visit);
    if (visit.form.get("do") === "statuses") await visit.call(updateWorkspace, { id, statuses: statusesIn(visit) });
    else await visit.call(updateWorkspace, { id, ...settingsIn(visit) });
    return { redirect: link(visit, ["settings"], { done: "stored" }) };
  },
};

const settingsIn = (visit: Visit) => ({
  name: sent(visit, "name") ?? "",
  monthlyLimit: numberIn(visit, "monthlyLimit"),
  upgradeUrl: sent(visit, "upgradeUrl") ?? null,
  keepRecordsMs: daysIn(visit, "keepRecords"),
  keepCallsMs: daysIn(visit, "keepCalls"),
});

const keepText = (ms: number | null): Part => ms === null ? "for ever" : ageText(ms);
const daysOf = (ms: number | null): number | null => ms === null ? null : Math.ceil(ms / day);

function changeForm({ form: entered }: Visit, workspace: Workspace): Html {
  const { name, monthlyLimit, upgradeUrl, keepRecordsMs, keepCallsMs } = workspace;
  const valueOf = (field: string, stored: string | number | null) => entered.get(field) ?? stored;
  return form({
    submit: "Store settings",
    body: markup`${field({ label: "Name", name: "name", value: valueOf("name", name), isRequired: true })}${
      field({
        label: "Requests per month",
        name: "monthlyLimit",
        type: "number",
        value: valueOf("monthlyLimit", monthlyLimit),
        isRequired: true,
        hint: "Applies from the next request on.",
      })
    }${
      field({
        label: "Link at the limit",
        name: "upgradeUrl",
        type: "url",
        value: valueOf("upgradeUrl", upgradeUrl),
        hint: "Applications get it when the quota is used up.",
      })
    }<div class="row">${
      field({
        label: "Keep records for days",
        name: "keepRecords",
        type: "number",
        value: valueOf("keepRecords", daysOf(keepRecordsMs)),
        hint: "For ever, if empty. Older ones are removed within the hour.",
      })
    }${
      field({
        label: "Keep calls for days",
        name: "keepCalls",
        type: "number",
        value: valueOf("keepCalls", daysOf(keepCallsMs)),
        hint: "Their records go with them. Usage stays exact.",
      })
    }</div>`,
  });
}
