// Records a call from the result of a provider's client: a response, a stream of its parts, a helper that collects one,
// the raw HTTP response, or an object with one of these.
import { aborted, failed, finished, isAbort, textOf } from "../outcome.ts";
import type { ModelCall, Outcome } from "../prompt.ts";

/** Data of a call, read from its response. */
export type Read = {
  model?: string | undefined;
  usage?: object | null | undefined;
  output: unknown;
  id?: string | undefined;
  /** Reason why the model stopped. Without it, a stream was cut off or aborted. */
  reason?: string | null | undefined;
  /** Reason for the failure. */
  error?: string | undefined;
};

/** Reader of a provider's responses. */
export type Format<Whole> = {
  /** Adds a part of a stream to `whole`, which in the end resembles a response. */
  add(whole: Partial<Whole>, part: object): void;
  read(whole: Partial<Whole>): Read;
};

/** Further data to record. Overrides the data of the response. */
export type RecordedWith = Partial<Outcome>;

/** The response, unchanged. The parts of a stream are recorded while the application reads them. */
export type Recorded<Response> = Response;

/** Records a call by a response. Resolves with the response, or rejects with its error. */
export type RecordResponse = <Response>(
  call: Pick<ModelCall, "done">,
  response: Response | PromiseLike<Response>,
  recordedWith?: RecordedWith,
) => Promise<Recorded<Response>>;

/** Sets the non-empty members of a part. A last part may have empty ones. */
export const merge = (whole: object, part: object): void => {
  for (const [name, value] of Object.entries(part)) {
    if (value !== undefined && value !== null && value !== "") Object.assign(whole, { [name]: value });
  }
};

type Parts = AsyncIterable<object> & {
  controller?: Partial<AbortController>;
  /** Makes the iterators of OpenAI's and Anthropic's streams, for `tee` too. */
  iterator?: () => AsyncIterator<object>;
  next?: unknown;
};

/** A stream that emits its parts, and that the application may leave unread: Anthropic's `messages.stream`. */
type Helper = Parts & { on(event: string, listener: (value: object) => void): unknown };

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
const isParts = (value: unknown): value is Parts => Symbol.asyncIterator in Object(value);
const isHelper = (value: Parts): value is Helper => typeof (value as Partial<Helper>).on === "function";
const isHttp = (value: unknown): value is Response =>
  isObject(value) && typeof value.clone === "function" && isObject(value.headers) && typeof value.status === "number";

/** True if the application aborted a stream. Those of OpenAI's and Anthropic's clients then end without an error. */
const isAborted = ({ controller }: Parts): boolean => controller?.signal?.aborted === true;

