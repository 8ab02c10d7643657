// Sends requests: one attempt with a timeout, retries with back-off, and what a refusal means.
import {
  AuthenticationError,
  InvalidRequestError,
  NotFoundError,
  PromptLedgerError,
  QuotaExceededError,
  tooSlow,
  unavailable,
  UnavailableError,
} from "./errors.ts";
import { firstBackOff, longestRetryAfter, longestWait, refusedFor } from "./limits.ts";
import { within } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";

/** What the JSON of a response with 2xx says, undefined for 304; its headers; when it was asked for, in Unix ms. */
export type Reply = [body: unknown, headers: Headers, sentAt: number];

export type Transport = {
  /**
   * One attempt, which takes `timeout` ms at most. With a body, which is JSON, it is a POST. Rejects with a
   * PromptLedgerError.
   */
  send(path: string, timeout: number, headers?: Record<string, string>, body?: string): Promise<Reply>;
  /** Attempts until one succeeds, fails for good, or there are no more. None begins after `until`, in Unix ms. */
  retry<T>(attempt: () => Promise<T>, retries: number, until?: number): Promise<T>;
  /** How long to leave the service alone after so many failures in a row (from 1), in ms. */
  pauseAfter(error: PromptLedgerError, failures: number, maxMs: number): number;
  /** What a refusal means, be it a response or a result of a batch. */
  errorOf(status: number, headers: Headers, body?: unknown): PromptLedgerError;
  /** Aborts what is under way, and refuses all that is sent later. */
  close(): void;
};

type TransportOptions = {
  url: string;
  apiKey: string | undefined;
  fetch: (request: Request) => Promise<Response>;
};

export function createTransport({ url, apiKey, fetch }: TransportOptions, runtime: Runtime): Transport {
  const { now, hasTimers, startTimer } = runtime;
  const open = new Set<AbortController>();
  let isClosed = false;

  async function send(path: string, timeout: number, headers?: Record<string, string>, body?: string): Promise<Reply> {
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
        // To follow a redirect could send the key in plain text, or make a GET of a POST.
        redirect: "manual",
        // Frameworks cache what their fetch gets. Workers know no such option.
        ...(hasTimers && { cache: "no-store" }),
        signal: abort.signal,
      });
      const exchange = fetch(request).then(async (response): Promise<Reply> => {
        const { ok, status, headers } = response;
        const body: unknown = await response.json().catch(() => undefined);
        if (ok && body || status === 304) return [body, headers, sentAt];
        throw errorOf(status, headers, body);
      });
      // The client does not rely on the fetch that it is given to heed the signal.
      return await within(runtime, timeout, exchange, () => {
        abort.abort();
        throw tooSlow(timeout);
      });
    } catch (thrown) {
      if (thrown instanceof PromptLedgerError) throw thrown;
      const { cause, message } = thrown as { cause?: { message?: string }; message?: string };
      // The message of the cause says more: `fetch failed` is true of everything.
      throw isClosed
        ? closed()
        : unavailable("unreachable", `Cannot reach ${url}: ${cause?.message || message}`, thrown as Error);
    } finally {
      open.delete(abort);
    }
  }

  function errorOf(status: number, headers: Headers, body?: unknown): PromptLedgerError {
    const { error, code, details } = (body ?? {}) as Record<string, { upgradeUrl?: string } | undefined>;
    const isOurs = typeof error === "string", text = `${status}`;
    const message = isOurs ? error : `Unexpected response ${status}. Is ${url} promptledger?`;
    const [limit, used, reset] = ["Limit", "Used", "Reset"].map((name) => +headers.get(`X-RateLimit-${name}`)!);
    const isQuota = status === 429 && reset;
    const standard: [kind: typeof PromptLedgerError, code: string] = isQuota
      ? [QuotaExceededError, "quota_exhausted"]
      : /^40[13]$/.test(text)
      ? [AuthenticationError, "unauthorized"]
      : /^4(00|13|22)$/.test(text)
      ? [InvalidRequestError, "invalid_request"]
      // Unknown paths and proxies answer 404 too, and must not look as if a deployment had been switched off.
      : status === 404 && isOurs && message !== "Not found"
      ? [NotFoundError, "deployment_not_found"]
      : [UnavailableError, isOurs ? "unavailable" : "unexpected_response"];
    const facts = {
      status,
      requestId: headers.get("X-Request-Id") ?? undefined,
      retryAfter: 1000 * +headers.get("Retry-After")! || undefined,
      // A 2xx that is no JSON of ours comes from something in between.
      retryable: /^(2..|408|50[0234])$/.test(text),
      ...(isQuota && { limit, used, resetAt: new Date(1000 * reset), upgradeUrl: details?.upgradeUrl ?? null }),
    };
    return new standard[0](typeof code === "string" ? code : standard[1], message, facts);
  }

  const pauseAfter = ({ retryable, retryAfter = 0 }: PromptLedgerError, failures: number, maxMs: number) =>
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
      await new Promise<void>((resolve) => void startTimer(resolve, pause, true));
      return retry(attempt, retries, until, failures + 1);
    });

  return {
    send,
    errorOf,
    pauseAfter,
    retry,
    close() {
      isClosed = true;
      open.forEach((abort) => abort.abort());
    },
  };
}

/** The error of what is asked of a closed client. */
export const closed = () => new PromptLedgerError("closed", "The client is closed");
