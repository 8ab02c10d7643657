// The cause of a refused sign-in for the log, in the words of the libraries that check it, without secrets.
import { Refusal } from "../../common/errors.ts";

/** Adds a cause for the log to a refusal. The client does not see it. */
export const because = (refusal: Refusal, cause: string): Refusal => Object.assign(refusal, { cause });

/** Cause of a refusal. Role refusals name the person: for the log, only their code. */
export function causeOf({ cause, code, message }: Refusal): string {
  if (typeof cause === "string") return cause;
  return ["invalid_sign_in", "provider_away"].includes(code) ? message : code;
}

const minSecret = 8; // characters. Anyone may send a code, such as a letter
const maxText = 160; // characters of a value or a text of the provider

type Members = Record<string, unknown>;

/** Members that the libraries add to their errors. */
type Detail = {
  code?: string;
  /** An error and its description in the provider's words, and the status of its response. */
  error?: string;
  error_description?: string;
  status?: number;
  /** The claims of a token, and the name of the one at fault. */
  payload?: Members;
  claims?: Members;
  claim?: string;
  /** A document, and the name of its member at fault. */
  body?: Members;
  attribute?: string;
  /** The header of a token, whose algorithm is at fault. */
  header?: Members;
  expected?: unknown;
};

/** The names of values that are neither secret nor a person's data. */
const openNames = new Set(["iss", "aud", "azp", "alg", "issuer"]);

/** Describes an error of the libraries. `secrets` are blanked out, should the provider repeat them. */
export function describeFault(error: unknown, secrets: readonly string[]): string {
  if (error instanceof Refusal) return causeOf(error);
  if (!(error instanceof Error)) return "unknown";
  const detail: Detail = { ...error as Detail, ...typeof error.cause === "object" && error.cause as Detail };
  // The status of a Response is not a member of its own.
  const status = detail.status ?? (error.cause as Detail | undefined)?.status;
  const parts = [
    error.message,
    detail.error,
    detail.error_description,
    status === undefined ? undefined : `status ${status}`,
    describeValue(detail),
    detail.code,
  ];
  const blank = (text: string) =>
    secrets.reduce((blanked, secret) => secret.length < minSecret ? blanked : blanked.replaceAll(secret, "…"), text);
  return parts.filter((part) => typeof part === "string").map((part) => blank(part).slice(0, maxText)).join("; ");
}

/** The actual value in place of the expected one. */
function describeValue({ payload, claims = payload, claim, body, attribute, header, expected }: Detail) {
  const [members, name] = claim !== undefined
    ? [claims, claim]
    : attribute !== undefined
    ? [body, attribute]
    : [header, "alg"];
  if (members === undefined || !openNames.has(name)) return undefined;
  const suffix = expected === undefined ? "" : `, expected ${JSON.stringify(expected)}`;
  return `${name} is ${JSON.stringify(members[name]) ?? "missing"}${suffix}`;
}
