// Runs the delivery of webhooks beside a service: it looks each second for what is due while there are webhooks. Without any it
// has no timer.
import type { Clock } from "../common/domain.ts";
import { describeError } from "../common/log.ts";
import type { Log } from "../common/log.ts";
import type { Metrics } from "../common/metrics.ts";
import { withTimeout } from "../common/timeout.ts";
import type { Database } from "../database/database.ts";
import { yielding } from "../database/yielding.ts";
import { createDelivery, removeOldDeliveries } from "../management/deliver.ts";
import type { Send } from "../management/deliver.ts";
import { findOldestDue } from "../management/webhooks.ts";

const lookInterval = 1_000; // ms between two looks
const removalInterval = 3_600_000; // ms
const patience = 3_000; // ms that a service which stops leaves to receivers
const warningInterval = 60_000; // ms between two errors that are logged, as the next look mostly has the same

/** `isAlone`: whether no other process may serve the database. */
export type DelivererParts = {
  database: Database;
  isAlone?: boolean;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  send: Send;
};

export type Deliverer = {
  /** Looks whether there are webhooks now, unless it knows of some. It is called for what may have made the first one. */
  wake(): void;
  /** Resolves when the requests that are being sent have ended, or have taken too long. */
  stop(): Promise<void>;
};

/** Starts the delivery, which looks each `interval` ms. */
export function startDeliverer(
  { database, isAlone = false, clock, log, metrics, send }: DelivererParts,
  interval = lookInterval,
): Deliverer {
  const store = { database: yielding(database), clock };
  let isStopped = false, loggedAt = -Infinity, removedAt = -Infinity;
  const delivery = createDelivery({
    store,
    isAlone,
    send,
    isOver: () => isStopped,
    onAttempt: metrics.counter(
      "promptledger_webhook_attempts_total",
      "Attempts to deliver an event to a webhook: delivered, retried later, or failed for good",
      ["result"],
      ["delivered", "retried", "failed"],
    ),
    onError: fail,
  });
  let oldest: number | null = null;
  metrics.gauge(
    "promptledger_webhook_oldest_undelivered_seconds",
    "The age of the oldest event that a webhook has not got yet; 0 if there is none",
    () => oldest === null ? 0 : Math.max(0, clock() - oldest) / 1000,
  );
  metrics.beforeText(async () => {
    oldest = await findOldestDue(store.database);
  });

  let isIdle = false, isWoken = false; // while it looks
  async function lookOnce(): Promise<void> {
    let hasWebhooks = true;
    isIdle = isWoken = false;
    try {
      hasWebhooks = await delivery.look();
      if (hasWebhooks && performance.now() - removedAt > removalInterval) {
        removedAt = performance.now();
        await removeOldDeliveries(store, () => isStopped);
      }
    } catch (error) {
      fail(error);
    }
    isIdle = !hasWebhooks && !isWoken;
    if (!isStopped && !isIdle) schedule(interval);
  }

  let looking = Promise.resolve(), timer: ReturnType<typeof setTimeout>;
  function look(): void {
    looking = lookOnce();
  }
  function schedule(ms: number): void {
    timer = setTimeout(look, ms);
    timer.unref();
  }
  schedule(interval);

  function fail(error: unknown): void {
    if (isStopped || performance.now() - loggedAt < warningInterval) return;
    loggedAt = performance.now();
    log.error("The delivery of webhooks failed; it goes on", { cause: describeError(error) });
  }

  return {
    wake() {
      isWoken = true;
      if (isIdle && !isStopped) look();
    },
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      // A receiver that is slow keeps no service from stopping. What it may have got is sent once more, by whichever service
      // looks next.
      await withTimeout(patience, looking.then(delivery.rest), () => {});
    },
  };
}
