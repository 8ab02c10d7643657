// The queues of records and of feedback: bounded, sent in batches off the application's path, and retried until each item is
// stored once, refused for what is in it, or too old. An item is made text once, so that each attempt sends the same.
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
import type { DiagnosisResults, FeedbackResults } from "./shapes.ts";
import { closed } from "./transport.ts";
import type { Transport } from "./transport.ts";

type QueueOptions = {
  maxQueued: number;
  maxQueuedBytes: number;
  submitTimeout: number;
  waitUntil?: ((promise: Promise<unknown>) => void) | undefined;
};

/** What became of all records and all feedback of a client. */
export type Totals = {
  /** Stored by the service. So is feedback that could not be sent before other feedback took its place. */
  sent: number;
  /** Given up by the client: the queue was full, the mask failed, it is no JSON, or the client was closed. */
  dropped: number;
  /** Refused by the service for what is in it, still refused when the client was closed, or too old. */
  failed: number;
};

/** How many records and pieces of feedback wait or are being sent, and their bytes. */
export type Held = { queued: number; queuedBytes: number };

/** What a queue sends, where to, how many at once, and how many batches at the same time. */
export type Lane = readonly [name: "records" | "feedback", path: string, most: number, sends: number];

export const recordLane: Lane = ["records", "/v1/diagnoses", batchSize, maxSends];
/** One batch follows the other, as the order of feedback counts. */
export const feedbackLane: Lane = ["feedback", "/v1/feedback", feedbackBatchSize, 1];

export type Queue = {
  counts(): Totals & Held;
  /**
   * Queues a body, whose target gets the id of the record. What could not be sent gives way to later items that are `about` the
   * same. Throws if the queue is full.
   */
  add(body: object, target: Target, deployId?: string, about?: string): void;
  /** Counts what is not queued. Of several in a row, only the first emits `drop`. */
  drop(error: PromptLedgerError): void;
  /**
   * Sends all that waits, without delay, and if it is the last time what is set aside too. Resolves when each item is settled
   * or refused for now, or after so many ms.
   */
  flush(timeout: number, isLast?: boolean): Promise<void>;
  /** Gives up what is left, and emits `drop` if that is anything. */
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
  /** How many items may be in its batch: fewer once a batch did not pass as a whole. */
  together: number;
  /** How many items had been stored when it was last sent in vain. */
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
  // Where the process may be frozen after a response, nothing waits for more to go with it.
  const delay = waitUntil ? 0 : batchDelay;
  let sent = 0, dropped = 0, failed = 0, queued = 0, queuedBytes = 0;
  let waiting: Item[] = [];
  /** Items that are not sent for a while, so that they hold up no others. */
  let aside: Item[] = [];
  /** The newest item about each thing. */
  const newest = new Map<string, Item>();
  let sends = 0, flushes = 0, pausedUntil = 0;
  let futile = 0; // batches in a row that came to nothing
  /** Why the last batch that was answered, or was not, must be sent again. */
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

  /** Takes the items of the next batch: from the front, as many as may go together. */
  const take = (): Item[] => {
    // What was sent in vain must not come after what has replaced it.
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
    // Feedback that waits for its record has null for an id.
    const idOf = ({ id, recordId = id }: Result) => recordId;
    const isWanted = ({ results }: { results?: Result[] }) =>
      results?.length === length &&
      results.every?.((result) => isStored(result) ? idOf(result) !== undefined : result?.code);
    let whole: PromptLedgerError | undefined;
    // Why each item was not stored; undefined for those that were.
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
      // The service may refuse a batch for one of its items, which halves find.
      const isCut = length > 1 && whole instanceof InvalidRequestError;
      // Something in between may take offence at one item too, or be in the way of all.
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
          // The deployment may have been switched off for a moment, and others have passed since that item did not.
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
    // What refuses all items may be at fault itself.
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
    while (waiting[0] && sends < (futile > 0 ? 1 : maxSends)) {
      const isDue = flushes > 0 || waiting.length >= most;
      const wait = Math.max(pausedUntil, isDue ? 0 : waiting[0].at + delay) - now();
      if (wait > 0) {
        // A process that ends waits for what was just recorded, but not for a service that is away.
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
          // What is recorded in one go is sent together.
          waitUntil(Promise.resolve().then(() => flush(submitTimeout)));
        } catch {
          // Outside of a request there is nobody to wait. It is sent all the same.
        }
      }
      // A queue that hovers at its bound is one episode.
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
