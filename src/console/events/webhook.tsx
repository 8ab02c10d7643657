// A webhook: its state, its deliveries, and the forms that test, change, rotate, switch and delete it.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { wrongField } from "../../common/errors.ts";
import {
  disableWebhook,
  enableWebhook,
  rotateWebhook,
  updateWebhook,
} from "../../management/events/webhook-changes.ts";
import {
  listWebhookDeliveries,
  resendWebhookDeliveries,
  testWebhook,
} from "../../management/events/webhook-deliveries.ts";
import type { Delivery } from "../../management/events/webhook-deliveries.ts";
import { deleteWebhook } from "../../management/events/webhooks.ts";
import type { Webhook } from "../../management/events/webhooks.ts";
import { ago, duration, excerpt, number } from "../frame/format.tsx";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { formValue, isChecked, link, missingRole, queryOf, queryValue } from "../frame/page.ts";
import type { ActResult, ConsoleRequest, Page } from "../frame/page.ts";
import { Empty, Fact, Facts, Pager, Section, Table } from "../frame/elements.tsx";
import { Checkbox, deleteForm, Field, Filters, Form, given, HiddenField } from "../frame/form.tsx";
import { eventsOf, findWebhook, healthOf, outcomeOf, scopeOf, subjectOf } from "./webhook-parts.tsx";
import { momentOf, numberIn } from "../frame/inputs.tsx";
import { OverlapField, secretView } from "../access/secrets.tsx";
import { CredentialField, EventsField, withWebhookLabels } from "./webhooks.tsx";

const pageSize = 20;

export const webhookPage: Page = {
  path: "/:workspaceId/webhooks/:webhookId",
  async show(visit) {
    const webhook = await findWebhook(visit), { now } = visit;
    const { id, address, format, lastSuccessAt, overlapEndsAt, createdAt } = webhook;
    const page = { limit: pageSize, cursor: queryValue(visit, "cursor"), failed: isChecked(visit, "failed") };
    const { items, nextCursor } = await visit.call(listWebhookDeliveries, { id, ...page });
    const { cursor: _, done: __, ...query } = queryOf(visit);
    return {
      title: `Webhook ${address}`,
      done: {
        created: "The webhook is created. It gets the events from now on.",
        changed: "The webhook is changed.",
        enabled: "The webhook is on. It gets the events from now on.",
        disabled: "The webhook is off.",
        resent: "The deliveries are sent again within seconds.",
        none: "There was nothing to send again.",
      },
      heading: isolated(address),
      body: (
        <>
          <Facts>
            <Fact label="State">{healthOf(webhook, now)}</Fact>
            <Fact label="Last success">{ago(lastSuccessAt, now)}</Fact>
            <Fact label="Events">{eventsOf(visit, webhook)}</Fact>
            <Fact label="Format">{format}</Fact>
            <Fact label="Scope">{scopeOf(visit, webhook)}</Fact>
            {overlapEndsAt !== null && overlapEndsAt > now && (
              <Fact label="Old secret signs until">{ago(overlapEndsAt, now)}</Fact>
            )}
            <Fact label="Created">{ago(createdAt, now)}</Fact>
            <Fact label="Id" code={id} />
          </Facts>
          <Section title="Deliveries">
            <Filters clear={page.failed ? link(visit, ["webhooks", id]) : undefined}>
              <Checkbox label="Failed only" name="failed" isChecked={page.failed} />
            </Filters>
            {items.length === 0 ? nothingYet(page.failed) : deliveriesTable(visit, id, items)}
            <Pager next={nextCursor} href={(cursor) => link(visit, ["webhooks", id], { ...query, cursor })} />
          </Section>
          {formsOf(visit, webhook)}
        </>
      ),
    };
  },
  async act(visit) {
    const todo = formValue(visit, "do") ?? "", change = Object.hasOwn(changes, todo) ? changes[todo] : undefined;
    if (change === undefined) throw wrongField("do", `one of ${Object.keys(changes).join(", ")}`);
    return await change(visit, await findWebhook(visit));
  },
};

const nothingYet = (isFiltered: boolean): Html =>
  isFiltered
    ? <Empty title="No delivery failed">Those of the last 30 days are kept.</Empty>
    : <Empty title="No delivery yet">The next event that it gets will be here, or a test that you send.</Empty>;

const deliveriesTable = (visit: ConsoleRequest, id: Webhook["id"], deliveries: readonly Delivery[]): Html => (
  <Table
    caption="Deliveries"
    rows={deliveries}
    columns={[
      {
        label: "Event",
        isHead: true,
        cell: ({ number, type }) => <a href={link(visit, ["webhooks", id, "deliveries", String(number)])}>{type}</a>,
      },
      { label: "About", cell: (delivery) => subjectOf(visit, delivery) },
      { label: "Outcome", cell: (delivery) => [outcomeOf(delivery), errorOf(delivery)] },
      { label: "Attempts", isNumber: true, cell: ({ attempts }) => number(attempts) },
      { label: "Took", isNumber: true, cell: ({ durationMs }) => duration(durationMs) },
      { label: "Made", cell: ({ createdAt }) => ago(createdAt, visit.now) },
      { label: "Next attempt", cell: ({ dueAt }) => ago(dueAt, visit.now) },
    ]}
  />
);

