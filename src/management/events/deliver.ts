// Sends events to webhooks. Several processes may do so on one database. The audit log is the outbox: the events that a webhook has
// not seen become its deliveries in one transaction, which only one process makes. One process at a time sends to a webhook, in the
// order of the events, so that only what has to be sent again comes later.
import { bounds } from "../../support/bounds.ts";
import { Refusal } from "../../common/errors.ts";
import type { WebhookId, WorkspaceId } from "../../common/ids.ts";
import { createShares } from "../../common/shares.ts";
import type { Database } from "../../database/database.ts";
import { integer, text, textOrNull } from "../../database/row.ts";
import { oneOf } from "../../schema/struct.ts";
import * as v from "../kernel/values.ts";
import { findHead, readBehind } from "./events.ts";
import { operation, perform } from "../kernel/operation.ts";
import type { Session, Store } from "../kernel/operation.ts";
import { attempt, findDue, hasCome, hasDue, judge, store as storeAttempt } from "./webhook-attempts.ts";
import type { Send } from "./webhook-attempts.ts";
import { disable } from "./webhook-changes.ts";
import { finishWebhooks, hasUnfinished } from "./webhook-leftovers.ts";
import { isActive, nextNumber, requireWebhook, Webhook } from "./webhooks.ts";

export type { Send } from "./webhook-attempts.ts";

const batch = 100; // events that become deliveries in one transaction
const maxBatches = 32; // per look: those of many webhooks must not delay what is due
const maxTurns = 32; // webhooks to which a process sends at once. One workspace gets half of them
const turnTime = 60_000; // ms after which another webhook has its turn
const leaseTime = 60_000; // ms. A process that has not renewed its lease for that long is taken to have ended
const keepTime = bounds.deliveryDays * 86_400_000; // ms
const removalBatch = 256; // rows

/**
 * True if a process may send to a webhook, which is `w`, at `:now`. A lease that ends too late comes from a wrong
 * clock.
 */
const isFree = `(w.leased_until <= :now or w.leased_until > :now + ${2 * leaseTime}) and ${hasCome("w.paused_until")}`;

/**
 * Parts of delivery: its store, how to send, when to end, and callbacks for the result of each attempt and for local
 * failures. With `isAlone` no other process delivers: a lease at its start is of one that has ended.
 */
export type DeliveryParts = {
  store: Store;
  isAlone?: boolean;
  send: Send;
  isOver(): boolean;
  onAttempt(result: "delivered" | "retried" | "failed"): void;
  onError(error: unknown): void;
};

/**
 * Makes the sender of deliveries. `look` begins all work that is due, and returns whether there are webhooks, or some
 * to finish. `rest` resolves when it has ended: once nothing is due, or after `isOver` with the request in progress.
 */
export function createDelivery(parts: DeliveryParts): { look(): Promise<boolean>; rest(): Promise<void> } {
  const { store: { database, clock }, isOver, onError } = parts;
  const turns = new Map<WebhookId, Promise<void>>(), shares = createShares(maxTurns);
  let seen = -1; // the position up to which every webhook has its deliveries
  let hasFreed = parts.isAlone !== true;
  return {
    async look() {
      const sql = `select exists (select 1 from webhooks) as has_any, ${hasUnfinished} as is_unfinished`;
      const [found] = await database.read({ sql });
      const isUnfinished = found!.is_unfinished !== 0;
      if (isUnfinished) await finishWebhooks(database, isOver);
      if (found!.has_any === 0) return isUnfinished;
      if (!hasFreed) {
        await database.write([{
          sql: "update webhooks set leased_until = :now where leased_until > :now",
          args: { now: clock() },
        }]);
        hasFreed = true;
      }
      const head = await findHead(database);
      if (head !== seen && await makeDeliveries(parts)) seen = head;
      // Webhooks of each workspace come in turn: the slow receivers of one leave room for those of others.
      const rows = await database.read({
        sql: `select w.id, coalesce(w.workspace_id, '') as owner from webhooks w
          where ${isActive} and ${isFree} and (${hasDue})
          order by row_number() over (partition by w.workspace_id order by w.leased_until, w.id), w.leased_until, w.id
          limit ${maxTurns}`,
        args: { now: clock() },
      });
      for (const row of rows) {
        const id = text<WebhookId>(row, "id"), owner = text(row, "owner");
        if (isOver() || turns.has(id) || !shares.take(owner, 1)) continue;
        const end = () => {
          turns.delete(id);
          shares.giveBack(owner, 1);
        };
        turns.set(id, takeTurn(parts, id).catch(onError).finally(end));
      }
      return true;
    },
    rest: async () => void await Promise.all(turns.values()),
  };
}

/**
 * Makes deliveries of events that webhooks have not seen, a batch for each in turn. Returns true if no webhook is
 * behind any more.
 */
async function makeDeliveries({ store, isOver, onError }: DeliveryParts): Promise<boolean> {
  const rows = await store.database.read({
    sql: `select w.id from webhooks w where ${isActive} and case
        when w.workspace_id is null then w.seen < (select position from audit_head where id = 1)
        else exists (select 1 from audit_log a where a.workspace_id = w.workspace_id and a.position > w.seen)
      end order by w.seen, w.id`,
  });
  const behind = rows.map((row) => text(row, "id"));
  let haveFailed = false;
  for (let batches = 0; batches < maxBatches && behind.length > 0 && !isOver(); batches++) {
    const id = behind.shift()!;
    try {
      if (await makeBatch(store, id)) behind.push(id);
    } catch (error) {
      // A failure does not keep the other webhooks from their events.
      onError(error);
      haveFailed = true;
    }
  }
  return behind.length === 0 && !haveFailed;
}

