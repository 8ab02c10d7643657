// The field of a refusal, where the code that refuses knows only a part of the input.
import { Refusal, refusalAt } from "../../common/errors.ts";

/** Adds the member of an input that has the id which a refusal is about. Other errors stay as they are. */
export function withField(error: unknown, input: object): unknown {
  if (!(error instanceof Refusal) || error.field !== undefined || error.id === undefined) return error;
  const [field] = Object.entries(input).find(([, value]) => value === error.id) ?? [];
  return field === undefined ? error : refusalAt(field, error);
}

/** Makes a refusal one of a part of the input. `path` leads to the part: `prompts[0]`. */
export const withPath = (path: string, error: unknown): unknown =>
  error instanceof Refusal ? refusalAt(error.field === undefined ? path : `${path}.${error.field}`, error) : error;

/** Reads a part of the input, whose refusals then have its path. */
export function within<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw withPath(path, error);
  }
}
