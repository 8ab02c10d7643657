// The queue of records: bounded, sent in batches off the application's path, and retried until each record is stored once,
// refused for what is in it, or too old. A record is made text once, so that each attempt sends the same.
import { InvalidRequestError, NotFoundError, PromptLedgerError, unexpected } from "./errors.ts";
import type { Events } from "./events.ts";
import { asideFor, batchDelay, batchSize, maxBackOff, maxBatchBytes, maxSends, oldestRecord } from "./limits.ts";
import { within } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import type { DiagnosisItem, DiagnosisResults } from "./shapes.ts";
import { closed } from "./transport.ts";
import type { Transport } from "./transport.ts";

type QueueOptions = {
  maxQueued: number;
  maxQueuedBytes: number;
  submitTimeout: number;
  waitUntil?: ((promise: Promise<unknown>) => void) | undefined;
};

/** What became of all records of a client. */
export type Totals = {
  /** Stored by the service. */
  sent: number;
  /** Given up by the client: the queue was full, the mask failed, the record is no JSON, or the client was closed. */
  dropped: number;
  /** Refused by the service for what is in them, still refused when the client was closed, or too old. */
  failed: number;
};

/** How many records wait or are being sent, and their bytes. */
export type Held = { queued: number; queuedBytes: number };

export type Queue = {
  counts(): Totals & Held;
  add(record: DiagnosisItem): void;
  /** Counts a record that is not queued. Of several in a row, only the first emits `drop`. */
  drop(error: PromptLedgerError): void;
  /**
   * Sends all that waits, without delay, and if it is the last time what is set aside too. Resolves when each record is settled
   * or refused for now, or after so many ms.
   */
  flush(timeout: number, isLast?: boolean): Promise<void>;
  /** Gives up what is left, and emits `drop` if that is anything. */
  abandon(): Totals;
};

/** A record in the queue. */
type Item = {
  text: string;
  size: number;
  at: number;
  deployId: string;
  /** How many records may be in its batch: fewer once a batch did not pass as a whole. */
  together: number;
  /** How many records had been stored when something in between did not let it pass. */
  blockedAt?: number;
};

