// Every error of the client. Programs tell them apart by class or by `code`, which stays the same from release to release.

/** What may be known of an error besides its code and message. */
export type ErrorFacts = {
  status?: number;
  requestId?: string | undefined;
  retryable?: boolean;
  retryAfter?: number | undefined;
  cause?: unknown;
};

/**
 * Any error of the client. `message` is written for people.
 *
 * @example
 * if (error instanceof PromptLedgerError && error.retryable) retryLater();
 */
export class PromptLedgerError extends Error {
  override name = "PromptLedgerError";
  /** The reason, for programs: `deployment_not_found`, `quota_exhausted`, `timeout` and so on. */
  declare readonly code: string;
  /** The status of the response; undefined if there was none. */
  declare readonly status: number | undefined;
  /** The id under which the service has logged the request; undefined if there was no response. */
  declare readonly requestId: string | undefined;
  /** Whether the same request may succeed if it is sent again. */
  declare readonly retryable: boolean;
  /** How long the service asked to wait before that, in ms. */
  declare readonly retryAfter: number | undefined;

  constructor(code: string, message: string, facts: ErrorFacts = {}) {
    super(message, facts);
    Object.assign(this, { retryable: false, ...facts, code });
  }
}

/**
 * The key is missing, invalid, revoked or expired (401), or is not for this kind of request (403).
 *
 * @example
 * if (error instanceof AuthenticationError) console.error("PROMPTLEDGER_API_KEY is wrong");
 */
export class AuthenticationError extends PromptLedgerError {
  override name = "AuthenticationError";
}

/**
 * The service refused what was sent: 400, 413 or 422. The message names the field.
 *
 * @example
 * if (error instanceof InvalidRequestError) console.error(error.message);
 */
export class InvalidRequestError extends PromptLedgerError {
  override name = "InvalidRequestError";
}

/**
 * The deployment is unknown, inactive or archived, or not for this key (404).
 *
 * @example
 * if (error instanceof NotFoundError) return fallback;
 */
export class NotFoundError extends PromptLedgerError {
  override name = "NotFoundError";
}

/**
 * The month's quota of the workspace is used (429).
 *
 * @example
 * if (error instanceof QuotaExceededError) console.error(`Used until ${error.resetAt.toISOString()}`);
 */
export class QuotaExceededError extends PromptLedgerError {
  override name = "QuotaExceededError";
  /** Requests that the workspace has a month. */
  declare readonly limit: number;
  /** Requests that were accepted this month. */
  declare readonly used: number;
  /** When the next month begins. */
  declare readonly resetAt: Date;
  /** Where a higher limit can be had, if the operator has said. */
  declare readonly upgradeUrl: string | null;
}

/**
 * The service cannot be reached, is too slow or overloaded, or what answers is not promptledger.
 *
 * @example
 * if (error instanceof UnavailableError) return fallback;
 */
export class UnavailableError extends PromptLedgerError {
  override name = "UnavailableError";
}

/**
 * `fill` has no value for some variables.
 *
 * @example
 * if (error instanceof MissingVariablesError) console.error(error.names);
 */
export class MissingVariablesError extends PromptLedgerError {
  override name = "MissingVariablesError";
  /** The variables, in order of their first appearance. */
  declare readonly names: readonly string[];

  constructor(names: readonly string[]) {
    super("missing_variables", `Variables without a value: ${names.join(", ")}`);
    this.names = names;
  }
}

/** The code of a response that is not the service's own. */
export const unexpected = "unexpected_response";

/** Throws the error of an option or an argument, unless it can be used. */
export const need = (isUsable: unknown, message: string): void => {
  if (!isUsable) throw new PromptLedgerError("invalid_argument", message);
};

/** Any value that was thrown, as an error of the client. Most come of records. */
export const toClientError = (cause: unknown, code = "invalid_record"): PromptLedgerError =>
  cause instanceof PromptLedgerError ? cause : new PromptLedgerError(code, String(cause), { cause });

/** The service is not there for now. */
export const unavailable = (code: string, message: string, cause?: object): UnavailableError =>
  new UnavailableError(code, message, { retryable: true, cause });

/** There was no response in time. */
export const tooSlow = (ms: number): UnavailableError => unavailable("timeout", `No response within ${ms} ms`);
