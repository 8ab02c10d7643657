// A delivery of a webhook: its last attempt, the receiver's answer, and the form that sends it again.
/** @jsxRuntime classic */
/** @jsx h */
/** @jsxFrag Fragment */
import { notFound } from "../../common/errors.ts";
import { listWebhookDeliveries, resendWebhookDeliveries } from "../../management/events/webhook-deliveries.ts";
import type { Delivery } from "../../management/events/webhook-deliveries.ts";
import type { Webhook } from "../../management/events/webhooks.ts";
import { ago, dash, duration, number } from "../frame/format.tsx";
import { Fragment, h, isolated } from "../frame/html.ts";
import { link } from "../frame/page.ts";
import type { ConsoleRequest, Page } from "../frame/page.ts";
import { Fact, Facts, Section } from "../frame/elements.tsx";
import { Form, Guarded } from "../frame/form.tsx";
import { findWebhook, outcomeOf, subjectOf } from "./webhook-parts.tsx";

export const deliveryPage: Page = {
  path: "/:workspaceId/webhooks/:webhookId/deliveries/:number",
  async show(visit) {
    const webhook = await findWebhook(visit), delivery = await findDelivery(visit, webhook), { now } = visit;
    const { type, eventId, attempts, createdAt, dueAt, lastAt, durationMs, status, response, error } = delivery;
    const isWaiting = attempts === 0 && dueAt !== null;
    return {
      title: `Delivery ${delivery.number}`,
      done: {
        test: "The test is sent within seconds. Open this page again to see the response.",
        resent: "It is sent again within seconds. Open this page again to see the response.",
      },
      heading: <>{type} to {isolated(webhook.address)}</>,
      parent: { label: isolated(webhook.address), href: link(visit, ["webhooks", webhook.id]) },
      body: (
        <>
          <Facts>
            <Fact label="Outcome">{outcomeOf(delivery)}</Fact>
            <Fact label="About">{subjectOf(visit, delivery)}</Fact>
            <Fact label="Attempts">{number(attempts)}</Fact>
            <Fact label="Made">{ago(createdAt, now)}</Fact>
            <Fact label="Last attempt">{ago(lastAt, now)}</Fact>
            <Fact label="Took">{duration(durationMs)}</Fact>
            <Fact label="Next attempt">{isWaiting ? "at once" : ago(dueAt, now)}</Fact>
            <Fact label="Status">{status ?? dash}</Fact>
            <Fact label="Event" code={eventId} />
          </Facts>
          {error !== null && (
            <Section title="Error">
              <p>{isolated(error)}</p>
            </Section>
          )}
          {response !== null && (
            <Section title="Response">
              {response === ""
                ? <p class="hint">It was empty.</p>
                : <pre class="panel mono" dir="auto">{response}</pre>}
            </Section>
          )}
          {!isWaiting && webhook.disabledAt === null && (
            <Guarded visit={visit} operation={resendWebhookDeliveries}>
              <Form submit="Send again" />
            </Guarded>
          )}
        </>
      ),
    };
  },
  async act(visit) {
    const webhook = await findWebhook(visit), { number } = await findDelivery(visit, webhook);
    await visit.call(resendWebhookDeliveries, { id: webhook.id, delivery: number });
    return { redirect: link(visit, ["webhooks", webhook.id, "deliveries", String(number)], { done: "resent" }) };
  },
};

/** The delivery in the path. A list that begins behind it begins with it. */
async function findDelivery(visit: ConsoleRequest, { id }: Webhook): Promise<Delivery> {
  const { number = "" } = visit.params;
  if (/^[1-9]\d{0,14}$/.test(number)) {
    const { items: [found] } = await visit.call(listWebhookDeliveries, {
      ...{ id, limit: 1, cursor: String(Number(number) + 1) },
    });
    if (found?.number === Number(number)) return found;
  }
  throw notFound("Delivery", number);
}