/** Creates the function that records the responses of a provider. */
export const recordBy = <Whole extends object>({ add, read }: Format<Whole>): RecordResponse => {
  const readSafely = (whole: Partial<Whole>): Read => {
    try {
      return read(whole);
    } catch {
      // An unknown format must not fail the application's call.
      return { output: whole };
    }
  };

  const addSafely = (whole: Partial<Whole>, part: object): void => {
    try {
      add(whole, part);
    } catch {
      // As above.
    }
  };

  return async <Response>(
    { done }: Pick<ModelCall, "done">,
    response: Response | PromiseLike<Response>,
    recordedWith: RecordedWith = {},
  ): Promise<Recorded<Response>> => {
    const end = (read: Read, statusOf: (read: Read) => number, thrown?: string): void => {
      const { id, reason, error = thrown, ...known } = read;
      const status = statusOf({ ...known, reason, error });
      const isCutOff = status === failed && !error;
      const facts = { response_id: id, finish_reason: reason ?? (isCutOff ? "interrupted" : undefined), error };
      done({
        status,
        ...known,
        ...recordedWith,
        additional_properties: { ...facts, ...recordedWith.additional_properties },
      });
    };
    const fail = (whole: Partial<Whole>, error: unknown): void =>
      end(readSafely(whole), () => isAbort(error) ? aborted : failed, textOf(error));
    /** `unfinished` is the status of a stream without a reason why the model stopped. */
    const endParts = (whole: Partial<Whole>, unfinished: number): void =>
      end(readSafely(whole), ({ reason, error }) => error ? failed : reason ? finished : unfinished);
    const endWhole = (whole: unknown): void => {
      const { id, model, usage, output, error, ...known } = readSafely(Object(whole));
      // Without any known member, the response is recorded unchanged.
      const isKnown = id ?? model ?? usage ?? error ?? (output || undefined);
      end(
        { ...known, id, model, usage, error, output: isKnown === undefined ? whole : output },
        ({ error }) => error ? failed : finished,
      );
    };

    async function* pass(stream: Parts, parts: AsyncIterable<object>): AsyncGenerator<object> {
      const whole: Partial<Whole> = {};
      let unfinished = aborted; // if the application leaves the loop
      try {
        for await (const part of parts) {
          addSafely(whole, part);
          yield part;
        }
        if (!isAborted(stream)) unfinished = failed;
      } catch (error) {
        fail(whole, error);
        throw error;
      } finally {
        // Ignored after an error, as only the first end counts.
        endParts(whole, unfinished);
      }
    }

    /** Records the first iteration of a stream, which is otherwise unchanged. */
    const watch = (stream: Parts): Parts => {
      const { iterator } = stream, hasIterator = typeof iterator === "function";
      const own = hasIterator ? iterator : stream[Symbol.asyncIterator];
      const read = () => own.call(stream);
      const parts = pass(stream, { [Symbol.asyncIterator]: read });
      // A generator is read by its own methods.
      if (typeof stream.next === "function") return parts as Parts;
      let isFirst = true;
      const value = () => {
        if (!isFirst) return read();
        isFirst = false;
        return parts;
      };
      try {
        for (const name of [Symbol.asyncIterator, ...hasIterator ? ["iterator"] : []]) {
          Object.defineProperty(stream, name, { value, configurable: true, writable: true });
        }
        return stream;
      } catch {
        return parts;
      }
    };

    /** Records the events of a helper, which runs even if the application does not iterate it. */
    const listen = (helper: Helper): void => {
      const whole: Partial<Whole> = {};
      for (const name of ["streamEvent", "event", "chunk"]) helper.on(name, (part) => addSafely(whole, part));
      for (const name of ["error", "abort"]) helper.on(name, (error) => fail(whole, error));
      helper.on("end", () => endParts(whole, isAborted(helper) ? aborted : failed));
    };

    /** Reads a copy of the body, as the application reads the body itself. */
    const readBody = async (response: globalThis.Response): Promise<void> => {
      const whole: Partial<Whole> = {};
      try {
        const text = await response.clone().text();
        const lines = Array.from(text.matchAll(/^data: ?(\{.*)$/gm), ([, line]) => JSON.parse(line!));
        const body = lines.length > 0 ? lines : JSON.parse(text);
        if (!response.ok) fail(whole, new Error(`HTTP ${response.status}`));
        else if (!Array.isArray(body)) endWhole(body);
        else {
          for (const part of body) addSafely(whole, part);
          endParts(whole, failed);
        }
      } catch (error) {
        fail(whole, error);
      }
    };

    const observe = (value: unknown): unknown => {
      const { data, stream, response } = Object(value);
      if (isParts(value)) {
        if (!isHelper(value)) return watch(value);
        listen(value);
      } else if (isHttp(value)) void readBody(value);
      // Results of `withResponse`, and of Vertex AI's older client.
      else if (isHttp(response) && data !== undefined) return { ...value as object, data: observe(data) };
      else if (isParts(stream)) return { ...value as object, stream: observe(stream) };
      else endWhole(isObject(response) ? response : value);
      return value;
    };

    let given: Response;
    try {
      given = await response;
    } catch (error) {
      fail({}, error);
      throw error;
    }
    return observe(given) as Recorded<Response>;
  };
};

/** Joins the texts of the items if all have one, otherwise returns the items. */
export const joinTexts = <T>(items: T[], textOf: (item: T) => string | null | undefined): unknown => {
  const texts = items.map(textOf);
  return texts.every((text) => typeof text === "string") ? texts.join("") : items;
};