const maxError = 80; // characters

const errorOf = ({ outcome, error }: Delivery): Part =>
  error !== null && outcome !== "delivered" && <p class="hint">{excerpt(error, maxError)}</p>;

/** Forms that change a webhook, or a notice of the missing role. */
function formsOf(visit: ConsoleRequest, webhook: Webhook): Part {
  const lack = missingRole(visit, updateWebhook);
  if (lack !== undefined) return <p class="lack">{lack}</p>;
  const { events, format, disabledAt } = webhook;
  return (
    <>
      {disabledAt === null ? runningForms(visit) : (
        <Section title="Switch on">
          <ActionForm todo="enable" submit="Switch on" text="It gets the events from now on, and not those before." />
        </Section>
      )}
      <Section title="Change">
        <Form submit="Save">
          <HiddenField name="do" value="change" />
          <Field {...given(visit, "url", "URL")} type="url" hint="Stays as it is, if empty." />
          <EventsField visit={visit} stored={events} />
          {format === "github" && <CredentialField visit={visit} />}
        </Form>
      </Section>
      {format === "standard" && (
        <Section title="New secret">
          <Form submit="Make a new secret">
            <p>A new secret is shown once. Deliveries have signatures of both for a while.</p>
            <HiddenField name="do" value="rotate" />
            <OverlapField />
          </Form>
        </Section>
      )}
      {disabledAt === null && (
        <details>
          <summary>Switch off</summary>
          <ActionForm todo="disable" submit="Switch off" kind="danger" text="What is due is not sent any more." />
        </details>
      )}
      {deleteForm(visit, deleteWebhook, "webhook", "Its deliveries are removed with it, for good.")}
    </>
  );
}

/** Forms for a webhook that is on. */
const runningForms = (visit: ConsoleRequest): Html => (
  <>
    <Section title="Test">
      <ActionForm todo="test" submit="Send a test" text="An event webhook.test, whichever events the webhook gets." />
    </Section>
    <Section title="Send again">
      <Form submit="Send again" kind="plain">
        <HiddenField name="do" value="resend" />
        <Field {...given(visit, "since", "Made since (UTC)")} type="datetime-local" isRequired />
        <Checkbox label="Failed only" name="only" isChecked={!visit.form.has("since") || visit.form.has("only")} />
      </Form>
    </Section>
  </>
);

type ActionFormProps = { todo: string; submit: string; text: string; kind?: "danger" };

const ActionForm = ({ todo, submit, text, kind }: ActionFormProps): Html => (
  <Form submit={submit} kind={kind ?? "plain"}>
    <p>{text}</p>
    <HiddenField name="do" value={todo} />
  </Form>
);

/** Form actions by the words that they send. */
const changes: Record<string, (visit: ConsoleRequest, webhook: Webhook) => Promise<ActResult>> = {
  async test(visit, { id }) {
    const { number } = await visit.call(testWebhook, { id });
    return { redirect: link(visit, ["webhooks", id, "deliveries", String(number)], { done: "test" }) };
  },
  async resend(visit, { id }) {
    const since = momentOf(formValue(visit, "since"), "since"), failed = visit.form.has("only");
    const { resent } = await visit.call(resendWebhookDeliveries, { id, since, failed });
    return { redirect: link(visit, ["webhooks", id], { done: resent > 0 ? "resent" : "none" }) };
  },
  async change(visit, { id }) {
    const url = formValue(visit, "url"), credential = formValue(visit, "credential");
    const input = { id, url, credential, events: formValue(visit, "events") ?? null };
    await withWebhookLabels(() => visit.call(updateWebhook, input));
    return { redirect: link(visit, ["webhooks", id], { done: "changed" }) };
  },
  async rotate(visit, { id, address }) {
    const { secret } = await visit.call(rotateWebhook, { id, overlapMs: numberIn(visit, "overlap") ?? 0 });
    const back = link(visit, ["webhooks", id]);
    return secretView({ title: "The new secret", name: address, secret: secret!, back });
  },
  async enable(visit, { id }) {
    await visit.call(enableWebhook, { id });
    return { redirect: link(visit, ["webhooks", id], { done: "enabled" }) };
  },
  async disable(visit, { id }) {
    await visit.call(disableWebhook, { id });
    return { redirect: link(visit, ["webhooks", id], { done: "disabled" }) };
  },
  async delete(visit, { id }) {
    await visit.call(deleteWebhook, { id });
    return { redirect: link(visit, ["webhooks"], { done: "deleted" }) };
  },
};
