// The deliveries of webhooks: each event that one gets, and its outcome. They stay for 30 days.
import { invalidField, notFound } from "../../common/errors.ts";
import type { WebhookId } from "../../common/ids.ts";
import { readPage } from "../../database/page.ts";
import { integer, readerOf } from "../../database/row.ts";
import { described, exactly, oneOf, option, orNull, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { EventSubject } from "./events.ts";
import type { Event } from "./events.ts";
import { listOperation } from "../kernel/declare.ts";
import { operation, pageOf } from "../kernel/operation.ts";
import type { Management } from "../kernel/operation.ts";
import { isActive, nextNumber, requireEnabled, requireWebhook } from "./webhooks.ts";

export const Delivery = shape("WebhookDelivery", {
  number: described(v.positive, "Its number, from 1 for each webhook, in the order of the events"),
  eventId: described(v.text, "The id of the event, which is the webhook-id of every attempt"),
  type: described(v.text, "The type of the event"),
  subject: EventSubject,
  path: orNull(v.text, "Where the console shows what the event is about, below the address of the console, or null"),
  createdAt: v.timestamp,
  attempts: described(v.count, "How many attempts there were, since it was last sent again"),
  dueAt: described(v.moment, "When the next attempt is due, in Unix milliseconds. Null if there is none"),
  outcome: orNull(
    oneOf("delivered", "failed", "stopped"),
    "failed: after the last attempt. stopped: the webhook was switched off before. Null while an attempt is due",
  ),
  lastAt: described(v.moment, "When the last attempt began, in Unix milliseconds, or null"),
  status: orNull(v.count, "The status of the last response. Null if there was none"),
  response: orNull(v.text, "Its beginning, at most 1024 characters. The URL and the credential are masked"),
  error: orNull(v.text, "What kept the last attempt from a response, or null"),
  durationMs: orNull(v.count, "How long the last attempt took, in milliseconds, or null"),
});
export type Delivery = Infer<typeof Delivery>;

const toDelivery = readerOf(Delivery);

const columns =
  `number, event_id, type, event -> '$.subject' as subject, event ->> '$.path' as path, created_at, attempts, iif(due_at = 0, created_at, due_at) as due_at, outcome,
  last_at, status, response, error, duration_ms`;

/** True if the last attempt of a delivery failed, or it was stopped before. */
const hasFailed = "outcome is not 'delivered' and (attempts > 0 or outcome is not null)";

const failed = option(v.boolean, "Whether to take only those whose last attempt failed, or that were stopped", {
  default: false,
});

export const listWebhookDeliveries = listOperation({
  id: "listWebhookDeliveries",
  summary: "List the deliveries of a webhook in the last 30 days, newest first",
  path: "/webhooks/{id}/deliveries",
  command: "webhook deliveries ID [--failed]",
  input: { id: v.webhookId, failed, ...v.numberedPage },
  output: pageOf(Delivery),
  async run(management, { id, failed = false, ...page }) {
    await requireWebhook(management, id);
    const query = ({ cursor, rows }: { cursor: string | null; rows: number }) => ({
      sql: `select ${columns} from webhook_deliveries
        where webhook_id = :id and number < :before and (not :failed or ${hasFailed}) order by number desc limit :rows`,
      args: { id, failed: Number(failed), before: Number(cursor ?? Number.MAX_SAFE_INTEGER), rows },
    });
    return await readPage(management.database, page, query, toDelivery, ({ number }) => number);
  },
});

/** An event without a change, only for tests. */
const testEvent = ({ caller, clock }: Management, id: WebhookId, workspaceId: Event["workspaceId"]): Event => ({
  id: `evt_${crypto.randomUUID().replaceAll("-", "")}`,
  position: 0,
  type: "webhook.test",
  createdAt: clock(),
  workspaceId,
  subject: { noun: "webhook", id, name: null },
  ...{ from: null, to: null, before: null, after: null },
  ...{ source: caller.source, actor: caller.actor, note: "", origin: null, path: null },
});

const Numbered = exactly({ number: described(v.positive, "The number of the delivery") });

export const testWebhook = operation({
  id: "testWebhook",
  summary: "Send a webhook.test event to a webhook, regardless of its event types",
  method: "POST",
  path: "/webhooks/{id}/test",
  conflicts: true,
  role: "admin",
  command: "webhook test ID",
  input: { id: v.webhookId },
  output: Numbered,
  async run(management, { id }) {
    const { workspaceId } = await requireEnabled(management, id);
    const event = testEvent(management, id, workspaceId);
    const args = { id, eventId: event.id, type: event.type, event: JSON.stringify(event), now: event.createdAt };
    const [rows] = await management.database.write([{
      sql: `insert into webhook_deliveries (webhook_id, number, event_id, type, event, created_at, due_at)
        select w.id, ${nextNumber}, :eventId, :type, :event, :now, 0 from webhooks w where w.id = :id and ${isActive}
        returning number`,
      args,
    }]);
    const [row] = rows!;
    if (row === undefined) throw notFound("Webhook", id);
    return { number: integer(row, "number") };
  },
});

const resendBatch = 1_000; // deliveries in one transaction, which takes some milliseconds
const newestNumber = "select coalesce(max(number), 0) as number from webhook_deliveries where webhook_id = ?";

const Resent = exactly({ resent: described(v.count, "How many deliveries are sent again") });

export const resendWebhookDeliveries = operation({
  id: "resendWebhookDeliveries",
  summary: "Send deliveries of a webhook again: one, or all since a time",
  method: "POST",
  path: "/webhooks/{id}/resend",
  conflicts: true,
  role: "admin",
  command: "webhook resend ID [--delivery N] [--since TIME] [--failed]",
  input: {
    id: v.webhookId,
    delivery: option(v.positive, "The number of one delivery"),
    since: option(v.timestamp, "All that were made since this time, in Unix milliseconds"),
    failed,
  },
  output: Resent,
  async run(management, { id, delivery = null, since = null, failed = false }) {
    await requireEnabled(management, id);
    if ((delivery === null) === (since === null)) {
      throw invalidField("delivery", "Give either the delivery or since");
    }
    const { database } = management;
    const [row] = await database.read({ sql: newestNumber, args: [id] });
    const newest = integer(row!, "number");
    // In the order of the numbers: none is sent again twice.
    for (let resent = 0, last = 0;;) {
      const [rows] = await database.write([{
        sql: `update webhook_deliveries set due_at = 0, attempts = 0, outcome = null
          where webhook_id = (select w.id from webhooks w where w.id = :id and ${isActive}) and number in (
            select number from webhook_deliveries where webhook_id = :id and number > :last and number <= :newest
              and (number = :delivery or created_at >= :since) and (not :failed or ${hasFailed})
              and (attempts > 0 or outcome is not null)
            order by number limit ${resendBatch}
          ) returning number`,
        args: { id, delivery, since, failed: Number(failed), last, newest },
      }]);
      resent += rows!.length;
      if (rows!.length < resendBatch) return { resent };
      last = rows!.reduce((most, row) => Math.max(most, integer(row, "number")), last);
    }
  },
});

export const deliveryOperations = [testWebhook, listWebhookDeliveries, resendWebhookDeliveries] as const;
