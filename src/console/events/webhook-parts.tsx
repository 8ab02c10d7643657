// Parts of a webhook: its state, its events, and the outcome of a delivery.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { notFound } from "../../common/errors.ts";
import type { WebhookId, WorkspaceId } from "../../common/ids.ts";
import type { Delivery } from "../../management/events/webhook-deliveries.ts";
import { listWebhooks, readWebhook } from "../../management/events/webhooks.ts";
import type { Webhook } from "../../management/events/webhooks.ts";
import { ago, counted, excerpt } from "../frame/format.tsx";
import { breakable, Fragment, h, isolated } from "../frame/html.ts";
import type { Html, Part } from "../frame/html.ts";
import { link } from "../frame/page.ts";
import type { ConsoleRequest } from "../frame/page.ts";
import { Chip } from "../frame/chips.tsx";
import { Notice } from "../frame/elements.tsx";

/** The webhook in the path: one of the workspace in the path, or for all. */
export async function findWebhook(visit: ConsoleRequest): Promise<Webhook> {
  const id = visit.params.webhookId as WebhookId, webhook = await visit.call(readWebhook, { id });
  if (webhook.workspaceId !== null && webhook.workspaceId !== visit.workspace?.id) throw notFound("Webhook", id);
  return webhook;
}

/** Reasons for a webhook being off. */
const causes: Record<NonNullable<Webhook["disabledReason"]>, string> = {
  user: "switched off by someone",
  gone: "its receiver is gone",
  failing: "deliveries failed for days",
};

const mostWebhooks = 200; // as many as get the events of a workspace

/** Warns of webhooks that were switched off because of their receivers; false without any. */
export async function brokenWebhooks(visit: ConsoleRequest, workspaceId: WorkspaceId): Promise<Part> {
  const { items } = await visit.call(listWebhooks, { workspaceId, limit: mostWebhooks });
  const broken = items.filter(({ disabledReason: reason }) => reason === "gone" || reason === "failing");
  return broken.length > 0 && (
    <Notice kind="warning">
      <a href={link(visit, ["webhooks"])}>{counted(broken.length, "webhook")}</a> {broken.length === 1 ? "is" : "are"}
      {" "}
      off, because deliveries failed.
    </Notice>
  );
}

/** State of a webhook: on, or why it is off, or the age of the oldest event that is due. */
export function healthOf({ disabledAt, disabledReason, oldestDueAt }: Webhook, now: number): Html {
  if (disabledReason !== null) {
    return (
      <>
        <Chip kind={disabledReason === "user" ? "off" : "bad"}>off</Chip>
        <p class="hint">{causes[disabledReason]} {ago(disabledAt, now)}</p>
      </>
    );
  }
  return (
    <>
      <Chip kind="live">on</Chip>
      {oldestDueAt !== null && <p class="hint">oldest undelivered event {ago(oldestDueAt, now)}</p>}
    </>
  );
}

/** The workspaces whose events a webhook gets. */
export const scopeOf = (visit: ConsoleRequest, { workspaceId }: Webhook): Part =>
  workspaceId === null ? "all workspaces" : isolated(visit.workspace?.name ?? workspaceId);

/** The types of the events that a webhook gets, with a link to those that have happened. */
export const eventsOf = (visit: ConsoleRequest, { workspaceId, events }: Webhook): Html => (
  <a href={link(visit, ["audit"], { action: events, everywhere: workspaceId === null ? "yes" : "" })}>
    {events === null ? "all" : events.split(",").map((type, nth) => [nth > 0 && ", ", breakable(type)])}
  </a>
);

/** The outcome of a delivery. */
export function outcomeOf({ outcome, attempts, status }: Delivery): Html {
  const answered = status !== null && ` ${status}`;
  if (outcome === "delivered") return <Chip kind="live">delivered{answered}</Chip>;
  if (outcome === "stopped") return <Chip kind="off">stopped{answered}</Chip>;
  if (outcome === "failed") return <Chip kind="bad">failed{answered}</Chip>;
  return attempts === 0 ? <Chip>due</Chip> : <Chip kind="bad">retrying{answered}</Chip>;
}

const maxName = 80; // characters

/** Subject of a delivery's event, with a link to it. */
export function subjectOf({ root }: ConsoleRequest, { subject, path }: Delivery): Part {
  const name = subject.name ?? subject.id;
  if (name === null) return subject.noun;
  return path === null ? excerpt(name, maxName) : <a href={root + path}>{excerpt(name, maxName)}</a>;
}
