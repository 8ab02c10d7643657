// Records a call by what a provider's client gives: a response, a stream of its parts, or a promise of either.
import { aborted, failed, finished, isAbort, textOf } from "../outcome.ts";
import type { ModelCall, Outcome } from "../prompt.ts";

/** What a response says of its call. */
export type Read = {
  model?: string | undefined;
  usage?: object | null | undefined;
  output: unknown;
  id?: string | undefined;
  /** Why the model stopped. Without it, a stream was cut off or aborted. */
  reason?: string | null | undefined;
  /** Why it failed. */
  error?: string | undefined;
};

/** How the responses of a provider are read. */
export type Format<Whole> = {
  /** Adds a part of a stream to what came before, so that in the end this is like a response. */
  add(whole: Partial<Whole>, part: object): void;
  read(whole: Partial<Whole>): Read;
};

/** What else is recorded. It wins over what the response says. */
export type RecordedWith = Partial<Outcome>;

/** A stream gives the same parts. Anything else is given as it is. */
export type Recorded<Response> = Response extends AsyncIterable<infer Part> ? AsyncIterable<Part> : Response;

/** Records a call by a response. Resolves with the response, or rejects with its error. */
export type RecordResponse = <Response>(
  call: Pick<ModelCall, "done">,
  response: Response | PromiseLike<Response>,
  recordedWith?: RecordedWith,
) => Promise<Recorded<Response>>;

/** Whether the application has aborted a stream. Those of OpenAI's and Anthropic's clients end without an error then. */
const isAborted = (stream: object): boolean =>
  (stream as { controller?: Partial<AbortController> }).controller?.signal?.aborted === true;

/** Makes the function that records the responses of a provider. */
export const recordBy = <Whole extends object>({ add, read }: Format<Whole>): RecordResponse => {
  type Part = object;

  const readSafely = (whole: Partial<Whole>): Read => {
    try {
      return read(whole);
    } catch {
      // Of another form than we know. It must not cost the application its response.
      return { output: whole };
    }
  };

  return async <Response>(
    { done }: Pick<ModelCall, "done">,
    response: Response | PromiseLike<Response>,
    recordedWith: RecordedWith = {},
  ): Promise<Recorded<Response>> => {
    const end = (whole: Partial<Whole>, statusOf: (read: Read) => number, thrown?: string): void => {
      const { id, reason, error = thrown, ...known } = readSafely(whole);
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
      end(whole, () => isAbort(error) ? aborted : failed, textOf(error));

    async function* pass(parts: AsyncIterable<Part>): AsyncGenerator<Part> {
      const whole: Partial<Whole> = {};
      let unfinished = aborted; // if the application leaves the loop
      try {
        for await (const part of parts) {
          try {
            add(whole, part);
          } catch {
            // As above.
          }
          yield part;
        }
        if (!isAborted(parts)) unfinished = failed;
      } catch (error) {
        fail(whole, error);
        throw error;
      } finally {
        // After an error, this is no longer the first time.
        end(whole, ({ reason, error }) => error ? failed : reason ? finished : unfinished);
      }
    }

    let given: Response;
    try {
      given = await response;
    } catch (error) {
      fail({}, error);
      throw error;
    }
    if (Symbol.asyncIterator in Object(given)) return pass(given as AsyncIterable<Part>) as Recorded<Response>;
    end(given as Partial<Whole>, ({ error }) => error ? failed : finished);
    return given as Recorded<Response>;
  };
};

/** A text if there is nothing else, and otherwise all of it. */
export const joinTexts = <T>(items: T[], textOf: (item: T) => string | null | undefined): unknown => {
  const texts = items.map(textOf);
  return texts.every((text) => typeof text === "string") ? texts.join("") : items;
};
