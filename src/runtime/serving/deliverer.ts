// Runs the delivery of webhooks for a service: checks each second for due deliveries while there are webhooks. Without
// webhooks it has no timer.
import type { Clock } from "../../common/domain.ts";
import { describeError } from "../../common/log.ts";
import type { Log } from "../../common/log.ts";
import type { Metrics } from "../../common/metrics.ts";
import { withTimeout } from "../../common/timeout.ts";
import type { Database } from "../../database/database.ts";
import { yielding } from "../../database/yielding.ts";
import { createDelivery, removeOldDeliveries } from "../../management/events/deliver.ts";
import type { Send } from "../../management/events/deliver.ts";
import { findOldestDue } from "../../management/events/webhooks.ts";

const lookInterval = 1_000; // ms between two checks
const removalInterval = 3_600_000; // ms
const patience = 3_000; // ms that a stopping service leaves to receivers
const warningInterval = 60_000; // ms between two logged errors, as the next check mostly has the same

/** `isAlone` is true if no other process may serve the database. */
export type DelivererParts = {
  database: Database;
  isAlone?: boolean;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  send: Send;
};

export type Deliverer = {
  /**
   * Checks whether there are webhooks now, unless some are known. Call it after any change that may have created the
   * first one.
   */
  wake(): void;
  /** Resolves when the current requests have ended, or have taken too long. */
  stop(): Promise<void>;
};

/** Starts the delivery, which checks every `interval` ms. */
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

  let isIdle = false, isWoken = false; // during a check
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
      // A slow receiver must not keep the service from stopping. A delivery that it may have got is sent again by the
      // service that checks next.
      await withTimeout(patience, looking.then(delivery.rest), () => {});
    },
  };
}
