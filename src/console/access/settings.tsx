// The settings of a workspace: its name, its limit, its retention, and the meaning of its records' statuses.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { conflict, invalidField } from "../../common/errors.ts";
import type { StatusName } from "../../management/kernel/statuses.ts";
import { updateWorkspace } from "../../management/kernel/workspaces.ts";
import type { Workspace } from "../../management/kernel/workspaces.ts";
import { ageText, ago, number } from "../frame/format.tsx";
import { exact, Fragment, h, isolated } from "../frame/html.ts";
import type { Html } from "../frame/html.ts";
import { formValue, link, missingRole, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { Backups } from "./backups.tsx";
import { statusChip } from "../frame/chips.tsx";
import { Fact, Facts, Section } from "../frame/elements.tsx";
import { Checkbox, Field, Form, given, HiddenField, Select } from "../frame/form.tsx";
import { daysIn, numberIn, readWhole, withLabels } from "../frame/inputs.tsx";

const day = 86_400_000; // ms

/** Labels of the fields, by members of the operation, or by their own names. */
const labels: Record<string, string> = {
  name: "Name",
  monthlyLimit: "Requests per month",
  upgradeUrl: "Upgrade URL",
  keepRecords: "Keep records for days",
  keepCalls: "Keep calls for days",
  costSource: "Cost of records",
};

export const settingsPage: Page = {
  path: "/:workspaceId/settings",
  // deno-lint-ignore require-await -- a page returns a promise
  async show(visit) {
    const workspace = workspaceOf(visit);
    const { id, name, monthlyLimit, upgradeUrl, keepRecordsMs, keepCallsMs, createdAt } = workspace;
    const lack = missingRole(visit, updateWorkspace);
    const removal = `promptledger workspace delete ${id} --confirm ${quoted(name)}`;
    return {
      title: "Settings",
      done: { stored: "The settings are stored." },
      heading: "Settings",
      body: (
        <>
          <Facts>
            <Fact label="Name">{isolated(name)}</Fact>
            <Fact label="Limit">{number(monthlyLimit)} requests a month</Fact>
            <Fact label="Upgrade URL">{upgradeUrl === null ? "none" : isolated(upgradeUrl)}</Fact>
            <Fact label="Records are kept">{keepText(keepRecordsMs)}</Fact>
            <Fact label="Calls are kept">{keepText(keepCallsMs)}</Fact>
            <Fact label="Cost of records">{costSources[workspace.costSource]}</Fact>
            {lack !== undefined && (
              <Fact label="Statuses">
                <span class="chips">{workspace.statuses.map(({ status }) => statusChip(visit, status))}</span>
              </Fact>
            )}
            <Fact label="Created">{ago(createdAt, visit.now)}</Fact>
            <Fact label="Id" code={id} />
          </Facts>
          <Section title="Change">
            {lack === undefined ? changeForm(visit, workspace) : <p class="lack">{lack}</p>}
          </Section>
          {lack === undefined && (
            <Section title="Statuses">
              <StatusesForm visit={visit} statuses={workspace.statuses} />
            </Section>
          )}
          <Section title="Feedback">
            <p>
              <a href={link(visit, ["settings", "feedback"])}>Names of feedback</a>, their values, and which are better.
            </p>
          </Section>
          <Backups visit={visit} />
          <p class="hint">
            To delete a workspace with everything in it, use <code>{removal}</code>.
          </p>
        </>
      ),
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
        { keepRecordsMs: "keepRecords", keepCallsMs: "keepCalls" },
      );
    }
    return { redirect: link(visit, ["settings"], { done: "stored" }) };
  },
};

const shortened = "retention_shortened";

/** Refuses a shorter retention until a box is ticked beside what it removes. */
function requireConsent(visit: ConsoleRequest, { keepRecordsMs, keepCallsMs }: ReturnType<typeof settingsIn>): void {
  const stored = workspaceOf(visit);
  const older = (noun: string, next: number | null, before: number | null) =>
    next !== null && (before === null || next < before) ? [`${noun} older than ${ageText(next)}`] : [];
  const removed = [
    ...older("records", keepRecordsMs, stored.keepRecordsMs),
    ...older("calls", keepCallsMs, stored.keepCallsMs),
  ];
  if (removed.length === 0 || formValue(visit, "consent") === "yes") return;
  throw conflict(`This removes ${removed.join(" and ")}. Tick the box in the form and store it again`, shortened);
}

/** A text as an argument in a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const settingsIn = (visit: ConsoleRequest) => ({
  name: formValue(visit, "name") ?? "",
  monthlyLimit: numberIn(visit, "monthlyLimit"),
  upgradeUrl: formValue(visit, "upgradeUrl") ?? null,
  keepRecordsMs: retentionIn(visit, "keepRecords", workspaceOf(visit).keepRecordsMs),
  keepCallsMs: retentionIn(visit, "keepCalls", workspaceOf(visit).keepCallsMs),
  costSource: formValue(visit, "costSource") as Workspace["costSource"] | undefined,
});

const costSources = {
  provider: "what the provider reports, or else by the prices",
  prices: "by the prices, or else what the provider reports",
};

/** A retention in ms. The field has whole days, so one that was not changed leaves what is stored. */
function retentionIn(visit: ConsoleRequest, name: string, stored: number | null): number | null {
  const entered = daysIn(visit, name, labels[name]!);
  return stored !== null && entered === daysOf(stored)! * day ? stored : entered;
}

