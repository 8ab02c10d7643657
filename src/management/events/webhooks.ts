// Webhooks: addresses to which a service sends events. The secret that signs is shown once. The URL may be a secret as a whole, so
// nothing that is read has more of it than its origin.
import { bounds } from "../../support/bounds.ts";
import { conflict, invalidField, notFound } from "../../common/errors.ts";
import { newId } from "../../common/ids.ts";
import type { WebhookId, WorkspaceId } from "../../common/ids.ts";
import { maxUrlLength, urlFault } from "../../support/outbound-url.ts";
import type { Database, Statement } from "../../database/database.ts";
import { integer, integerOrNull } from "../../database/row.ts";
import { described, oneOf, option, optional, orNull, predicate, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { actionsOf, typesWanted } from "../kernel/event-types.ts";
import { createOperation, listOperation } from "../kernel/declare.ts";
import { operation, pageOf } from "../kernel/operation.ts";
import type { Store } from "../kernel/operation.ts";
import { insertInto, tableOf } from "../kernel/table.ts";
import { deleteStatements } from "./webhook-leftovers.ts";

export const formats = ["standard", "github", "slack"] as const;
export type Format = (typeof formats)[number];

export const reasons = ["user", "gone", "failing"] as const;

export const events = orNull(typesWanted, "The types of its events, as in deployment.*,key.created. Null for all");
const format = described(
  oneOf(...formats),
  "standard: the event as Standard Webhooks says, signed. github: a repository_dispatch. slack: a sentence as text",
);

const webhook = {
  id: v.textAs<WebhookId>(),
  workspaceId: orNull(v.textAs<WorkspaceId>(), "The workspace whose events it gets, or null for all"),
  address: described(v.text, "The origin of the URL. The rest of it may be a secret, and is never shown"),
  events,
  format,
  createdAt: v.timestamp,
  overlapEndsAt: described(v.moment, "Until when the previous secrets sign too, in Unix milliseconds, or null"),
  lastSuccessAt: described(v.moment, "When it last took a delivery, in Unix milliseconds, or null"),
  oldestDueAt: described(
    v.moment,
    "When the oldest event came that it has not got yet, in Unix milliseconds. Null if nothing is due",
  ),
  disabledAt: described(v.moment, "When it was switched off, in Unix milliseconds. Null if it is on"),
  disabledReason: orNull(
    oneOf(...reasons),
    "Why it is off. user: somebody did it. gone: the receiver answered 410. failing: a delivery failed for days",
  ),
};
export const Webhook = shape("Webhook", webhook);
export type Webhook = Infer<typeof Webhook>;

export const NewWebhook = shape("NewWebhook", {
  ...webhook,
  secret: orNull(
    v.text,
    "What its deliveries are signed with. No other response contains it. Null if its format has no signature",
  ),
});
export type NewWebhook = Infer<typeof NewWebhook>;

// A webhook that is off has nothing due, although not all of it may be marked yet.
const oldestDueAt = `iif(disabled_at is null, (
  select created_at from webhook_deliveries where webhook_id = webhooks.id and due_at is not null order by number limit 1
), null)`;
export const webhookTable = tableOf(Webhook, `select *, ${oldestDueAt} as oldest_due_at from webhooks`);

/** Time of the oldest undelivered event of any webhook, in Unix ms. It takes one search for each webhook. */
export async function findOldestDue(database: Database): Promise<number | null> {
  const [row] = await database.read({ sql: `select min(${oldestDueAt}) as oldest from webhooks` });
  return integerOrNull(row!, "oldest");
}

export const url = predicate<string>(
  `a URL of at most ${maxUrlLength} characters`,
  (value) => typeof value === "string" && (value.length <= maxUrlLength || [...value].length <= maxUrlLength),
  { type: "string", maxLength: maxUrlLength },
);
const maxCredentialLength = 500;
export const credential = described(
  predicate<string>(
    `1 to ${maxCredentialLength} printable ASCII characters without spaces`,
    (value) => typeof value === "string" && value.length <= maxCredentialLength && /^[!-~]+$/.test(value),
    { type: "string", minLength: 1, maxLength: maxCredentialLength, pattern: "^[!-~]+$" },
  ),
  "With github: a token that may dispatch events to the repository. It is never shown",
);

/** A URL as it is stored, and its origin. Throws if nothing may be sent there. */
export function readUrl({ urlFault: faultOf = (url) => urlFault(url, []) }: Store, text: string, format: Format) {
  const fault = faultOf(text);
  if (fault !== undefined) throw invalidField("url", `The URL ${fault}`);
  const { href, origin, pathname } = new URL(text);
  if (format === "github" && !/\/repos\/[^/]+\/[^/]+\/dispatches$/.test(pathname)) {
    throw invalidField("url", "With github the URL must be https://api.github.com/repos/OWNER/REPOSITORY/dispatches");
  }
  return { url: href, address: origin };
}

/** The statement that adds a secret, and the secret: 32 random bytes in Base64. */
export function issue(webhookId: WebhookId): { secret: string; added: Statement } {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  const secret = `whsec_${btoa(String.fromCharCode(...bytes))}`;
  return { secret, added: insertInto("webhook_secrets", { webhookId, secret, expiresAt: null }) };
}

/** Passes over all events up to those of the same transaction. */
export const passOver = (id: WebhookId): Statement => ({
  sql: "update webhooks set seen = (select position from audit_head where id = 1) where id = ?",
  args: [id],
});

/** True if a webhook is on, and its workspace is not being deleted. The table is `w`. */
export const isActive = `w.disabled_at is null
  and coalesce(w.workspace_id, '') not in (select id from deleted_workspaces)`;

/** The number of the next delivery of a webhook, which is `w`. */
export const nextNumber = "(select coalesce(max(number), 0) + 1 from webhook_deliveries where webhook_id = w.id)";

export async function requireWebhook({ database }: Store, id: WebhookId): Promise<Webhook> {
  const found = await webhookTable.find(database, id);
  if (found === undefined) throw notFound("Webhook", id);
  return found;
}

/** Returns a webhook. Throws if it is off. */
export async function requireEnabled(store: Store, id: WebhookId): Promise<Webhook> {
  const found = await requireWebhook(store, id);
  if (found.disabledAt !== null) throw conflict(`Webhook ${id} is off: enable it first`, "webhook_disabled");
  return found;
}

async function requireRoom({ database }: Store, workspaceId: WorkspaceId | null): Promise<void> {
  const sql = "select count(*) as webhooks from webhooks where workspace_id is ?";
  const [row] = await database.read({ sql, args: [workspaceId] });
  if (integer(row!, "webhooks") < bounds.webhooks) return;
  const whose = workspaceId === null ? "for all workspaces" : "for one workspace";
  throw conflict(`There may be at most ${bounds.webhooks} webhooks ${whose}: delete one first`, "too_many_webhooks");
}

export const createWebhook = createOperation({
  id: "createWebhook",
  summary: "Create a webhook, which gets the events from now on. Its secret is shown only once",
  path: "/webhooks",
  conflicts: true,
  role: "admin",
  command: `webhook create --url URL [--events TYPES] [--format ${formats.join("|")}] [--credential FILE]`,
  input: {
    url: described(url, "Where to send events: an https URL outside private networks"),
    events: option(events, "The types of its events, as in deployment.*,key.created. Default: all"),
    format: option(format, "How events are sent", { default: "standard" }),
    credential: optional(credential),
    workspaceId: option(v.workspaceId, "The workspace whose events it gets. Default: that of the caller, or all"),
  },
  output: NewWebhook,
  locate: ({ id }) => `/webhooks/${id}`,
  isScoped: true,
  async run(management, { events = null, format = "standard", credential = null, ...input }) {
    const { caller, clock } = management;
    const { workspaceId = caller.workspaceId ?? null } = input;
    const { url, address } = readUrl(management, input.url, format);
    if (events !== null) actionsOf(events, "events");
    if (format === "github" && credential === null) {
      throw invalidField("credential", "With github a credential is required");
    }
    if (format !== "github" && credential !== null) {
      throw invalidField("credential", "Only github takes a credential");
    }
    await requireRoom(management, workspaceId);
    const createdAt = clock(), id = newId("wh", createdAt);
    const { secret, added } = issue(id);
    const isSigned = format === "standard";
    const shown = { address, events, format };
    await management.commit([{ action: "webhook.created", id, workspaceId, after: shown }], [
      insertInto("webhooks", { id, workspaceId, url, ...shown, credential, createdAt, seen: 0 }),
      passOver(id),
      ...isSigned ? [added] : [],
    ]);
    management.onWebhook?.();
    const dates = {
      ...{ overlapEndsAt: null, lastSuccessAt: null, oldestDueAt: null },
      disabledAt: null,
      disabledReason: null,
    };
    return { id, workspaceId, ...shown, createdAt, ...dates, secret: isSigned ? secret : null };
  },
});

export const listWebhooks = listOperation({
  id: "listWebhooks",
  summary: "List the webhooks that the caller may see, newest first",
  path: "/webhooks",
  command: "webhook list",
  input: {
    workspaceId: option(v.workspaceId, "Only those that get the events of this workspace: its own, and those for all"),
    ...v.page,
  },
  output: pageOf(Webhook),
  isScoped: true,
  run({ database, caller: { workspaceId: bound } }, { workspaceId: wanted, ...page }) {
    if (bound !== undefined) return webhookTable.list(database, { workspaceId: bound }, page);
    if (wanted === undefined) return webhookTable.list(database, {}, page);
    return webhookTable.list(database, {}, page, "coalesce(workspace_id, :wanted) = :wanted", { wanted });
  },
});

export const readWebhook = operation({
  id: "readWebhook",
  summary: "Show a webhook",
  method: "GET",
  path: "/webhooks/{id}",
  command: "webhook show ID",
  input: { id: v.webhookId },
  output: Webhook,
  run: (management, { id }) => requireWebhook(management, id),
});

export const deleteWebhook = operation({
  id: "deleteWebhook",
  summary: "Delete a webhook with its deliveries",
  method: "DELETE",
  path: "/webhooks/{id}",
  role: "admin",
  command: "webhook delete ID",
  input: { id: v.webhookId },
  output: Webhook,
  async run(management, { id }) {
    const found = await requireWebhook(management, id);
    const { workspaceId, address, events, format } = found;
    const change = { action: "webhook.deleted", id, workspaceId, before: { address, events, format } };
    await management.commit([change], deleteStatements(id));
    return found;
  },
});

export const webhookOperations = [createWebhook, listWebhooks, readWebhook, deleteWebhook] as const;
