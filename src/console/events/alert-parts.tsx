// Parts of an alert: its state, its subject, and the result of its last check.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { readCondition, valueText } from "../../management/events/alert-conditions.ts";
import { listAlerts } from "../../management/events/alerts.ts";
import type { Alert } from "../../management/events/alerts.ts";
import { ago, dash } from "../frame/format.tsx";
import { breakable, Fragment, h } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { link } from "../frame/page.ts";
import type { ConsoleRequest } from "../frame/page.ts";
import { Chip } from "../frame/chips.tsx";
import { Section, Table } from "../frame/elements.tsx";

const chips = {
  firing: <Chip kind="bad">firing</Chip>,
  ok: <Chip kind="live">ok</Chip>,
  no_data: <Chip kind="off">no data</Chip>,
};

/** The state of an alert, and until when it is muted. */
export const alertState = ({ state, muteEndsAt }: Alert, now: number): Html => (
  <>
    {chips[state]}
    {muteEndsAt !== null && muteEndsAt > now && <p class="hint">muted, ends {ago(muteEndsAt, now)}</p>}
  </>
);

/** Subject of an alert, with a link to it. */
export function watchedBy(visit: ConsoleRequest, { deployId, promptId, reference }: Alert): Part {
  if (reference === null) return "the workspace";
  const href = deployId === null ? link(visit, ["prompts", promptId!]) : link(visit, ["deployments", deployId]);
  return <a href={href}>{breakable(reference)}</a>;
}

/** Value of the last check of an alert. */
export const lastValue = ({ condition, value }: Alert): Part =>
  value === null ? dash : valueText(readCondition(condition), value);

/** A condition, which leads to its alert. */
export const alertLink = (visit: ConsoleRequest, { id, condition }: Alert): Html => (
  <a href={link(visit, ["alerts", id])}>{condition}</a>
);

const mostFiring = 100; // as many alerts as a workspace has

/** A section about firing alerts; empty without any. */
export async function firingAlerts(visit: ConsoleRequest, workspaceId: Alert["workspaceId"]): Promise<Part> {
  const { items } = await visit.call(listAlerts, { workspaceId, state: "firing", limit: mostFiring });
  if (items.length === 0) return undefined;
  return (
    <Section title="Firing" aside={<a href={link(visit, ["alerts"])}>All alerts</a>}>
      <Table
        caption="Alerts that fire"
        rows={items}
        columns={[
          { label: "Condition", isHead: true, cell: (alert) => alertLink(visit, alert) },
          { label: "State", cell: (alert) => alertState(alert, visit.now) },
          { label: "Watches", isMain: true, cell: (alert) => watchedBy(visit, alert) },
          { label: "Value", isNumber: true, cell: lastValue },
          { label: "Since", cell: ({ stateAt }) => ago(stateAt, visit.now) },
        ]}
      />
    </Section>
  );
}
