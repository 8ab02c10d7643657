// How calls of a model end, for what records them in the application's place.

/** Status codes of records. 1 and 0 mean the same in every workspace, unless it says otherwise. */
export const finished = 1, failed = 0, aborted = 2;

const maxError = 1000; // characters

/** What kind of error something is. Some libraries name their errors by class alone. */
export const nameOf = (error: unknown): string => {
  const { name = "Error", constructor } = Object(error) as Error;
  return name === "Error" && error instanceof Error ? constructor.name : name;
};

/** Whether an error says that the application wanted no more. */
export const isAbort = (error: unknown): boolean =>
  /^(Response|APIUser)?Abort/.test(nameOf(error)) ||
  (Object(error) as Partial<Error>).message === "Request was aborted.";

/** Providers' errors in streams have what they say in a member. */
type ErrorLike = { message?: string; error?: unknown };

/** An error as a record has it. */
export const textOf = (error: unknown): string => {
  const { error: inner, message = String(Object(inner).message ?? error) } = Object(error) as ErrorLike;
  return `${nameOf(error)}: ${message}`.slice(0, maxError);
};