export const createQueue = (
  { maxQueued, maxQueuedBytes, submitTimeout, waitUntil }: QueueOptions,
  { send, touch, errorOf, pauseAfter }: Transport,
  events: Events,
  runtime: Runtime,
): Queue => {
  const { now, startTimer } = runtime;
  // Where the process may be frozen after a response, nothing waits for more to go with it.
  const delay = waitUntil ? 0 : batchDelay;
  let sent = 0, dropped = 0, failed = 0, queued = 0, queuedBytes = 0;
  let waiting: Item[] = [];
  /** Records that are not sent for a while, so that they hold up no others. */
  let aside: Item[] = [];
  let sends = 0, flushes = 0, pausedUntil = 0;
  let futile = 0; // batches in a row that came to nothing
  /** Why the last batch that was answered, or was not, must be sent again. */
  let failure: PromptLedgerError | undefined;
  let isDropping = false;
  let cancelTimer = () => {};
  const onFlushed: (() => void)[] = [];

  const isRefused = () => failure?.retryable === false;
  const isCrowded = () => Math.max(queued / maxQueued, queuedBytes / maxQueuedBytes) > 0.5;

  /** Takes the records of the next batch: from the front, as many as may go together. */
  const take = (): Item[] => {
    let bytes = 0, most = batchSize;
    const rest = waiting.findIndex(({ size, together }, index) => {
      most = Math.min(most, together);
      bytes += size + 1;
      return index >= most || index > 0 && bytes > maxBatchBytes;
    });
    return waiting.splice(0, rest < 0 ? batchSize : rest);
  };

  const deliver = async (items: Item[]): Promise<void> => {
    const { length } = items;
    sends++;
    const text = `{"records":[${items.map(({ text }) => text)}]}`;
    const isWanted = (body: unknown) => {
      const { results } = Object(body) as Partial<DiagnosisResults>;
      return results?.length === length &&
        results.every?.((result) => result?.status === 201 ? result.id : result?.code);
    };
    // Why each record was not stored; undefined for those that were.
    const errors = await send<DiagnosisResults>("/v1/diagnoses", submitTimeout, isWanted, undefined, text).then(
      ([{ results }, headers]) =>
        results.map((result) => result.status === 201 ? undefined : errorOf(result.status, headers, result)),
      (error: PromptLedgerError) => items.map(() => error),
    );
    sends--;
    // The client was closed meanwhile.
    if (queued === 0) return;
    const sentBefore = sent, failedBefore = failed;
    const again: Item[] = [];
    let refusal: PromptLedgerError | undefined;
    failure = undefined;
    for (const item of items) {
      const error = errors.shift();
      const { deployId } = item;
      const isOff = error instanceof NotFoundError;
      // The service may refuse a batch for one of its records, which halves find.
      const isCut = length > 1 && error?.code === "invalid_request";
      // Something in between may take offence at one record too, or be in the way of all.
      const isBlocked = isCut || error?.code === unexpected;
      if (isBlocked) item.together = Math.ceil(length / 2);
      if (!error) {
        sent++;
        events.succeed(deployId, deployId);
      } else if (
        error instanceof InvalidRequestError && !isCut || now() - item.at >= oldestRecord || isOff && isCrowded()
      ) {
        failed++;
        refusal = error;
      } else {
        if (isOff || isBlocked && length === 1 && sent > item.blockedAt!) {
          // The deployment may have been switched off for a moment, and others have passed since that record did not.
          if (aside.push(item) === 1) startTimer(recall, asideFor, false);
          if (isOff) events.fail(deployId, error, deployId);
        } else {
          if (!isCut) failure = error;
          item.blockedAt = sent;
          (isBlocked ? waiting : again).push(item);
        }
        continue;
      }
      queued--;
      queuedBytes -= item.size;
    }
    waiting.unshift(...again);
    if (refusal) events.emit("error", { error: refusal, records: failed - failedBefore });
    if (failure) events.fail("records", failure);
    else if (sent > sentBefore) {
      events.succeed("records");
      futile = 0;
    }
    // What refuses all records may be at fault itself.
    if (failure || refusal && sent === sentBefore) {
      pausedUntil = now() + pauseAfter(failure ?? { retryable: true }, ++futile, maxBackOff);
    }
    pump();
  };

  const recall = (): void => {
    waiting.push(...aside);
    aside = [];
    pump();
  };

  /** Starts the sends that are due, and sees to the next one. */
  const pump = (): void => {
    cancelTimer();
    // After a failure one batch at a time tries whether the service is back.
    while (waiting.length > 0 && sends < (futile > 0 ? 1 : maxSends)) {
      // A record from the future, or a wait beyond the longest one, shows that the clock was set back.
      const isDue = flushes > 0 || waiting.length >= batchSize || waiting[0]!.at > now();
      const wait = Math.max(pausedUntil, isDue ? 0 : waiting[0]!.at + delay) - now();
      if (wait > 0 && wait <= maxBackOff) {
        // A process that ends waits for what was just recorded, but not for a service that is away.
        cancelTimer = startTimer(pump, wait, !failure || flushes > 0);
        break;
      }
      void deliver(take());
    }
    if (sends === 0 && (isRefused() || waiting.length === 0)) {
      onFlushed.splice(0).forEach((call) => call());
    }
  };

  const flush = async (timeout: number, isLast = false): Promise<void> => {
    touch(timeout);
    flushes++;
    pausedUntil = 0;
    failure = undefined;
    const flushed = new Promise<void>((resolve) => onFlushed.push(resolve));
    if (isLast) recall();
    pump();
    await within(runtime, timeout, flushed);
    flushes--;
  };

  return {
    counts: () => ({ sent, dropped, failed, queued, queuedBytes }),
    flush,
    add(record) {
      const text = JSON.stringify(record);
      const size = new TextEncoder().encode(text).length;
      if (queued >= maxQueued || queuedBytes + size > maxQueuedBytes) {
        throw new PromptLedgerError("queue_full", "The queue is full");
      }
      queued++;
      queuedBytes += size;
      waiting.push({ text, size, at: now(), deployId: record.deployId, together: batchSize });
      if (!waitUntil) pump();
      else {
        try {
          // What is recorded in one go is sent together.
          waitUntil(Promise.resolve().then(() => flush(submitTimeout)));
        } catch {
          // Outside of a request there is nobody to wait. It is sent all the same.
        }
      }
      // A queue that hovers at its bound is one episode.
      if (!isCrowded()) isDropping = false;
    },
    drop(error) {
      dropped++;
      if (!isDropping) events.emit("drop", { error });
      isDropping = true;
    },
    abandon() {
      cancelTimer();
      if (queued > 0) events.emit("drop", { error: closed(`Closed with records left: ${queued}`), records: queued });
      const refused = isRefused() ? queued : aside.length;
      failed += refused;
      dropped += queued - refused;
      waiting = aside = [];
      queued = queuedBytes = 0;
      return { sent, dropped, failed };
    },
  };
};
