// Sends requests: one attempt with a timeout, retries with back-off, and errors for refusals.
import {
  AuthenticationError,
  InvalidRequestError,
  NotFoundError,
  PromptLedgerError,
  QuotaExceededError,
  tooSlow,
  unavailable,
  UnavailableError,
  unexpected,
} from "./errors.ts";
import {
  activeTime,
  firstBackOff,
  idleTime,
  longestRetryAfter,
  longestWait,
  maxResponseBytes,
  refusedFor,
} from "./limits.ts";
import { within } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";

/** JSON of a response, undefined for 304; its headers; and the time of the request, in Unix ms. */
export type Reply<T> = [body: T, headers: Headers, sentAt: number];

export type Transport = {
  /**
   * Makes one attempt, which takes at most `timeout` ms, and less once the application is idle. A `body`, which is
   * JSON, makes it a POST. Rejects with a PromptLedgerError if the response is an error or fails `isWanted`, which
   * receives the members of the body. Accepts 304 if it has the tag in `If-None-Match`.
   */
  send<T>(
    path: string,
    timeout: number,
    isWanted: (body: Partial<NonNullable<T>>) => unknown,
    headers?: Record<string, string>,
    body?: string,
  ): Promise<Reply<T>>;
  /** Marks the application as active for `ms`. */
  touch(ms?: number): void;
  /**
   * Repeats an attempt until it succeeds, fails for good, or `retries` are used up. None begins after `until` (Unix
   * ms).
   */
  retry<T>(attempt: () => Promise<T>, retries: number, until?: number): Promise<T>;
  /** Time to wait after so many failures in a row (from 1), in ms. */
  pauseAfter(error: { retryable: boolean; retryAfter?: number | undefined }, failures: number, maxMs: number): number;
  /** Converts a refusal to an error: a response or, marked by #, a result of a batch. */
  errorOf(status: number, headers: Headers, body: unknown, mark?: "#"): Promise<PromptLedgerError>;
  /** Aborts requests in progress, and rejects later ones. */
  close(): void;
};

type TransportOptions = {
  url: string;
  apiKey: string | undefined;
  fetch: (request: Request) => Promise<Response>;
};

let refusals: Promise<typeof import("./refusals.ts")> | undefined;

/** Loads the error conversion. */
export const loadRefusals = () => refusals ??= import("./refusals.ts");

export const createTransport = ({ url, apiKey, fetch }: TransportOptions, runtime: Runtime): Transport => {
  const { now, hasTimers, startTimer } = runtime;
  const open = new Set<AbortController>();
  let isClosed = false;
  let activeUntil = 0;

  const send = async <T>(
    path: string,
    timeout: number,
    isWanted: (body: Partial<NonNullable<T>>) => unknown,
    headers: Record<string, string> = {},
    body?: string,
  ): Promise<Reply<T>> => {
    const sentAt = now();
    const abort = new AbortController();
    open.add(abort);
    try {
      if (isClosed) throw closed();
      const request = new Request(url + path, {
        ...(body && { method: "POST", body }),
        headers: {
          "Content-Type": "application/json",
          ...(apiKey && { Authorization: `Bearer ${apiKey}` }),
          ...headers,
        },
        // Following a redirect could send the key in plain text, or turn a POST into a GET.
        redirect: "manual",
        // Frameworks cache fetched responses. Workers do not support this option.
        ...(hasTimers && { cache: "no-store" }),
        signal: abort.signal,
      });
      const exchange = fetch(request).then(async (response): Promise<Reply<T>> => {
        const { ok, status, headers: received } = response;
        const body = await readJson(response);
        // A 304 from the service has the tag that was sent, which a proxy may have weakened before.
        if (status === 304 ? headers["If-None-Match"]?.endsWith(received.get("ETag")!) : ok && isWanted(Object(body))) {
          return [body as T, received, sentAt];
        }
        throw await errorOf(status, received, body);
      });
      let left = timeout;
      // The client does not rely on the given fetch to respect the signal.
      const wait = (ms: number): Promise<Reply<T>> =>
        within(runtime, ms, exchange, () => {
          left -= ms;
          ms = Math.min(left, activeUntil - now());
          if (ms > 0) return wait(ms);
          throw tooSlow(timeout - left);
        });
      return await wait(Math.min(left, idleTime));
    } catch (thrown) {
      if (thrown instanceof PromptLedgerError) throw thrown;
      const { cause, message } = thrown as { cause?: { message?: string }; message?: string };
      // The cause has the details: `fetch failed` is the message of any failure.
      throw isClosed
        ? closed()
        : unavailable("unreachable", `Cannot reach ${url}: ${cause?.message || message}`, thrown as Error);
    } finally {
      open.delete(abort);
      // Cancels a body that was not read.
      abort.abort();
    }
  };

  const errorOf: Transport["errorOf"] = async (...refusal) => {
    try {
      const { toError } = await loadRefusals();
      return toError(
        [InvalidRequestError, AuthenticationError, NotFoundError, QuotaExceededError, UnavailableError],
        url,
        apiKey,
        ...refusal,
      );
    } catch (error) {
      return unavailable(unexpected, String(error), error as Error);
    }
  };

  const pauseAfter: Transport["pauseAfter"] = ({ retryable, retryAfter = 0 }, failures, maxMs) =>
    retryable
      ? Math.max(
        Math.min(retryAfter, longestRetryAfter),
        Math.min(maxMs, firstBackOff * 2 ** (failures - 1)) * (0.5 + Math.random() / 2),
      )
      : refusedFor;

  const retry = <T>(attempt: () => Promise<T>, retries: number, until = Infinity, failures = 1): Promise<T> =>
    attempt().catch(async (error: PromptLedgerError) => {
      const pause = pauseAfter(error, failures, longestWait);
      const isLast = failures > retries || error.retryAfter! > longestRetryAfter || now() + pause >= until;
      if (!error.retryable || isLast) throw error;
      await new Promise<void>((resolve) => startTimer(resolve, pause, true));
      return retry(attempt, retries, until, failures + 1);
    });

  return {
    send,
    errorOf,
    pauseAfter,
    retry,
    touch(ms = activeTime) {
      activeUntil = Math.max(activeUntil, now() + ms);
    },
    close() {
      isClosed = true;
      open.forEach((abort) => abort.abort());
    },
  };
};

/** Reads the JSON of a body. Undefined if it is not JSON, or too large. */
const readJson = ({ body }: Response): Promise<unknown> => {
  let size = 0;
  const bounded = body?.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        size += chunk.length;
        if (size > maxResponseBytes) controller.error();
        else controller.enqueue(chunk);
      },
    }),
  );
  return new Response(bounded).json().catch(() => undefined);
};

/** Error for a request to a closed client, or for items left in it. */
export const closed = (message = "The client is closed") => new PromptLedgerError("closed", message);
