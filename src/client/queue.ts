// The queue of records: bounded, sent in batches off the application's path, and retried until each record is stored once,
// refused, or too old. A record is made text once, so that each attempt sends the same.
import { InvalidRequestError, PromptLedgerError } from "./errors.ts";
import type { Events } from "./events.ts";
import { batchDelay, batchSize, maxBackOff, maxBatchBytes, maxSends, oldestRecord } from "./limits.ts";
import { within } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import type { DiagnosisItem, DiagnosisResults } from "./shapes.ts";
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
  /** Refused by the service, or too old. */
  failed: number;
};

/** How many records wait or are being sent, and their bytes. */
export type Held = { queued: number; queuedBytes: number };

export type Queue = {
  counts(): Totals & Held;
  add(record: DiagnosisItem): void;
  /** Counts a record that is not queued. The first of several is told. */
  drop(error: PromptLedgerError): void;
  /** Sends all that waits, without delay. Resolves when the queue is empty, or after so many ms. */
  flush(timeout: number): Promise<void>;
  /** Gives up what is left. */
  abandon(): Totals;
};

/** `together` is how many records may be in its batch: fewer once a batch was refused as a whole. */
type Item = { text: string; size: number; at: number; together: number };

const encoder = new TextEncoder();

export function createQueue(
  { maxQueued, maxQueuedBytes, submitTimeout, waitUntil }: QueueOptions,
  { send, errorOf, pauseAfter }: Transport,
  { emit }: Events,
  runtime: Runtime,
): Queue {
  const { now, startTimer } = runtime;
  // Where the process may be frozen after a response, nothing waits for more to go with it.
  const delay = waitUntil ? 0 : batchDelay;
  let sent = 0, dropped = 0, failed = 0, queued = 0, queuedBytes = 0;
  let waiting: Item[] = [];
  let sends = 0, flushes = 0, failures = 0, pausedUntil = 0;
  let isDropping = false, isAbandoned = false;
  let cancelTimer = () => {};
  let onEmpty: (() => void)[] = [];

  /** Takes records out of the queue, which were stored unless there is an error. */
  function settle(items: Item[], error?: PromptLedgerError): void {
    const { length: records } = items;
    if (records === 0) return;
    queued -= records;
    for (const { size } of items) queuedBytes -= size;
    if (error) {
      failed += records;
      emit("error", { error, records });
    } else sent += records;
    if (queued > 0) return;
    onEmpty.forEach((call) => call());
    onEmpty = [];
  }

  /** Takes the records of the next batch: from the front, as many as may go together. */
  function take(): Item[] {
    let bytes = 0, most = batchSize;
    const rest = waiting.findIndex(({ size, together }, index) => {
      most = Math.min(most, together);
      bytes += size + 1;
      return index >= most || index > 0 && bytes > maxBatchBytes;
    });
    return waiting.splice(0, rest < 0 ? batchSize : rest);
  }

  /** Why each record was not stored; undefined for those that were. */
  async function post(items: Item[]): Promise<(PromptLedgerError | undefined)[]> {
    const text = `{"records":[${items.map(({ text }) => text)}]}`;
    const [body, headers] = await send("/v1/diagnoses", submitTimeout, undefined, text);
    const { results } = body as DiagnosisResults;
    // Anything else comes from something in between.
    if (results?.length !== items.length) throw errorOf(200, headers);
    return results.map((result) => result.status === 201 ? undefined : errorOf(result.status, headers, result));
  }

  async function deliver(items: Item[]): Promise<void> {
    let isCut = false;
    sends++;
    const errors = await post(items).catch((error: PromptLedgerError) => {
      // One record may be to blame. Halves find it.
      isCut = error instanceof InvalidRequestError && items.length > 1;
      return items.map(() => error);
    });
    sends--;
    if (isAbandoned) return;
    const stored: Item[] = [], again: Item[] = [], refused: Item[] = [];
    let failure: PromptLedgerError | undefined, refusal: PromptLedgerError | undefined;
    for (const item of items) {
      const error = errors.shift();
      if (isCut) item.together = Math.ceil(items.length / 2);
      if (error?.retryable) failure = error;
      if (!error) stored.push(item);
      else if (isCut || error.retryable && now() - item.at < oldestRecord) again.push(item);
      else {
        refused.push(item);
        refusal = error;
      }
    }
    waiting = [...again, ...waiting];
    if (failure) {
      pausedUntil = now() + pauseAfter(failure, ++failures, maxBackOff);
      emit("error", { error: failure });
    } else failures = 0;
    settle(stored);
    settle(refused, refusal);
    pump();
  }

  /** Starts the sends that are due, and sees to the next one. */
  function pump(): void {
    cancelTimer();
    // After a failure one batch at a time tries whether the service is back.
    while (waiting.length > 0 && sends < (failures > 0 ? 1 : maxSends)) {
      // A record from the future, or a wait beyond the longest one, shows that the clock was set back.
      const isDue = flushes > 0 || waiting.length >= batchSize || waiting[0]!.at > now();
      const wait = Math.max(pausedUntil, isDue ? 0 : waiting[0]!.at + delay) - now();
      if (wait > 0 && wait <= maxBackOff) {
        // A process that ends waits for what was just recorded, but not for a service that is away.
        cancelTimer = startTimer(pump, wait, failures === 0 || flushes > 0);
        return;
      }
      void deliver(take());
    }
  }

  async function flush(timeout: number): Promise<void> {
    if (queued === 0) return;
    flushes++;
    pausedUntil = 0;
    const emptied = new Promise<void>((resolve) => void onEmpty.push(resolve));
    pump();
    await within(runtime, timeout, emptied);
    flushes--;
  }

  return {
    counts: () => ({ sent, dropped, failed, queued, queuedBytes }),
    flush,
    add(record) {
      const text = JSON.stringify(record);
      const size = encoder.encode(text).length;
      if (queued >= maxQueued || queuedBytes + size > maxQueuedBytes) {
        throw new PromptLedgerError("queue_full", "The queue is full");
      }
      queued++;
      queuedBytes += size;
      waiting.push({ text, size, at: now(), together: batchSize });
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
      if (Math.max(queued / maxQueued, queuedBytes / maxQueuedBytes) <= 0.5) isDropping = false;
    },
    drop(error) {
      dropped++;
      if (!isDropping) emit("drop", { error });
      isDropping = true;
    },
    abandon() {
      isAbandoned = true;
      cancelTimer();
      dropped += queued;
      queued = queuedBytes = 0;
      return { sent, dropped, failed };
    },
  };
}
