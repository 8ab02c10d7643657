// Shows webhooks and their deliveries on the command line. Credentials come from files, since process lists show
// arguments.
import {
  listWebhookDeliveries,
  resendWebhookDeliveries,
  testWebhook,
} from "../../management/events/webhook-deliveries.ts";
import type { Delivery } from "../../management/events/webhook-deliveries.ts";
import { rotateWebhook, updateWebhook } from "../../management/events/webhook-changes.ts";
import { createWebhook, listWebhooks } from "../../management/events/webhooks.ts";
import type { NewWebhook, Webhook } from "../../management/events/webhooks.ts";
import { show, showSecret } from "../frame/command.ts";
import type { CommandContext } from "../frame/command.ts";
import { formatElapsed, formatTime } from "../frame/format.ts";
import { present } from "../frame/operation-commands.ts";

const explanations = { credential: "A file with the token that github requires. - is standard input" };

/** The most important columns come first, because a narrow terminal shows the last ones below. */
const toRow = ({ address, events, format, lastSuccessAt, workspaceId, id, disabledReason }: Webhook) => {
  const state = disabledReason === null ? "on" : `off (${disabledReason})`;
  return { address, state, format, events: events ?? "all", lastSuccessAt, workspaceId, id };
};

const toDeliveryRow = (delivery: Delivery) => {
  const { number, createdAt, type, outcome, attempts, status, error, durationMs, dueAt } = delivery;
  const duration = durationMs === null ? null : formatElapsed(durationMs);
  return { number, createdAt, type, outcome: outcome ?? "due", attempts, status, error, duration, dueAt };
};

async function readCredential({ args, terminal }: CommandContext): Promise<{ credential?: string }> {
  const file = args.findText("credential");
  return file === undefined ? {} : { credential: (await terminal.read(file)).trim() };
}

function describeSecret({ secret, overlapEndsAt }: NewWebhook): string | undefined {
  if (secret === null) return undefined;
  const old = overlapEndsAt === null ? "" : `. The old one signs too until ${formatTime(overlapEndsAt)}`;
  return `Store the secret now: it is not shown again${old}`;
}

export const webhookPresentations = [
  present(createWebhook, {
    explanations,
    async run(context, input) {
      const created = await context.call(createWebhook, { ...input, ...await readCredential(context) });
      return showSecret("secret", created, describeSecret(created));
    },
  }),
  present(updateWebhook, {
    explanations,
    check: (args) =>
      ["url", "events", "credential"].every((name) => args.findText(name) === undefined)
        ? "Nothing to change: set --url, --events or --credential"
        : undefined,
    async run(context, input) {
      return { data: await context.call(updateWebhook, { ...input, ...await readCredential(context) }) };
    },
  }),
  present(rotateWebhook, { show: (webhook) => showSecret("secret", webhook, describeSecret(webhook)) }),
  present(listWebhooks, { row: toRow }),
  present(listWebhookDeliveries, { row: toDeliveryRow }),
  present(testWebhook, {
    show: (made) => show(made, "The service sends it within seconds: see webhook deliveries"),
  }),
  present(resendWebhookDeliveries, {
    check: (args) =>
      (args.findNumber("delivery") === undefined) === (args.findNumber("since") === undefined)
        ? "Give either --delivery or --since"
        : undefined,
    show: (made) =>
      show(
        made,
        made.resent > 0
          ? "The service sends again within seconds: see webhook deliveries"
          : "Nothing to send again: see webhook deliveries",
      ),
  }),
];