/** Makes the next deliveries of a webhook, unless another process makes them. Returns true if there may be more. */
async function makeBatch({ database, clock }: Store, id: string): Promise<boolean> {
  const sql = `select workspace_id, events, seen from webhooks w where id = ? and ${isActive}`;
  const [row] = await database.read({ sql, args: [id] });
  if (row === undefined) return false;
  const workspaceId = textOrNull(row, "workspace_id") as WorkspaceId | null, seen = integer(row, "seen");
  const reader = { database, caller: { workspaceId: workspaceId ?? undefined } };
  const { items, next, isLast } = await readBehind(reader, seen, { types: textOrNull(row, "events"), limit: batch });
  const events = items.map((event) => [event.id, event.type, JSON.stringify(event)]);
  const isUnchanged = `w.id = :id and w.seen = :seen and ${isActive}`;
  const [, moved] = await database.write([
    {
      sql: `insert into webhook_deliveries (webhook_id, number, event_id, type, event, created_at, due_at)
        select w.id, ${nextNumber} + e.key, e.value ->> 0, e.value ->> 1, e.value ->> 2, :now, 0
        from webhooks w cross join json_each(:events) e where ${isUnchanged}`,
      args: { id, seen, now: clock(), events: JSON.stringify(events) },
    },
    { sql: `update webhooks as w set seen = :next where ${isUnchanged} returning id`, args: { id, seen, next } },
  ]);
  // Another process that has moved it may have known fewer events, and may end before it makes the others.
  return moved!.length === 0 || !isLast;
}

/** Sends a webhook's due deliveries, one after the other, if no other process does. */
async function takeTurn({ store, send, isOver, onAttempt }: DeliveryParts, id: WebhookId): Promise<void> {
  const { database, clock } = store;
  const startedAt = performance.now();
  let until = clock() + leaseTime;
  const [taken] = await database.write([{
    sql: `update webhooks as w set leased_until = :until where w.id = :id and ${isActive} and ${isFree} returning id`,
    args: { id, now: clock(), until },
  }]);
  // Another process that has it may have leased it until the same moment, so it must not be released here.
  if (taken!.length === 0) return;
  let goesOn = true;
  while (goesOn && !isOver() && performance.now() - startedAt < turnTime) {
    const due = await findDue(database, id, clock());
    if (due === undefined) break;
    const made = await attempt(due, send, clock), now = clock();
    const verdict = judge(due, made, now), { outcome, pausedUntil, reason } = verdict;
    const [, held] = await database.write([
      storeAttempt(id, due, made, verdict),
      {
        sql: `update webhooks set leased_until = :renewed, paused_until = :pausedUntil,
            last_success_at = coalesce(:success, last_success_at)
          where id = :id and leased_until = :until returning id`,
        args: { id, until, renewed: now + leaseTime, pausedUntil, success: outcome === "delivered" ? now : null },
      },
    ]);
    until = now + leaseTime;
    onAttempt(outcome ?? "retried");
    if (reason !== undefined) await disableFor(store, id, reason);
    if (held!.length === 0) return;
    goesOn = pausedUntil === 0 && reason === undefined;
  }
  // The time of its turn stays stored, because the webhooks that have waited longest come next.
  const sql = "update webhooks set leased_until = ? where id = ? and leased_until = ?";
  await database.write([{ sql, args: [clock(), id, until] }]);
}

/** Switches a webhook off whose receiver is gone, or fails for days, unless it has been deleted meanwhile. */
async function disableFor(store: Store, id: WebhookId, reason: "gone" | "failing"): Promise<void> {
  const caller = { source: "embedded", actor: "webhooks", role: "owner" } as const;
  try {
    await perform(disableByService, { ...store, caller } satisfies Session, { value: { id, reason } });
  } catch (error) {
    if (!(error instanceof Refusal && error.kind === "not_found")) throw error;
  }
}

const disableByService = operation({
  id: "disableByService",
  summary: "Switch a webhook off for what its receiver answered",
  method: "POST",
  path: "/webhooks/{id}/disable-by-service",
  role: "admin",
  input: { id: v.webhookId, reason: oneOf("gone", "failing") },
  output: Webhook,
  run: async (management, { id, reason }) => await disable(management, await requireWebhook(management, id), reason),
});

/**
 * Removes deliveries that have ended and are older than 30 days, a few in each transaction. The last one of a webhook
 * stays: its number is needed for the next.
 */
export async function removeOldDeliveries(
  { database, clock }: { database: Database; clock: Store["clock"] },
  isOver: () => boolean,
): Promise<void> {
  for (let isDone = false; !isDone && !isOver();) {
    const [removed] = await database.write([{
      sql: `delete from webhook_deliveries where (webhook_id, number) in (
          select webhook_id, number from webhook_deliveries d where created_at < ? and due_at is null
            and number < (select max(number) from webhook_deliveries where webhook_id = d.webhook_id)
          order by created_at limit ${removalBatch}
        ) returning 1`,
      args: [clock() - keepTime],
    }]);
    isDone = removed!.length < removalBatch;
  }
}
