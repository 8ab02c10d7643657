// Outcomes of model calls, for code that records calls for the application.

/** Status codes of records. 1 and 0 mean the same in every workspace, unless it redefines them. */
export const finished = 1, failed = 0, aborted = 2;

const maxError = 1000; // characters

/** Kind of an error. Some libraries name their errors by class alone. */
export const nameOf = (error: unknown): string => {
  const { name = "Error", constructor } = Object(error) as Error;
  return name === "Error" && error instanceof Error ? constructor.name : name;
};

/** True if the application aborted the call. */
export const isAbort = (error: unknown): boolean =>
  /^(Response|APIUser)?Abort/.test(nameOf(error)) ||
  (Object(error) as Partial<Error>).message === "Request was aborted.";

/** Errors in providers' streams may keep their message in `error`. */
type ErrorLike = { message?: string; error?: unknown };

/** Text of an error for a record. */
export const textOf = (error: unknown): string => {
  const { error: inner, message = String(Object(inner).message ?? error) } = Object(error) as ErrorLike;
  return `${nameOf(error)}: ${message}`.slice(0, maxError);
};
