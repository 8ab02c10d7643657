// The alerts of a workspace with their states, and the form that creates one.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { createAlert, listAlerts } from "../../management/events/alerts.ts";
import type { Alert } from "../../management/events/alerts.ts";
import type { DeploymentId, PromptId } from "../../common/ids.ts";
import { ago, duration, durationText } from "../frame/format.tsx";
import { Fragment, h } from "../frame/html.ts";
import type { Html } from "../frame/html.ts";
import { formValue, link, queryValue, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { Empty, Pager, Section, Table } from "../frame/elements.tsx";
import { Field, Form, given, Guarded, Select } from "../frame/form.tsx";
import { alertLink, alertState, lastValue, watchedBy } from "./alert-parts.tsx";
import { findOffered, numberIn, withLabels } from "../frame/inputs.tsx";
import type { Offered } from "../frame/inputs.tsx";

const pageSize = 40;

/** Labels of the fields, by members of the operations. */
const labels: Record<string, string> = {
  condition: "Condition",
  overMs: "Window",
  atLeast: "Records at least",
  keepFiringMs: "Resolve after",
  deployId: "Watches",
  promptId: "Watches",
};

/** Makes a change. A refusal names fields as the forms do. */
export const withAlertLabels = <T,>(change: () => Promise<T>): Promise<T> =>
  withLabels((path) => labels[path], change, { deployId: "watched", promptId: "watched" });

export const alertsPage: Page = {
  path: "/:workspaceId/alerts",
  async show(visit) {
    const { id: workspaceId } = workspaceOf(visit);
    const page = { limit: pageSize, cursor: queryValue(visit, "cursor") };
    const { items, nextCursor } = await visit.call(listAlerts, { workspaceId, ...page });
    const offered = await findOffered(visit);
    return {
      title: "Alerts",
      done: { deleted: "The alert is deleted." },
      heading: "Alerts",
      lede: "Each is checked every minute. When one fires or resolves, the overview and webhooks say so.",
      body: (
        <>
          {items.length === 0
            ? (
              <Empty title="No alert yet">
                Create one to hear of failures, slow or expensive records, and silence.
              </Empty>
            )
            : alertsTable(visit, items)}
          <Pager next={nextCursor} href={(cursor) => `?cursor=${cursor}`} />
          <Section title="New alert">
            <Guarded visit={visit} operation={createAlert}>
              <Form submit="Create alert">
                <div class="row">
                  <ConditionField visit={visit} />
                  <WatchedField visit={visit} offered={offered} />
                </div>
                <CountingFields visit={visit} />
              </Form>
            </Guarded>
          </Section>
        </>
      ),
    };
  },
  async act(visit) {
    const { id: workspaceId } = workspaceOf(visit);
    const { id } = await withAlertLabels(() =>
      visit.call(createAlert, { workspaceId, ...watchedIn(visit), ...definitionIn(visit) })
    );
    return { redirect: link(visit, ["alerts", id], { done: "created" }) };
  },
};

const alertsTable = (visit: ConsoleRequest, alerts: readonly Alert[]): Html => (
  <Table
    caption="Alerts"
    rows={alerts}
    columns={[
      { label: "Condition", isHead: true, cell: (alert) => alertLink(visit, alert) },
      { label: "State", cell: (alert) => alertState(alert, visit.now) },
      { label: "Watches", isMain: true, cell: (alert) => watchedBy(visit, alert) },
      { label: "Window", cell: ({ overMs }) => duration(overMs) },
      { label: "Value", isNumber: true, cell: lastValue },
      { label: "Since", cell: ({ stateAt }) => ago(stateAt, visit.now) },
    ]}
  />
);

type FieldProps = { visit: ConsoleRequest; alert?: Alert };

export const ConditionField = ({ visit, alert }: FieldProps): Html => (
  <Field
    {...given(visit, "condition", labels.condition!, alert?.condition)}
    isRequired
    placeholder="failures>5%"
    hint="A measure or a name of feedback, as in p95>4s, cost>1, cost>0.02/record, thumb<80%, records<1."
  />
);

/** Choice of the alert's subject; a text if there are many deployments. */
function WatchedField({ visit, offered: { deployments, isWhole } }: { visit: ConsoleRequest; offered: Offered }): Html {
  const field = given(visit, "watched", labels.deployId!);
  if (!isWhole) {
    return <Field {...field} hint="A deployment such as support/assistant@production, or a prompt. Empty for all." />;
  }
  const prompts = new Map(
    deployments.map(({ promptId, reference, name }) => [promptId, reference.slice(0, -name.length - 1)] as const),
  );
  return (
    <Select
      {...field}
      options={[
        ["", "The workspace"],
        ...deployments.map(({ id, reference }) => [id, reference] as const),
        ...[...prompts].map(([id, name]) => [id, `All of ${name}`] as const),
      ]}
    />
  );
}

const watchedIn = (visit: ConsoleRequest) => {
  const watched = formValue(visit, "watched");
  if (watched === undefined) return {};
  return watched.includes("@") || watched.startsWith("dep_")
    ? { deployId: watched as DeploymentId }
    : { promptId: watched as PromptId };
};

const minute = 60_000, hour = 60 * minute, day = 24 * hour; // ms
const windows = [5 * minute, 15 * minute, 30 * minute, hour, 3 * hour, 6 * hour, 12 * hour, day];
const delays = [0, 5 * minute, 15 * minute, hour, 6 * hour, day];

/** Durations to choose from, with the one that is stored. */
const spanOptions = (offered: readonly number[], stored?: number) =>
  [...new Set([...offered, ...stored === undefined ? [] : [stored]])].sort((a, b) => a - b)
    .map((ms) => [String(ms), ms === 0 ? "At once" : durationText(ms)] as const);

/** Window, minimum and delay of an alert. */
export const CountingFields = ({ visit, alert }: FieldProps): Html => (
  <div class="row">
    <Select
      {...given(visit, "overMs", labels.overMs!, alert?.overMs ?? 15 * minute)}
      options={spanOptions(windows, alert?.overMs)}
      hint="What it counts ends now."
    />
    <Field
      {...given(visit, "atLeast", labels.atLeast!, alert?.atLeast)}
      type="number"
      hint="For shares, means and percentiles. 50, if empty."
    />
    <Select
      {...given(visit, "keepFiringMs", labels.keepFiringMs!, alert?.keepFiringMs)}
      options={[
        ...alert === undefined ? [["", "A window, at most 1 h"]] as const : [],
        ...spanOptions(delays, alert?.keepFiringMs),
      ]}
      hint="The condition must not hold for so long."
    />
  </div>
);

/** The definition that a form sent. */
export const definitionIn = (visit: ConsoleRequest) => ({
  condition: formValue(visit, "condition") ?? "",
  overMs: numberIn(visit, "overMs"),
  atLeast: numberIn(visit, "atLeast"),
  keepFiringMs: numberIn(visit, "keepFiringMs"),
});
