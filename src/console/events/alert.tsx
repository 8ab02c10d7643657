// An alert: its state, its last check, its history, and the forms that mute, change and delete it.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { notFound, wrongField } from "../../common/errors.ts";
import type { AlertId } from "../../common/ids.ts";
import { muteAlert, unmuteAlert, updateAlert } from "../../management/events/alert-changes.ts";
import { deleteAlert, readAlert } from "../../management/events/alerts.ts";
import type { AlertWithChanges } from "../../management/events/alerts.ts";
import { ago, dash, duration, durationText, number } from "../frame/format.tsx";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { formValue, link, missingRole, workspaceOf } from "../frame/page.ts";
import type { ActResult, ConsoleRequest, Page } from "../frame/page.ts";
import { alertState, lastValue, watchedBy } from "./alert-parts.tsx";
import { Empty, Fact, Facts, Section, Table } from "../frame/elements.tsx";
import { deleteForm, Form, HiddenField, NoteField, Select } from "../frame/form.tsx";
import { ConditionField, CountingFields, definitionIn, withAlertLabels } from "./alerts.tsx";
import { numberIn } from "../frame/inputs.tsx";

export const alertPage: Page = {
  path: "/:workspaceId/alerts/:alertId",
  async show(visit) {
    const alert = await findAlert(visit), { now } = visit;
    const { id, condition, overMs, atLeast, keepFiringMs, records, stateAt, checkedAt, createdAt } = alert;
    return {
      title: `Alert ${condition}`,
      done: {
        created: "The alert is created. Its first check is within a minute.",
        changed: "The alert is changed.",
        muted: "The alert is muted.",
        unmuted: "The alert is no longer muted.",
      },
      heading: condition,
      body: (
        <>
          <Facts>
            <Fact label="State">{alertState(alert, now)}</Fact>
            <Fact label="Since">{ago(stateAt, now)}</Fact>
            <Fact label="Value">{lastValue(alert)}</Fact>
            <Fact label="Of records">{records === null ? dash : number(records)}</Fact>
            <Fact label="Last check">{ago(checkedAt, now)}</Fact>
            <Fact label="Watches">{watchedBy(visit, alert)}</Fact>
            <Fact label="Window">{duration(overMs)}</Fact>
            <Fact label="Records at least">{atLeast === null ? dash : number(atLeast)}</Fact>
            <Fact label="Resolves after">{duration(keepFiringMs)}</Fact>
            <Fact label="Created">{ago(createdAt, now)}</Fact>
            <Fact label="Id" code={id} />
          </Facts>
          <Section title="History" aside={<a href={link(visit, ["audit"], { target: id })}>In the audit log</a>}>
            {historyOf(visit, alert)}
          </Section>
          {formsOf(visit, alert)}
        </>
      ),
    };
  },
  async act(visit) {
    const todo = formValue(visit, "do") ?? "", change = Object.hasOwn(changes, todo) ? changes[todo] : undefined;
    if (change === undefined) throw wrongField("do", `one of ${Object.keys(changes).join(", ")}`);
    return await change(visit, await findAlert(visit));
  },
};

/** The alert in the path, which must be of the workspace in the path. */
async function findAlert(visit: ConsoleRequest): Promise<AlertWithChanges> {
  const id = visit.params.alertId as AlertId, alert = await visit.call(readAlert, { id });
  if (alert.workspaceId !== workspaceOf(visit).id) throw notFound("Alert", id);
  return alert;
}

function historyOf(visit: ConsoleRequest, { changes }: AlertWithChanges): Html {
  if (changes.length === 0) return <Empty title="Nothing yet">When it fires or resolves, it will be here.</Empty>;
  return (
    <Table
      caption="History"
      rows={changes}
      columns={[
        { label: "When", cell: ({ at }) => ago(at, visit.now) },
        { label: "What", isHead: true, isWhole: true, cell: ({ action }) => action.replace("alert.", "") },
        { label: "Who", cell: ({ actor }) => isolated(actor) },
        { label: "Why", isMain: true, cell: ({ note }) => isolated(note) },
      ]}
    />
  );
}

const hour = 3_600_000; // ms
const mutes = [1, 4, 24, 7 * 24].map((hours) => [String(hours * hour), durationText(hours * hour)] as const);

/** Forms that change an alert, or a notice of the missing role. */
function formsOf(visit: ConsoleRequest, alert: AlertWithChanges): Part {
  const lack = missingRole(visit, updateAlert);
  if (lack !== undefined) return <p class="lack">{lack}</p>;
  const isMuted = alert.muteEndsAt !== null && alert.muteEndsAt > visit.now;
  return (
    <>
      <Section title="Mute">
        {isMuted
          ? (
            <Form submit="Unmute" kind="plain">
              <HiddenField name="do" value="unmute" />
            </Form>
          )
          : (
            <Form submit="Mute" kind="plain">
              <p>It is still checked, but neither fires nor resolves.</p>
              <HiddenField name="do" value="mute" />
              <Select label="For" name="forMs" value={visit.form.get("forMs")} options={mutes} />
              <NoteField visit={visit} />
            </Form>
          )}
      </Section>
      <Section title="Change">
        <Form submit="Save">
          <p>If it fires, it resolves, and is checked anew.</p>
          <HiddenField name="do" value="change" />
          <ConditionField visit={visit} alert={alert} />
          <CountingFields visit={visit} alert={alert} />
        </Form>
      </Section>
      {deleteForm(visit, deleteAlert, "alert", "It is removed for good. If it fires, it resolves first.")}
    </>
  );
}

/** Form actions by the words that they send. */
const changes: Record<string, (visit: ConsoleRequest, alert: AlertWithChanges) => Promise<ActResult>> = {
  async mute(visit, { id }) {
    await visit.call(muteAlert, { id, forMs: numberIn(visit, "forMs"), note: formValue(visit, "note") });
    return { redirect: link(visit, ["alerts", id], { done: "muted" }) };
  },
  async unmute(visit, { id }) {
    await visit.call(unmuteAlert, { id });
    return { redirect: link(visit, ["alerts", id], { done: "unmuted" }) };
  },
  async change(visit, { id }) {
    await withAlertLabels(() => visit.call(updateAlert, { id, ...definitionIn(visit) }));
    return { redirect: link(visit, ["alerts", id], { done: "changed" }) };
  },
  async delete(visit, { id }) {
    await visit.call(deleteAlert, { id });
    return { redirect: link(visit, ["alerts"], { done: "deleted" }) };
  },
};
