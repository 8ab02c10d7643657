// The client: combines prompts, records and feedback.
/// <reference lib="esnext.disposable" preserve="true" />
import { need, toClientError } from "./errors.ts";
import { createEvents } from "./events.ts";
import type { ClientEvents } from "./events.ts";
import type { GivenFeedback } from "./feedback.ts";
import { openSnapshot } from "./kept.ts";
import { flushTime } from "./limits.ts";
import { readOptions } from "./options.ts";
import type { ClientOptions } from "./options.ts";
import type { Calls, KnownPrompt, Prompt, TypedPrompt } from "./prompt.ts";
import { createPrompts } from "./prompts.ts";
import type { PromptOptions } from "./prompts.ts";
import { createQueue, feedbackLane, recordLane } from "./queue.ts";
import type { Held, Queue, Totals } from "./queue.ts";
import { maskRecord } from "./record.ts";
import { steady, within } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";
import type { DiagnosisItem, DiagnosisResponse } from "../schema/shapes.ts";
import { closed, createTransport } from "./transport.ts";

/** Activity and queue sizes of a client. */
export type ClientStats = Totals & Held & {
  /** Reads that the service answered with a prompt. Each counts against the quota. */
  reads: number;
};

/** Reads a prompt by id or, for prompts described by `promptledger types`, by a known reference. */
type ReadPrompt<Known> = unknown extends Known
  // The type of a fallback must not become that of the served prompt.
  ? <Config = Record<string, unknown>>(
    deployId: string,
    options?: PromptOptions<NoInfer<Config>>,
  ) => Promise<Prompt<Config>>
  : <Reference extends keyof Known & string>(
    deployId: Reference,
    options?: PromptOptions<Known[Reference] extends KnownPrompt ? Known[Reference]["llmConfig"] : never>,
  ) => Promise<Known[Reference] extends KnownPrompt ? TypedPrompt<Known[Reference]> : never>;

/** A client of one service, with one key. `Known` is the type `Prompts` that `promptledger types` writes. */
export type Client<Known = unknown> = {
  /**
   * The active prompt of a deployment, by its id or reference. With a `fallback` it never rejects. Otherwise it rejects
   * with a PromptLedgerError if there is neither a response nor a copy that may be served.
   */
  prompt: ReadPrompt<Known>;
  /** Stores a record and resolves with its id. Rejects with a PromptLedgerError. */
  submit(record: DiagnosisItem): Promise<{ id: string }>;
  /** Queues a record. Never throws. */
  record(record: DiagnosisItem): void;
  /**
   * Queues feedback on a record, named by its id or, for two days, by the idempotency key that it was or will be sent
   * under. Never throws.
   */
  feedback(record: string, given: GivenFeedback): void;
  /** Sends all queued items without delay. Resolves when they are settled, or after `timeout` ms (default: 5,000). */
  flush(options?: { timeout?: number }): Promise<void>;
  /** Adds a listener for events from now on. Returns a function that removes it. */
  on<Name extends keyof ClientEvents>(name: Name, listener: (event: ClientEvents[Name]) => void): () => void;
  stats(): ClientStats;
  /**
   * Sends queued items for at most `timeout` ms (default: 5,000), aborts everything in progress, and resolves with the
   * totals of this client's records and feedback. Never rejects.
   */
  close(options?: { timeout?: number }): Promise<Totals>;
  [Symbol.asyncDispose](): Promise<void>;
};

const sum = <T extends Totals>(ofRecords: T, ofFeedback: T): T => {
  for (const name in ofRecords) (ofRecords[name] as number) += ofFeedback[name] as number;
  return ofRecords;
};

