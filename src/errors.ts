// Every refusal, and the only home of the texts a client can read. Which status a kind has is known to http/respond.ts.

/** The kinds of refusal. All but `internal` are the caller's to mend. */
export type ErrorKind =
  | "unauthorized"
  | "invalid"
  | "too_large"
  | "not_found"
  | "method_not_allowed"
  | "quota_exhausted"
  | "conflict"
  | "internal";

/** A refusal; `message` is written for the caller and never repeats what the caller sent, but for ids. */
export class Refusal extends Error {
  readonly kind: ErrorKind;

  constructor(kind: ErrorKind, message: string) {
    super(message);
    this.name = "Refusal";
    this.kind = kind;
  }
}

export const missingAuthorization = () => new Refusal("unauthorized", "Missing or invalid authorization header");
export const noApiKey = () => new Refusal("unauthorized", "No API key provided");
export const invalidApiKey = () => new Refusal("unauthorized", "Invalid API key");
export const invalidDeployId = () => new Refusal("invalid", "Missing or invalid deployId parameter");
export const invalid = (message: string) => new Refusal("invalid", message);
export const bodyTooLarge = (limit: number) => new Refusal("too_large", `Request body must be at most ${limit} bytes`);
export const deployNotFound = () => new Refusal("not_found", "Deploy not found or not accessible");
export const invalidTarget = () => new Refusal("invalid", "Request target or Host header must be valid");
export const unknownPath = () => new Refusal("not_found", "Not found");
export const methodNotAllowed = () => new Refusal("method_not_allowed", "Method not allowed");
export const quotaExhausted = () => new Refusal("quota_exhausted", "Rate limit exceeded");
export const internalError = () => new Refusal("internal", "Internal server error");

/** A management call named something that is not there: `Workspace ws_1 not found`. */
export const notFound = (noun: string, id: string) => new Refusal("not_found", `${noun} ${id} not found`);
/** A management call asked for something that cannot be, as things stand. */
export const conflict = (message: string) => new Refusal("conflict", message);
