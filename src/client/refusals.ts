// Converts refusals of the service to errors. Loaded with the first refusal, which many clients never get, so it
// imports nothing that the client contains.
import type { PromptLedgerError } from "./errors.ts";
import type { RateLimitErrorResponse } from "../schema/shapes.ts";

/** Indexes of the error classes passed to `toError`. */
const invalid = 0, unauthorized = 1, notFound = 2, quota = 3, unavailable = 4;

const unexpected = "unexpected_response";

/**
 * Error class and code by status, text, and code or quota reset. A gateway's body may have an `error` too, but not
 * these texts: only they count as the service's own response on a key, a deployment, a quota or a record. A batch whose
 * results have the right form comes from the service: `#` marks them.
 */
const meanings: [pattern: RegExp, kind: number, code: string][] = [
  [
    /^#4(0[049]|13|22) (?!Deploy not )|^4(00|13|22) (Field .+ must be |Missing (required field|or invalid deployId) |Re(quest body|cord) must be (at most|nested) |Idempotency-Key)/,
    invalid,
    "invalid_request",
  ],
  [
    /^#?40[13] (Missing or invalid authorization|(No|Invalid) API key|This key may not) /,
    unauthorized,
    "unauthorized",
  ],
  [/^#?404 Deploy not found or not accessible /, notFound, "deployment_not_found"],
  [/^#?429 Rate limit exceeded (quota_exhausted|\d{10})$/, quota, "quota_exhausted"],
  [/^#?(408|50[0234]) | too_much_feedback$/, unavailable, "unavailable"],
  [/ /, unavailable, unexpected],
];

/** Converts a refusal from `url` to an error: a response or, marked by #, a result of a batch. */
export const toError = (
  kinds: readonly (typeof PromptLedgerError)[],
  url: string,
  apiKey: string | undefined,
  status: number,
  headers: Headers,
  body: unknown,
  mark = "",
): PromptLedgerError => {
  const { error, code, details } = Object(body) as Partial<RateLimitErrorResponse & { code: string }>;
  const text = typeof error === "string" ? error : "";
  const said = `${mark}${status} ${text} ${details?.resetTime ?? code}`;
  const [, kind, standard] = meanings.find(([pattern]) => pattern.test(said))!;
  // Errors of an intermediary may be temporary.
  const retryable = kind === unavailable;
  // A result of a batch has no details, but the response has the headers.
  const [limit, used, reset] = ["Limit", "Used", "Reset"].map((name) => +headers.get(`X-RateLimit-${name}`)!);
  const ofQuota = { limit, used, resetTime: reset!, upgradeUrl: null, ...details };
  const facts = {
    status,
    requestId: headers.get("X-Request-Id") ?? undefined,
    retryAfter: 1000 * +headers.get("Retry-After")! || undefined,
    retryable,
    ...(kind === quota && { ...ofQuota, resetAt: new Date(1000 * ofQuota.resetTime) }),
  };
  const hint = kind === unauthorized && /^plm_/.test(apiKey!) ? ": this is a management token" : "";
  const message = standard !== unexpected && text && text + hint ||
    `Unexpected response ${status} from ${url}: ${text || "is it promptledger?"}`;
  return new kinds[kind]!(!retryable && code || standard, message, facts);
};
