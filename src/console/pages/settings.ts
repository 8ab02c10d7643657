// The settings of a workspace: its name, its limit, and how long it keeps what was recorded.
import { conflict } from "../../common/errors.ts";
import { updateWorkspace } from "../../management/workspaces.ts";
import type { Workspace } from "../../management/workspaces.ts";
import { ageText, number, time } from "../format.tsx";
import { isolated, markup } from "../html.ts";
import type { Html, Part } from "../html.ts";
import { link, sent, workspaceOf } from "../page.ts";
import type { Page, Visit } from "../page.ts";
import { checkbox, field, form, guarded } from "../parts/form.tsx";
import { heading, section } from "../parts/heading.tsx";
import { doneNotice } from "../parts/notice.tsx";
import { facts } from "../parts/table.tsx";
import { daysIn, numberIn, withLabels } from "./inputs.ts";
import { statusesForm, statusesIn, statusLabel } from "./statuses.ts";

const day = 86_400_000; // ms

/** The labels of the fields by what the operation calls them, or by their own names. */
const labels: Record<string, string> = {
  name: "Name",
  monthlyLimit: "Requests per month",
  upgradeUrl: "Link at the limit",
  keepRecords: "Keep records for days",
  keepCalls: "Keep calls for days",
};

export const settingsPage: Page = {
  path: "/:workspaceId/settings",
  section: "settings",
  // deno-lint-ignore require-await -- a page returns a promise
  async show(visit) {
    const workspace = workspaceOf(visit);
    const { id, name, monthlyLimit, upgradeUrl, keepRecordsMs, keepCallsMs, createdAt } = workspace;
    return {
      title: "Settings",
      body: markup`${doneNotice(visit, { stored: "The settings are stored." })}${
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
<p class="hint">To delete a workspace with everything in it, use <code>promptledger workspace delete ${id} --confirm ${
        quoted(name)
      }</code>.</p>`,
    };
  },
  async act(visit) {
    const { id } = workspaceOf(visit);
    if (visit.form.get("do") === "statuses") {
      const statuses = statusesIn(visit);
      await withLabels(statusLabel(statuses), () => visit.call(updateWorkspace, { id, statuses }));
    } else {
      await withLabels(
        (path) => labels[path],
        async () => {
          const settings = settingsIn(visit);
          requireConsent(visit, settings);
          await visit.call(updateWorkspace, { id, ...settings });
        },
      );
    }
    return { redirect: link(visit, ["settings"], { done: "stored" }) };
  },
};

const shortened = "retention_shortened";

/** Refuses a shorter retention until a box is ticked beside what it removes. */
function requireConsent(visit: Visit, { keepRecordsMs, keepCallsMs }: ReturnType<typeof settingsIn>): void {
  const stored = workspaceOf(visit);
  const older = (noun: string, next: number | null, before: number | null) =>
    next !== null && (before === null || next < before) ? [`${noun} older than ${ageText(next)}`] : [];
  const removed = [
    ...older("records", keepRecordsMs, stored.keepRecordsMs),
    ...older("calls", keepCallsMs, stored.keepCallsMs),
  ];
  if (removed.length === 0 || sent(visit, "consent") === "yes") return;
  throw conflict(`This removes ${removed.join(" and ")}. Tick the box in the form and store it again`, shortened);
}

/** A text as an argument in a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const settingsIn = (visit: Visit) => ({
  name: sent(visit, "name") ?? "",
  monthlyLimit: numberIn(visit, "monthlyLimit"),
  upgradeUrl: sent(visit, "upgradeUrl") ?? null,
  keepRecordsMs: retentionIn(visit, "keepRecords", workspaceOf(visit).keepRecordsMs),
  keepCallsMs: retentionIn(visit, "keepCalls", workspaceOf(visit).keepCallsMs),
});

/** A retention in ms. The field has whole days, so one that was not changed leaves what is stored. */
function retentionIn(visit: Visit, name: string, stored: number | null): number | null {
  const entered = daysIn(visit, name, labels[name]!);
  return stored !== null && entered === daysOf(stored)! * day ? stored : entered;
}

const keepText = (ms: number | null): Part => ms === null ? "for ever" : ageText(ms);
const daysOf = (ms: number | null): number | null => ms === null ? null : Math.ceil(ms / day);

function changeForm({ form: entered, refusal }: Visit, workspace: Workspace): Html {
  const { name, monthlyLimit, upgradeUrl, keepRecordsMs, keepCallsMs } = workspace;
  const valueOf = (field: string, stored: string | number | null) => entered.get(field) ?? stored;
  return form({
    submit: "Store settings",
    body: markup`${field({ label: "Name", name: "name", value: valueOf("name", name), isRequired: true })}${
      field({
        label: labels.monthlyLimit!,
        name: "monthlyLimit",
        type: "number",
        value: valueOf("monthlyLimit", monthlyLimit),
        isRequired: true,
        hint: "Applies from the next request on.",
      })
    }${
      field({
        label: labels.upgradeUrl!,
        name: "upgradeUrl",
        type: "url",
        value: valueOf("upgradeUrl", upgradeUrl),
        hint: "Applications get it when the quota is used up.",
      })
    }<div class="row">${
      field({
        label: labels.keepRecords!,
        name: "keepRecords",
        type: "number",
        value: valueOf("keepRecords", daysOf(keepRecordsMs)),
        hint: "For ever, if empty. Older ones are removed within the hour.",
      })
    }${
      field({
        label: labels.keepCalls!,
        name: "keepCalls",
        type: "number",
        value: valueOf("keepCalls", daysOf(keepCallsMs)),
        hint: "Their records go with them. Usage stays exact.",
      })
    }</div>${refusal?.code === shortened && checkbox("Remove what is older, for good", "consent")}`,
  });
}
