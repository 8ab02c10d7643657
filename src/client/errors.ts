// Errors of the client. Programs tell them apart by class or by `code`, which is stable across releases.

/** Optional properties of an error. */
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
  /** HTTP status of the response; undefined if there was none. */
  declare readonly status: number | undefined;
  /** Id of the request in the service's log; undefined if there was no response. */
  declare readonly requestId: string | undefined;
  /** True if the same request may succeed when it is sent again. */
  declare readonly retryable: boolean;
  /** Delay that the service asked for before that, in ms. */
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
 * The service refused the request: 400, 413 or 422. The message names the field.
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
  /** Monthly request limit of the workspace. */
  declare readonly limit: number;
  /** Requests accepted this month. */
  declare readonly used: number;
  /** Start of the next month. */
  declare readonly resetAt: Date;
  /** URL for a higher limit; null if the operator has not set one. */
  declare readonly upgradeUrl: string | null;
}

/**
 * The service is unreachable, too slow or overloaded, or the response is not from promptledger.
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

/** Code of a response that did not come from the service. */
export const unexpected = "unexpected_response";

/** Throws an `invalid_argument` error unless the value is usable. */
export const need = (isUsable: unknown, message: string): void => {
  if (!isUsable) throw new PromptLedgerError("invalid_argument", message);
};

/** Converts any thrown value to an error of the client. The default code is for records. */
export const toClientError = (cause: unknown, code = "invalid_record"): PromptLedgerError =>
  cause instanceof PromptLedgerError ? cause : new PromptLedgerError(code, String(cause), { cause });

/** Retryable error: the service is unavailable. */
export const unavailable = (code: string, message: string, cause?: object): UnavailableError =>
  new UnavailableError(code, message, { retryable: true, cause });

/** Error for a request that timed out. */
export const tooSlow = (ms: number): UnavailableError => unavailable("timeout", `No response within ${ms} ms`);
