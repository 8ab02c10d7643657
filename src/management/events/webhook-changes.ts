// Changes of webhooks: their address and events, their secret, and whether they are on.
import { bounds } from "../../support/bounds.ts";
import { conflict, invalidField } from "../../common/errors.ts";
import type { Statement } from "../../database/database.ts";
import { integer } from "../../database/row.ts";
import { option, optional } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { actionsOf } from "../kernel/event-types.ts";
import { operation } from "../kernel/operation.ts";
import type { Management } from "../kernel/operation.ts";
import { updateOf } from "../kernel/table.ts";
import { stopAll, stopFirst } from "./webhook-leftovers.ts";
import { credential, events, issue, NewWebhook, passOver, readUrl, requireWebhook, url, Webhook } from "./webhooks.ts";
import type { reasons } from "./webhooks.ts";

const maxSecrets = bounds.secretsOfWebhook;
const day = 86_400_000; // ms

/** Stores the members of a webhook that an action changes, with its entry in the audit log. */
async function change(
  management: Management,
  action: string,
  before: Webhook,
  changed: Partial<Webhook>,
  statements: Statement[] = [],
): Promise<Webhook> {
  const { id, workspaceId } = before, after = { ...before, ...changed };
  const update = Object.keys(changed).length === 0 ? [] : [updateOf("webhooks", id, changed)];
  await management.commit([{ action, id, workspaceId, before, after }], [...update, ...statements]);
  return after;
}

export const updateWebhook = operation({
  id: "updateWebhook",
  summary: "Change the address, the events or the credential of a webhook",
  method: "PATCH",
  path: "/webhooks/{id}",
  role: "admin",
  command: "webhook update ID [--url URL] [--events TYPES] [--credential FILE]",
  input: {
    id: v.webhookId,
    url: option(url, "Where to send events. With github the credential must be given too"),
    events: optional(events),
    credential: optional(credential),
  },
  output: Webhook,
  async run(management, { id, url: given, events, credential }) {
    const before = await requireWebhook(management, id);
    if (before.format !== "github" && credential !== undefined) {
      throw invalidField("credential", "Only github takes a credential");
    }
    // Whoever changes the address could otherwise have the stored credential sent there.
    if (before.format === "github" && given !== undefined && credential === undefined) {
      throw invalidField("credential", "With another URL the credential must be given too");
    }
    if (events !== undefined && events !== null) actionsOf(events, "events");
    const { url, address = before.address } = given === undefined ? {} : readUrl(management, given, before.format);
    const hidden = {
      ...url === undefined ? {} : { url, pausedUntil: 0 },
      ...credential === undefined ? {} : { credential },
    };
    const changed = { address, events: events === undefined ? before.events : events };
    return await change(management, "webhook.updated", before, changed, [
      updateOf("webhooks", id, { ...hidden, address }),
    ]);
  },
});

export const rotateWebhook = operation({
  id: "rotateWebhook",
  summary:
    "Replace the secret of a webhook. The new one is shown only once. Deliveries have signatures of both until the overlap ends",
  method: "POST",
  path: "/webhooks/{id}/rotate",
  conflicts: true,
  role: "admin",
  command: "webhook rotate ID [--overlap DURATION]",
  input: {
    id: v.webhookId,
    overlapMs: option(v.period, "How long the previous secrets sign too, in milliseconds", { default: day }),
  },
  output: NewWebhook,
  async run(management, { id, overlapMs = day }) {
    const before = await requireWebhook(management, id), now = management.clock();
    if (before.format !== "standard") throw conflict(`Webhook ${id} has no secret: ${before.format} has no signature`);
    const [row] = await management.database.read({
      sql: "select count(*) as secrets from webhook_secrets where webhook_id = ? and coalesce(expires_at, ?2) >= ?2",
      args: [id, now],
    });
    if (overlapMs > 0 && integer(row!, "secrets") >= maxSecrets) {
      throw conflict(`Webhook ${id} has ${maxSecrets} valid secrets: rotate it with an overlap of 0`);
    }
    const end = now + overlapMs, { secret, added } = issue(id);
    const overlapEndsAt = overlapMs > 0 ? end : null;
    const rotated = await change(management, "webhook.rotated", before, { overlapEndsAt }, [
      {
        sql: "update webhook_secrets set expires_at = min(coalesce(expires_at, :end), :end) where webhook_id = :id",
        args: { id, end },
      },
      { sql: "delete from webhook_secrets where webhook_id = ? and expires_at <= ?", args: [id, now] },
      added,
    ]);
    return { ...rotated, secret };
  },
});

export const enableWebhook = operation({
  id: "enableWebhook",
  summary: "Switch a webhook on again. It gets the events from now on",
  method: "POST",
  path: "/webhooks/{id}/enable",
  role: "admin",
  command: "webhook enable ID",
  input: { id: v.webhookId },
  output: Webhook,
  async run(management, { id }) {
    const before = await requireWebhook(management, id);
    if (before.disabledAt === null) return before;
    await stopAll(management.database, id);
    const on = { disabledAt: null, disabledReason: null };
    return await change(management, "webhook.enabled", before, on, [
      passOver(id),
      updateOf("webhooks", id, { pausedUntil: 0 }),
    ]);
  },
});

/** Switches a webhook off. Due deliveries are not sent any more. */
export async function disable(management: Management, before: Webhook, reason: (typeof reasons)[number]) {
  if (before.disabledAt !== null) return before;
  const off = { disabledAt: management.clock(), disabledReason: reason };
  const after = await change(management, "webhook.disabled", before, off, [stopFirst(before.id)]);
  return { ...after, oldestDueAt: null };
}

export const disableWebhook = operation({
  id: "disableWebhook",
  summary: "Switch a webhook off. Pending events are no longer sent",
  method: "POST",
  path: "/webhooks/{id}/disable",
  role: "admin",
  command: "webhook disable ID",
  input: { id: v.webhookId },
  output: Webhook,
  run: async (management, { id }) => await disable(management, await requireWebhook(management, id), "user"),
});

export const webhookChangeOperations = [updateWebhook, rotateWebhook, enableWebhook, disableWebhook] as const;