/** Creates a client on a runtime. Opens and starts nothing: Workers allow neither before a request. */
export const createClientOn = (host: Runtime, given: ClientOptions): Client => {
  const { now } = host;
  const runtime = { ...host, now: steady(now) };
  const options = readOptions(given, runtime);
  const { url, apiKey, mask, snapshot: kept, submitTimeout, retries } = options;
  const events = createEvents();
  const transport = createTransport(options, runtime);
  const [records, pieces] = [recordLane, feedbackLane].map((lane) =>
    createQueue(options, transport, events, runtime, lane)
  ) as [Queue, Queue];
  const useSnapshot = openSnapshot(kept, `${url} ${apiKey?.slice(3, 9)} `, now, events);
  let closing: Promise<Totals> | undefined;

  const enqueue = (queue: Queue, code: string, add: () => void): void => {
    try {
      if (closing) throw closed();
      transport.touch();
      add();
    } catch (error) {
      queue.drop(toClientError(error, code));
    }
  };

  const calls: Calls = {
    now,
    record: (make, target = { about: "", record: "" }) =>
      enqueue(records, "invalid_record", () => {
        const masked = maskRecord(make(), mask, now());
        target.record = masked?.idempotencyKey;
        if (masked) records.add(masked, target, masked.deployId);
      }),
    feedback: (target, given) =>
      enqueue(pieces, "invalid_feedback", () => {
        const { about, record, id = record } = target;
        const { name, value, author = "" } = given;
        // JSON would turn NaN into null, which withdraws.
        need(value === null || JSON.stringify(value) !== "null", "value must be finite");
        pieces.add({ ...given, record: id }, target, "", JSON.stringify([about, name, author]));
      }),
    feedbackToken(target, given) {
      // Captures the record's name and the time of the call.
      const known = { ...target }, at = now();
      return import("./token.ts").then(({ makeToken }) => makeToken(need, apiKey, known, given, at))
        .catch((error: unknown) => {
          throw toClientError(error, "invalid_argument");
        });
    },
  };

  const prompts = createPrompts(options, transport, useSnapshot, events, calls, runtime);

  const submit = async (record: DiagnosisItem): Promise<{ id: string }> => {
    try {
      const masked = maskRecord(record, mask, now());
      need(masked, "The mask left out the record");
      const { deployId, idempotencyKey, ...body } = masked!;
      // A header trims some characters and rejects others, as if the service were unreachable.
      need(/^[ -~]{1,255}$/.test(idempotencyKey!), "idempotencyKey must be 1 to 255 printable ASCII characters");
      const path = `/v1/diagnosis?deployId=${encodeURIComponent(deployId)}`;
      const headers = { "Idempotency-Key": JSON.stringify(idempotencyKey) };
      const text = JSON.stringify(body);
      const isStored = ({ id, status }: Partial<DiagnosisResponse>) => id && status === "success";
      const attempt = () => {
        transport.touch(submitTimeout);
        return transport.send<DiagnosisResponse>(path, submitTimeout, isStored, headers, text);
      };
      return (await transport.retry(attempt, retries))[0];
    } catch (error) {
      throw toClientError(error);
    }
  };

  const flush = async (timeout: number, isLast?: boolean): Promise<void> => {
    await Promise.all([records.flush(timeout, isLast), pieces.flush(timeout, isLast)]);
  };

  const close = ({ timeout = flushTime } = {}): Promise<Totals> =>
    closing ??= (async () => {
      prompts.stop();
      await flush(timeout, true);
      const totals = sum(records.abandon(), pieces.abandon());
      await within(runtime, timeout, useSnapshot((snapshot) => snapshot.close()));
      events.close();
      transport.close();
      return totals;
    })();

  return {
    prompt: prompts.get as Client["prompt"],
    submit,
    record: (item) => calls.record(() => item),
    feedback: (record, given) => calls.feedback({ about: record, record }, given),
    flush: ({ timeout = flushTime } = {}) => flush(timeout),
    on: events.on,
    stats: () => ({ reads: prompts.reads(), ...sum(records.counts(), pieces.counts()) }),
    close,
    [Symbol.asyncDispose]: close as () => Promise<never>,
  };
};
