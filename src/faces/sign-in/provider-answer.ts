// Reads responses of an identity provider: bounded in time and size, and only from the requested address. Those that
// seldom change are kept.
import { providerAway, Refusal } from "../../common/errors.ts";
import { describeError } from "../../common/log.ts";
import type { Store } from "../../management/kernel/operation.ts";
import { because } from "./sign-in-fault.ts";

const timeout = 5_000; // ms
const maxBytes = 262_144;

type Sent = { method?: string; headers?: Record<string, string>; body?: URLSearchParams | undefined };

/** Makes a `fetch` that reads whole responses. It throws a refusal if the provider is away, and follows no redirect. */
export const boundedFetch =
  (send: typeof fetch) => async (url: string, { method = "GET", headers = {}, body }: Sent = {}): Promise<Response> => {
    const { host } = new URL(url), signal = AbortSignal.timeout(timeout);
    const refuse = (error: unknown) => {
      const refusal = providerAway(
        signal.aborted ? `${host} did not answer within ${timeout / 1000} s` : `the connection to ${host} failed`,
      );
      throw because(refusal, `${refusal.message}: ${describeError(error)}`);
    };
    // Workers have no other way to follow no redirect.
    const init: RequestInit = { method, headers, redirect: "manual", signal, ...body !== undefined && { body } };
    const response = await send(url, init).catch(refuse);
    const { status } = response, type = response.headers.get("Content-Type") ?? "";
    if (!isAnswer(status)) throw providerAway(`${host} answered with status ${status}`);
    const text = await readBounded(response).catch(refuse);
    if (text === undefined) throw providerAway(`${host} answered with more than ${maxBytes} bytes`);
    try {
      return new Response(text === "" ? null : text, { status, headers: { "Content-Type": type } });
    } catch {
      // A response with this status has no body.
      throw providerAway(`${host} answered with status ${status}`);
    }
  };

/** Accepts 2xx to 4xx. Not every Response constructor refuses a status that does not exist. */
const isAnswer = (status: number): boolean => [2, 3, 4].includes(Math.floor(status / 100));

const mostExchanges = 64; // at once
const longest = 3 * timeout; // ms: an exchange makes three requests, one after the other

/**
 * Bounds the exchanges with a provider at once, since anyone can make the service begin them. The returned function
 * begins one, and returns a function that ends it.
 */
export function boundExchanges(): (now: number) => () => void {
  const running = new Map<symbol, number>(); // when each began
  return (now) => {
    // A Worker whose client has left never ends its exchange.
    for (const [id, began] of running) if (!(now >= began && now < began + longest)) running.delete(id);
    if (running.size >= mostExchanges) throw providerAway(`${mostExchanges} sign-ins wait for its answer`);
    const id = Symbol();
    running.set(id, now);
    return () => void running.delete(id);
  };
}

/** The text of a response; undefined if it is too long. */
async function readBounded({ body }: Response): Promise<string | undefined> {
  const decoder = new TextDecoder(), reader = body?.getReader();
  let text = "", size = 0;
  while (reader !== undefined) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > maxBytes) return await reader.cancel().then(() => undefined);
    text += decoder.decode(value, { stream: true });
  }
  return text + decoder.decode();
}

/** JSON at a URL. Throws a refusal without it. */
export async function readJson(url: string, send: typeof fetch): Promise<unknown> {
  const { host } = new URL(url);
  const response = await boundedFetch(send)(url, { headers: { Accept: "application/json" } });
  if (!response.ok) throw providerAway(`${host} answered with status ${response.status}`);
  return await response.json().catch(() => {
    throw providerAway(`${host} answered with something that is no JSON`);
  });
}

export type Kept<T> = {
  /** The value. Throws a refusal if there has been none yet. */
  get(store: Store): Promise<T>;
  /** The value, read again; undefined if it was read a moment ago. Anyone can trigger this. */
  renew(store: Store): Promise<T | undefined>;
};

const keptFor = 600_000; // ms
// ms between two reads. While a provider is away, one request waits for it, and others get the present value.
const pause = { withValue: 30_000, without: 5_000 };

/** Keeps the result of `read` for ten minutes, or longer while `read` throws a refusal. */
export function keep<T>(read: () => Promise<T>): Kept<T> {
  let kept: { value: T; at: number } | undefined;
  let refusal: Refusal | undefined;
  let tried = NaN; // when it was last read, or is
  // On Workers each request has its own store, and must wait for no other.
  const reading = new WeakMap<Store, Promise<void>>();

  async function readNow({ clock }: Store): Promise<void> {
    if (kept !== undefined) tried = clock();
    try {
      kept = { value: await read(), at: clock() };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refusal = error;
    }
    tried = clock();
  }

  async function readOnce(store: Store): Promise<void> {
    const running = reading.get(store) ?? readNow(store).finally(() => reading.delete(store));
    reading.set(store, running);
    await running;
  }

  // After the clock was set back, the time is over.
  const isWithin = (now: number, start: number, ms: number): boolean => now >= start && now < start + ms;
  const mayRead = ({ clock }: Store): boolean =>
    !isWithin(clock(), tried, kept === undefined ? pause.without : pause.withValue);

  return {
    async get(store) {
      const isFresh = kept !== undefined && isWithin(store.clock(), kept.at, keptFor);
      if (!isFresh && mayRead(store)) await readOnce(store);
      if (kept === undefined) throw refusal;
      return kept.value;
    },
    async renew(store) {
      if (!mayRead(store)) return undefined;
      await readOnce(store);
      return kept?.value;
    },
  };
}
