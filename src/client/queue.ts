// Queues of records and feedback: bounded, sent in batches in the background, and retried until each item is stored
// once, refused for its content, or too old. An item is serialized once, so that each attempt sends the same text.
import { InvalidRequestError, NotFoundError, PromptLedgerError, unexpected } from "./errors.ts";
import type { Events } from "./events.ts";
import type { Target } from "./feedback.ts";
import {
  asideFor,
  batchDelay,
  batchSize,
  feedbackBatchSize,
  maxBackOff,
  maxBatchBytes,
  maxSends,
  oldestRecord,
} from "./limits.ts";
import { within } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import type { DiagnosisResults, FeedbackResults } from "../schema/shapes.ts";
import { closed } from "./transport.ts";
import type { Transport } from "./transport.ts";

type QueueOptions = {
  maxQueued: number;
  maxQueuedBytes: number;
  submitTimeout: number;
  waitUntil?: ((promise: Promise<unknown>) => void) | undefined;
};

/** Totals of all records and all feedback of a client. */
export type Totals = {
  /** Stored by the service. Includes feedback that was replaced before it could be sent. */
  sent: number;
  /** Given up by the client: the queue was full, the mask failed, it is not JSON, or the client was closed. */
  dropped: number;
  /** Refused by the service for its content, still refused when the client was closed, or too old. */
  failed: number;
};

/** Number of records and pieces of feedback that wait or are being sent, and their bytes. */
export type Held = { queued: number; queuedBytes: number };

/** A queue's kind of items, path, items per batch, and concurrent batches. */
export type Lane = readonly [name: "records" | "feedback", path: string, most: number, sends: number];

export const recordLane: Lane = ["records", "/v1/diagnoses", batchSize, maxSends];
/** One batch at a time, as the order of feedback matters. */
export const feedbackLane: Lane = ["feedback", "/v1/feedback", feedbackBatchSize, 1];

export type Queue = {
  counts(): Totals & Held;
  /**
   * Queues a body, whose target gets the id of the record. After a failed attempt it gives way to later items with the
   * same `about`. Throws if the queue is full.
   */
  add(body: object, target: Target, deployId?: string, about?: string): void;
  /** Counts an item that is not queued. Of several in a row, only the first emits `drop`. */
  drop(error: PromptLedgerError): void;
  /**
   * Sends all waiting items without delay and, if `isLast`, those set aside. Resolves when each item is settled or
   * refused for now, or after `timeout` ms.
   */
  flush(timeout: number, isLast?: boolean): Promise<void>;
  /** Gives up the remaining items, and emits `drop` if there are any. */
  abandon(): Totals;
};

/** A record or a piece of feedback in the queue. */
type Item = {
  text: string;
  size: number;
  at: number;
  target: Target;
  deployId: string;
  about: string;
  /** Maximum number of items in its batch, reduced after a batch failed as a whole. */
  together: number;
  /** Number of items stored when its last attempt failed. */
  blockedAt?: number;
};

type Result = DiagnosisResults["results"][number] & FeedbackResults["results"][number];

