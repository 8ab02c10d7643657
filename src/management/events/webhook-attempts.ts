// One attempt to deliver an event to a webhook, and its consequences.
import type { Clock } from "../../common/domain.ts";
import type { WebhookId } from "../../common/ids.ts";
import type { Database, Statement } from "../../database/database.ts";
import { integer, integerOrNull, text, textOrNull } from "../../database/row.ts";
import { requestFor } from "./webhook-requests.ts";
import type { Receiver, WebhookRequest } from "./webhook-requests.ts";
import { isActive } from "./webhooks.ts";

/** Sends a request. Rejects, in words for people, if there is no response. `text` is the beginning of a response. */
export type Send = (
  request: WebhookRequest,
) => Promise<{ status: number; text: string; retryAfter: string | undefined }>;

/** A delivery that is due. `attempts` counts the earlier ones. */
type Due = {
  number: number;
  attempts: number;
  createdAt: number;
  event: string;
  receiver: Receiver;
  lastSuccessAt: number | null;
};

const hour = 3_600_000, day = 24 * hour; // ms
/** Delay before each further attempt, in ms. The last one is made after three days. */
const waits = [5_000, 300_000, 1_800_000, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, day];
const jitter = 0.1; // of a wait, more or less: a receiver that comes back does not get all at once
const leastTime = 2 * day; // ms. The last attempt comes later after the event, whatever the jitter
const maxPause = day; // ms that a receiver may ask for
const maxAhead = 2 * day; // ms. A later due time comes from a wrong clock

/** True if the time in a column has come at `:now`. */
export const hasCome = (column: string): string => `(${column} <= :now or ${column} > :now + ${maxAhead})`;

/** True if a webhook, which is `w`, has a delivery that is due. Each half is one search of an index. */
export const hasDue = ["<= :now", `> :now + ${maxAhead}`].map((when) =>
  `exists (select 1 from webhook_deliveries d where d.webhook_id = w.id and d.due_at ${when})`
).join(" or ");

/** The first delivery of a webhook that is due, in the order of the events. */
export async function findDue(database: Database, id: WebhookId, now: number): Promise<Due | undefined> {
  const [row] = await database.read({
    sql: `select d.number, d.attempts, d.created_at, d.event, w.url, w.format, w.credential, w.last_success_at, (
          select json_group_array(s.secret) from webhook_secrets s
          where s.webhook_id = w.id and (s.expires_at is null or s.expires_at > :now)
        ) as secrets
      from webhooks w cross join webhook_deliveries d on d.webhook_id = w.id
      where w.id = :id and ${isActive} and d.due_at is not null and ${hasCome("d.due_at")} order by d.number limit 1`,
    args: { id, now },
  });
  return row && {
    number: integer(row, "number"),
    attempts: integer(row, "attempts"),
    createdAt: integer(row, "created_at"),
    event: text(row, "event"),
    receiver: {
      url: text(row, "url"),
      format: text(row, "format"),
      credential: textOrNull(row, "credential"),
      secrets: JSON.parse(text(row, "secrets")),
    },
    lastSuccessAt: integerOrNull(row, "last_success_at"),
  };
}

/** Result of an attempt: a response, or the error that prevented one. */
type Attempt = {
  at: number;
  durationMs: number;
  status: number | null;
  response: string | null;
  retryAfter: string | undefined;
  error: string | null;
};

export async function attempt({ event, receiver }: Due, send: Send, clock: Clock): Promise<Attempt> {
  const at = clock(), startedAt = performance.now();
  const request = await requestFor(receiver, event, at);
  const mask = (text: string) => withoutSecrets(text, receiver);
  const response = await send(request).catch((error: unknown) => ({
    ...{ status: null, text: null, retryAfter: undefined },
    error: error instanceof Error ? error.message : String(error),
  }));
  const { status, text, retryAfter, error = null } = { error: undefined, ...response };
  const durationMs = Math.round(performance.now() - startedAt);
  return { at, durationMs, status, response: text && mask(text), retryAfter, error: error && mask(error) };
}

const leastPart = 12; // characters. A shorter part of a URL is mostly a word

/**
 * Receivers often echo the request, as a whole or in parts, and a response may be cut in the middle of it. SQLite reads
 * a text back only up to a NUL.
 */
function withoutSecrets(text: string, { url, credential }: Receiver): string {
  const { href, pathname, search, searchParams } = new URL(url);
  const values = [...searchParams.values()];
  const parts = [...pathname.split("/"), ...values, ...values.map(encodeURIComponent)];
  const secrets = [
    ...[credential ?? "", href, pathname + search, pathname].filter(({ length }) => length > 1),
    ...parts.filter(({ length }) => length >= leastPart),
  ];
  const masked = secrets.reduce((masked, secret) => masked.replaceAll(secret, "…"), text);
  return secrets.reduce(withoutBeginning, masked).replaceAll("\0", "").toWellFormed();
}

/** Masks the beginning of a secret at the end of a text. */
function withoutBeginning(text: string, secret: string): string {
  for (let length = secret.length - 1; length >= leastPart; length--) {
    if (text.endsWith(secret.slice(0, length))) return `${text.slice(0, -length)}…`;
  }
  return text;
}

/** Consequence of an attempt. Without an outcome there is another attempt. */
type Verdict = {
  outcome: "delivered" | "failed" | null;
  dueAt: number | null;
  /** End of the pause that the receiver asked for, in Unix ms; 0 without one. */
  pausedUntil: number;
  /** Reason to switch the webhook off. */
  reason?: "gone" | "failing";
};

export function judge({ attempts, createdAt, lastSuccessAt }: Due, attempt: Attempt, now: number): Verdict {
  const { status, retryAfter } = attempt;
  if (status !== null && status >= 200 && status < 300) return { outcome: "delivered", dueAt: null, pausedUntil: 0 };
  const over = { outcome: "failed", dueAt: null, pausedUntil: 0 } as const;
  if (status === 410) return { ...over, reason: "gone" };
  const wait = waits[attempts];
  if (wait === undefined) {
    // A wrong clock may have set the time of the event, or of the last success.
    const since = Math.min(createdAt, now - leastTime);
    const hasTaken = lastSuccessAt !== null && lastSuccessAt >= since && lastSuccessAt <= now;
    return hasTaken ? over : { ...over, reason: "failing" };
  }
  const pause = status === 429 || status === 503 ? readPause(retryAfter, now) : 0;
  const jittered = Math.round(wait * (1 + jitter * (2 * Math.random() - 1)));
  return { outcome: null, dueAt: now + Math.max(jittered, pause), pausedUntil: pause === 0 ? 0 : now + pause };
}

/** The header Retry-After, seconds or a date, in ms. */
function readPause(text = "", now: number): number {
  const ms = /^\d+$/.test(text) ? 1000 * Number(text) : Date.parse(text) - now;
  return Math.max(0, Math.min(ms || 0, maxPause));
}

/** Stores an attempt, unless another process has stored one meanwhile. */
export const store = (id: WebhookId, { number, attempts }: Due, attempt: Attempt, verdict: Verdict): Statement => {
  const { at, durationMs, status, response, error } = attempt, { outcome, dueAt } = verdict;
  return {
    sql: `update webhook_deliveries set attempts = attempts + 1, outcome = :outcome, due_at = :dueAt, last_at = :at,
        status = :status, response = :response, error = :error, duration_ms = :durationMs
      where webhook_id = :id and number = :number and attempts = :attempts and due_at is not null`,
    args: { id, number, attempts, outcome, dueAt, at, status, response, error, durationMs },
  };
};
