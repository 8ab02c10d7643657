// The webhooks of a workspace and those for all, their states, and the form that creates one.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { createWebhook, listWebhooks } from "../../management/events/webhooks.ts";
import type { Format, Webhook } from "../../management/events/webhooks.ts";
import { ago, excerpt } from "../frame/format.tsx";
import { Fragment, h, isolated } from "../frame/html.ts";
import type { Html } from "../frame/html.ts";
import { formValue, link, queryValue, workspaceOf } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { Empty, Pager, Section, Table } from "../frame/elements.tsx";
import { faultAt, Field, Form, given, Guarded, Select } from "../frame/form.tsx";
import { healthOf, scopeOf } from "./webhook-parts.tsx";
import { withLabels } from "../frame/inputs.tsx";
import { secretView } from "../access/secrets.tsx";

const pageSize = 25;
const maxEvents = 60; // characters

const formats = [
  ["standard", "Standard Webhooks, signed"],
  ["github", "GitHub repository_dispatch"],
  ["slack", "Slack message"],
] as const;

/** Labels of the fields, by members of the operations. */
const labels: Record<string, string> = { url: "URL", events: "Events", credential: "GitHub token" };

/** Makes a change. A refusal names fields as the forms do. */
export const withWebhookLabels = <T,>(change: () => Promise<T>): Promise<T> =>
  withLabels((path) => labels[path], change, { workspaceId: "where" });

export const webhooksPage: Page = {
  path: "/:workspaceId/webhooks",
  async show(visit) {
    const page = { limit: pageSize, cursor: queryValue(visit, "cursor") };
    const { items, nextCursor } = await visit.call(listWebhooks, { workspaceId: workspaceOf(visit).id, ...page });
    return {
      title: "Webhooks",
      done: { deleted: "The webhook is deleted." },
      heading: "Webhooks",
      lede: "Programs elsewhere get events as they happen: promotions, new versions, new keys and all other changes.",
      body: (
        <>
          {items.length === 0
            ? <Empty title="No webhook yet">Create one to have another program informed of what happens here.</Empty>
            : webhooksTable(visit, items)}
          <Pager next={nextCursor} href={(cursor) => `?cursor=${cursor}`} />
          <Section title="New webhook">
            <Guarded visit={visit} operation={createWebhook}>{newForm(visit)}</Guarded>
          </Section>
        </>
      ),
    };
  },
  async act(visit) {
    const isForAll = formValue(visit, "where") === "all" && visit.caller.workspaceId === undefined;
    const { id, address, secret } = await withWebhookLabels(() =>
      visit.call(createWebhook, {
        url: formValue(visit, "url") ?? "",
        events: formValue(visit, "events") ?? null,
        format: (formValue(visit, "format") ?? "standard") as Format,
        credential: formValue(visit, "credential"),
        ...isForAll ? {} : { workspaceId: workspaceOf(visit).id },
      })
    );
    if (secret === null) return { redirect: link(visit, ["webhooks", id], { done: "created" }) };
    return secretView({
      ...{ title: "The new webhook", name: address, secret, back: link(visit, ["webhooks", id]) },
      children: <p>Deliveries are signed with it. The receiver verifies them by a library of Standard Webhooks.</p>,
    });
  },
};

const webhooksTable = (visit: ConsoleRequest, webhooks: readonly Webhook[]): Html => (
  <Table
    caption="Webhooks"
    rows={webhooks}
    columns={[
      {
        label: "Address",
        isHead: true,
        cell: ({ id, address }) => <a href={link(visit, ["webhooks", id])}>{isolated(address)}</a>,
      },
      { label: "State", cell: (webhook) => healthOf(webhook, visit.now) },
      { label: "Events", isMain: true, cell: ({ events }) => events === null ? "all" : excerpt(events, maxEvents) },
      { label: "Scope", cell: (webhook) => scopeOf(visit, webhook) },
      { label: "Last success", cell: ({ lastSuccessAt }) => ago(lastSuccessAt, visit.now) },
    ]}
  />
);

/** The field for the types of events. `stored` is what the webhook has. */
export const EventsField = ({ visit, stored }: { visit: ConsoleRequest; stored?: string | null }): Html => (
  <Field
    {...given(visit, "events", labels.events!, stored)}
    placeholder="deployment.*,prompt.version_published"
    hint={
      <>
        <a href={link(visit, ["audit", "types"])}>Types</a>, separated by commas. All, if empty.
      </>
    }
  />
);

/** The field for what GitHub asks for. A page never has its value. */
export const CredentialField = ({ visit }: { visit: ConsoleRequest }): Html => (
  <Field
    label={labels.credential!}
    name="credential"
    {...faultAt(visit, "credential")}
    hint="Only for GitHub: it may dispatch events to the repository."
  />
);

const newForm = (visit: ConsoleRequest): Html => (
  <Form submit="Create webhook">
    <Field
      {...given(visit, "url", labels.url!)}
      type="url"
      isRequired
      hint="Where to send events by POST. After this, pages show its origin alone."
    />
    <EventsField visit={visit} />
    <div class="row">
      <Select {...given(visit, "format", "Format")} options={formats} />
      <CredentialField visit={visit} />
      {visit.caller.workspaceId === undefined && (
        <Select
          {...given(visit, "where", "Scope", "here")}
          options={[["here", `Only ${workspaceOf(visit).name}`], ["all", "All workspaces"]]}
        />
      )}
    </div>
  </Form>
);
