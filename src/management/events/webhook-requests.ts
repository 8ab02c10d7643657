// The request that delivers an event, in the format of its webhook.
import { version } from "../../common/version.ts";
import { eventTypes, isFound } from "../kernel/event-types.ts";
import { versionsText } from "./events.ts";
import type { Event } from "./events.ts";
import type { Format } from "./webhooks.ts";

/** Request to send, by POST. */
export type WebhookRequest = { url: string; headers: Record<string, string>; body: string };

/** Destination with its credentials. `secrets` are those that are valid now. */
export type Receiver = { url: string; format: Format; credential: string | null; secrets: readonly string[] };

/** Makes the request for an event, which is JSON text, at a time in Unix ms. */
export async function requestFor(receiver: Receiver, event: string, now: number): Promise<WebhookRequest> {
  const { body, headers } = await toMessage(receiver, event, now);
  const common = { "Content-Type": "application/json", "User-Agent": `promptledger/${version}` };
  return { url: receiver.url, headers: { ...common, ...headers }, body };
}

async function toMessage(
  { format, credential, secrets }: Receiver,
  json: string,
  now: number,
): Promise<{ body: string; headers?: Record<string, string> }> {
  const event: Event = JSON.parse(json);
  if (format === "slack") return { body: JSON.stringify({ text: sentenceFor(event) }) };
  if (format === "github") {
    return {
      body: JSON.stringify({ event_type: event.type, client_payload: { event } }),
      headers: { Authorization: `Bearer ${credential}`, Accept: "application/vnd.github+json" },
    };
  }
  const timestamp = String(Math.floor(now / 1000));
  const body = JSON.stringify({ type: event.type, timestamp: new Date(event.createdAt).toISOString(), data: event });
  const signatures = await Promise.all(secrets.map((secret) => sign(secret, `${event.id}.${timestamp}.${body}`)));
  return {
    body,
    headers: {
      "webhook-id": event.id,
      "webhook-timestamp": timestamp,
      "webhook-signature": signatures.map((signature) => `v1,${signature}`).join(" "),
    },
  };
}

/** HMAC-SHA256 in Base64, per Standard Webhooks 1.0.0. */
async function sign(secret: string, text: string): Promise<string> {
  const bytes = Uint8Array.from(atob(secret.slice("whsec_".length)), (char) => char.charCodeAt(0));
  const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const signature = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(text));
  return btoa(String.fromCharCode(...new Uint8Array(signature)));
}

const sentences: Readonly<Record<string, string>> = { ...eventTypes, "webhook.test": "This is a test of a webhook" };

/** One sentence about an event. Slack requires three characters to be escaped. */
function sentenceFor(event: Event): string {
  const { type, subject: { id, name }, actor, note } = event;
  if (isFound(type)) return escaped(`${name ?? id}: ${note}`);
  const details = [name ?? id, versionsText(event), actor && `by ${actor}`].filter(Boolean).join(", ");
  const text = [sentences[type] ?? type, details && `: ${details}`, note && ` (${note})`].filter(Boolean).join("");
  return escaped(text);
}

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