export const createQueue = (
  { maxQueued, maxQueuedBytes, submitTimeout, waitUntil }: QueueOptions,
  { send, touch, errorOf, pauseAfter }: Transport,
  events: Events,
  runtime: Runtime,
  [name, path, most, maxSends]: Lane,
): Queue => {
  const { now, startTimer } = runtime;
  // Where the process may be frozen after a response, items do not wait for a fuller batch.
  const delay = waitUntil ? 0 : batchDelay;
  let sent = 0, dropped = 0, failed = 0, queued = 0, queuedBytes = 0;
  let waiting: Item[] = [];
  /** Items held back for a while, as they would block others. */
  let aside: Item[] = [];
  /** Newest item by `about`. */
  const newest = new Map<string, Item>();
  let sends = 0, flushes = 0, pausedUntil = 0;
  let futile = 0; // failed batches in a row
  /** Reason for sending the last batch again. */
  let failure: PromptLedgerError | undefined;
  let isDropping: boolean | undefined;
  let cancelTimer = () => {};
  const onFlushed: (() => void)[] = [];

  const isRefused = () => failure?.retryable === false;
  const isCrowded = () => Math.max(queued / maxQueued, queuedBytes / maxQueuedBytes) > 0.5;

  const settle = (item: Item): void => {
    queued--;
    queuedBytes -= item.size;
    if (newest.get(item.about) === item) newest.delete(item.about);
  };

  /** Removes the items of the next batch from the front, as many as may go together. */
  const take = (): Item[] => {
    // A failed item must not be sent after its replacement.
    waiting = waiting.filter((item) => {
      const isReplaced = item.about && item.blockedAt! >= 0 && newest.get(item.about) !== item;
      if (isReplaced) {
        sent++;
        settle(item);
      }
      return !isReplaced;
    });
    let bytes = 0, fitting = most;
    const rest = waiting.findIndex(({ size, together }, index) => {
      fitting = Math.min(fitting, together);
      bytes += size + 1;
      return index >= fitting || index > 0 && bytes > maxBatchBytes;
    });
    return waiting.splice(0, rest < 0 ? most : rest);
  };

  const deliver = async (items: Item[]): Promise<void> => {
    const { length } = items;
    sends++;
    const text = `{"${name}":[${items.map(({ text }) => text)}]}`;
    const isStored = (result: Result) => [200, 201].includes(result?.status);
    // Feedback that waits for its record has a null id.
    const idOf = ({ id, recordId = id }: Result) => recordId;
    const isWanted = ({ results }: { results?: Result[] }) =>
      results?.length === length &&
      results.every?.((result) => isStored(result) ? idOf(result) !== undefined : result?.code);
    let whole: PromptLedgerError | undefined;
    // Error of each item; undefined for stored ones.
    const errors = await send<{ results: Result[] }>(path, submitTimeout, isWanted, undefined, text).then(
      ([{ results }, headers]) =>
        Promise.all(results.map((result, index) => {
          if (!isStored(result)) return errorOf(result.status, headers, result, "#");
          const id = idOf(result);
          if (id) items[index]!.target.id = id;
          return undefined;
        })),
      (error: PromptLedgerError) => {
        whole = error;
        return items.map(() => error);
      },
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
      // The service may refuse a batch for one of its items, which halving finds.
      const isCut = length > 1 && whole instanceof InvalidRequestError;
      // An intermediary may also reject one item, or block all of them.
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
          // The deployment may be off only briefly, or other items were stored since this one failed.
          if (aside.push(item) === 1) startTimer(recall, asideFor, false);
          if (isOff) events.fail(deployId, error, deployId);
        } else {
          if (!isCut) failure = error;
          item.blockedAt = sent;
          (isBlocked ? waiting : again).push(item);
        }
        continue;
      }
      settle(item);
    }
    waiting.unshift(...again);
    if (refusal) events.emit("error", { error: refusal, [name]: failed - failedBefore });
    if (failure) events.fail(name, failure);
    else if (sent > sentBefore) {
      events.succeed(name);
      futile = 0;
    }
    // If all items are refused, the service may be at fault.
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

  /** Starts the sends that are due, and schedules the next one. */
  const pump = (): void => {
    cancelTimer();
    // After a failure, one batch at a time probes the service.
    while (waiting[0] && sends < (futile > 0 ? 1 : maxSends)) {
      const isDue = flushes > 0 || waiting.length >= most;
      const wait = Math.max(pausedUntil, isDue ? 0 : waiting[0].at + delay) - now();
      if (wait > 0) {
        // An exiting process waits for recent items, but not for an unavailable service.
        cancelTimer = startTimer(pump, wait, !failure || flushes > 0);
        break;
      }
      const items = take();
      if (items.length > 0) void deliver(items);
    }
    if (sends === 0 && (isRefused() || !waiting[0])) {
      onFlushed.splice(0).forEach((call) => call());
    }
  };

  const flush = async (timeout: number, isLast?: boolean): Promise<void> => {
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
    add(body, target, deployId = "", about = "") {
      const text = JSON.stringify(body);
      const size = new TextEncoder().encode(text).length;
      if (queued >= maxQueued || queuedBytes + size > maxQueuedBytes) {
        throw new PromptLedgerError("queue_full", "The queue is full");
      }
      queued++;
      queuedBytes += size;
      const item = { text, size, at: now(), target, deployId, about, together: most };
      waiting.push(item);
      newest.set(about, item);
      if (!waitUntil) pump();
      else {
        try {
          // Items recorded synchronously are sent together.
          waitUntil(Promise.resolve().then(() => flush(submitTimeout)));
        } catch {
          // Throws outside of a request. The items are sent all the same.
        }
      }
      // Fluctuation around the limit counts as one episode.
      isDropping &&= isCrowded();
    },
    drop(error) {
      dropped++;
      if (!isDropping) events.emit("drop", { error });
      isDropping = true;
    },
    abandon() {
      cancelTimer();
      if (queued > 0) events.emit("drop", { error: closed(`Closed with ${name} left: ${queued}`), [name]: queued });
      const refused = isRefused() ? queued : aside.length;
      failed += refused;
      dropped += queued - refused;
      waiting = aside = [];
      queued = queuedBytes = 0;
      return { sent, dropped, failed };
    },
  };
};