const keepText = (ms: number | null): string => ms === null ? "for ever" : ageText(ms);
const daysOf = (ms: number | null): number | null => ms === null ? null : Math.ceil(ms / day);

function changeForm(visit: ConsoleRequest, workspace: Workspace): Html {
  const { name, monthlyLimit, upgradeUrl, keepRecordsMs, keepCallsMs } = workspace;
  const field = (name: string, stored: string | number | null) => given(visit, name, labels[name]!, stored);
  return (
    <Form submit="Save">
      <Field {...field("name", name)} isRequired />
      <Field
        {...field("monthlyLimit", monthlyLimit)}
        type="number"
        isRequired
        hint="Applies from the next request on."
      />
      <Field {...field("upgradeUrl", upgradeUrl)} type="url" hint="Applications get it when the quota is used up." />
      <div class="row">
        <Field
          {...field("keepRecords", daysOf(keepRecordsMs))}
          type="number"
          hint="For ever, if empty. Older ones are removed within the hour."
        />
        <Field
          {...field("keepCalls", daysOf(keepCallsMs))}
          type="number"
          hint="Their records go with them. Usage stays exact."
        />
      </div>
      <Select
        {...given(visit, "costSource", labels.costSource!, workspace.costSource)}
        options={Object.entries(costSources)}
        hint="Of records without a cost of their own."
      />
      {visit.refusal?.code === shortened && <Checkbox label="Remove what is older, for good" name="consent" />}
    </Form>
  );
}

const spareRows = 3;

/** A row for each status, and some for new ones. A row without a code is left out. */
const StatusesForm = ({ visit, statuses }: { visit: ConsoleRequest; statuses: readonly StatusName[] }): Html => (
  <Form submit="Store statuses">
    <HiddenField name="do" value="statuses" />
    <p class="hint">
      Applications put a number into each record. Its name shows in lists and statistics. To remove a row, empty its
      number.
    </p>
    <table>
      <caption class="hide">Statuses</caption>
      <thead>
        <tr>
          <th scope="col">Number</th>
          <th scope="col">Name</th>
          <th scope="col">Counts as a failure</th>
        </tr>
      </thead>
      <tbody>
        {Array.from({ length: statuses.length + spareRows }, (_, index) => rowOf(visit, index, statuses[index]))}
      </tbody>
    </table>
  </Form>
);

function rowOf({ form: entered }: ConsoleRequest, index: number, stored: StatusName | undefined): Html {
  const isSent = entered.has("code-0");
  const valueOf = (name: string, value: string) => exact(isSent ? entered.get(`${name}-${index}`) ?? "" : value);
  const nth = index + 1;
  return (
    <tr>
      <td data-label="Number">
        <input
          name={`code-${index}`}
          inputmode="numeric"
          aria-label={`Number of status ${nth}`}
          value={valueOf("code", String(stored?.status ?? ""))}
        />
      </td>
      <td data-label="Name">
        <input
          name={`name-${index}`}
          aria-label={`Name of status ${nth}`}
          value={valueOf("name", stored?.name ?? "")}
        />
      </td>
      <td data-label="Failure">
        <input
          type="checkbox"
          name={`failure-${index}`}
          value="yes"
          aria-label={`Status ${nth} counts as a failure`}
          checked={isSent ? entered.has(`failure-${index}`) : stored?.isFailure}
        />
      </td>
    </tr>
  );
}

/** The statuses that the form sent. */
function statusesIn({ form: entered }: ConsoleRequest): StatusName[] {
  const statuses: StatusName[] = [];
  for (let index = 0; entered.has(`code-${index}`); index++) {
    const code = entered.get(`code-${index}`)!.trim();
    if (code === "") continue;
    const status = readWhole(code);
    if (Number.isNaN(status)) {
      throw invalidField(`code-${index}`, "The number of a status must be an integer", "an integer");
    }
    const name = (entered.get(`name-${index}`) ?? "").trim();
    statuses.push({ status, name, isFailure: entered.has(`failure-${index}`) });
  }
  return statuses;
}

/** Names a field of the statuses that a form sent: `statuses[0].name`. */
const statusLabel = (statuses: readonly StatusName[]) => (path: string): string | undefined => {
  const [, index, name] = /^statuses\[(\d+)\]\.(\w+)$/.exec(path) ?? [];
  if (index === undefined) return undefined;
  return `The ${name === "status" ? "number" : name} of status ${statuses[Number(index)]!.status}`;
};
