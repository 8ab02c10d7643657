// Every refusal, with the only error texts that clients see. `http/respond.ts` maps the kinds to status codes.

/** Kinds of refusal, which determine the status of a response. */
export type ErrorKind =
  | "unauthorized"
  | "forbidden"
  | "invalid"
  | "timeout"
  | "client_gone"
  | "too_large"
  | "unsupported"
  | "not_found"
  | "method_not_allowed"
  | "quota_exhausted"
  | "rate_limited"
  | "key_reused"
  | "overloaded"
  | "unavailable"
  | "conflict"
  | "outdated"
  | "gone"
  | "internal";

/** Masks API keys and management tokens in a text, because one may have been sent in the wrong place. */
export const withoutKeys = (text: string): string => text.replace(/(plm?_)[0-9A-Za-z]{20,}/g, "$1…");

/** A workspace's quota: `used` of `limit` requests this month, which ends at `resetTime`, in Unix seconds. */
export type QuotaDetails = { limit: number; used: number; resetTime: number; upgradeUrl: string | null };

/** Facts of a refusal beside its message. */
export type RefusalFacts = {
  /** The path of the member of the input at fault: `messages[0].role`. */
  field?: string | undefined;
  /** Valid values of the field. Continues the sentence "Field x must be …". */
  expected?: string | undefined;
  /** The id or name that does not exist, as the caller sent it. */
  id?: string | undefined;
  /** With the kind `quota_exhausted`: the quota. */
  details?: QuotaDetails;
};

/**
 * A refusal. `message` is written for the caller. It repeats nothing that the caller sent except names and ids. Programs
 * read the other members and never the message.
 *
 * @example
 * const prompt = await service.readPrompt({ key, deployId }).catch((error: unknown) => {
 *   if (error instanceof Refusal && error.kind === "quota_exhausted") return fallback;
 *   throw error;
 * });
 */
export class Refusal extends Error {
  declare readonly kind: ErrorKind;
  /** The reason, for programs. */
  declare readonly code: string;
  declare readonly field?: RefusalFacts["field"];
  declare readonly expected?: RefusalFacts["expected"];
  declare readonly id?: RefusalFacts["id"];
  declare readonly details?: QuotaDetails;

  constructor(kind: ErrorKind, message: string, code: string = kind, facts?: RefusalFacts) {
    super(withoutKeys(message));
    Object.assign(this, facts, { name: "Refusal", kind, code });
  }
}

/** Copies a refusal, with its quota. */
export const withDetails = ({ kind, message, code }: Refusal, facts: RefusalFacts): Refusal =>
  new Refusal(kind, message, code, facts);

/** A setting, an argument or a file is invalid. `message` says which one and why. */
export const invalid = (message: string) => new Refusal("invalid", message);

export const missingAuthorization = () => new Refusal("unauthorized", "Missing or invalid authorization header");
export const noApiKey = () => new Refusal("unauthorized", "No API key provided");
export const invalidApiKey = () => new Refusal("unauthorized", "Invalid API key");
export const invalidDeployId = () => invalid("Missing or invalid deployId parameter");
export const invalidTarget = () => invalid("Request target or Host header must be valid");
export const deployNotFound = () =>
  new Refusal("not_found", "Deploy not found or not accessible", "deployment_not_found");
export const readForbidden = () => new Refusal("forbidden", "This key may not read", "read_forbidden");
export const submitForbidden = () => new Refusal("forbidden", "This key may not submit", "submit_forbidden");
export const unknownPath = () => new Refusal("not_found", "Not found", "path_not_found");
export const managementOff = () =>
  new Refusal(
    "not_found",
    "Management is off. Set ADMIN_TOKEN or MANAGEMENT=true, or in code management({ adminToken }) or " +
      "management({ tokens: true })",
    "management_off",
  );
export const methodNotAllowed = () => new Refusal("method_not_allowed", "Method not allowed");
export const quotaExhausted = () => new Refusal("quota_exhausted", "Rate limit exceeded");
export const versionNotFound = () =>
  new Refusal("invalid", "Field promptVersion must be a version of the deployment's prompt", "version_not_found");
export const rolloutNotFound = () =>
  new Refusal(
    "invalid",
    "Field rollout must be a rollout of the deployment, with promptVersion one of its versions",
    "rollout_not_found",
  );
export const invalidRolloutKey = () => invalid("Parameter key must be 1 to 200 characters");
export const keyReused = () => new Refusal("key_reused", "Idempotency-Key was used with another request");
export const invalidIdempotencyKey = () =>
  invalid("Idempotency-Key header must be 1 to 255 printable ASCII characters");
export const keyOfBatch = () =>
  invalid("Idempotency-Key header is for a single record: give each record an idempotencyKey");
export const overloaded = () => new Refusal("overloaded", "Too many requests are waiting");
export const waitedTooLong = (ms: number) =>
  new Refusal("overloaded", `Timed out after ${ms / 1000} s waiting for a commit`);
export const replyLost = () => new Refusal("overloaded", "The database's reply was lost; the request took no effect");
export const bodiesOverloaded = () => new Refusal("overloaded", "Too many request bodies are being received");
export const exportsOverloaded = () => new Refusal("overloaded", "Too many exports are running");
export const managementOverloaded = () => new Refusal("overloaded", "Too many long-running management requests");
export const tooManyWaiters = () => new Refusal("overloaded", "Too many requests wait for events");
export const contended = () => new Refusal("overloaded", "Too many changes at once: try again");
/** Only for the log, as there is no client left to read the response. */
export const clientGone = () => new Refusal("client_gone", "Client closed the connection");
export const stopping = () => new Refusal("unavailable", "Service is stopping");
export const databaseAway = () => new Refusal("unavailable", "Database cannot be reached");
export const databaseBusy = () => new Refusal("unavailable", "Database is busy");
export const diskFull = () => new Refusal("unavailable", "Disk is full");
export const databaseReadOnly = () => new Refusal("unavailable", "Database is read-only");
export const schemaMissing = () => new Refusal("unavailable", "Database has no schema: run promptledger migrate");
export const schemaOutdated = (name: string) =>
  new Refusal("unavailable", `Database lacks migration ${name}: run promptledger migrate`);
export const schemaNewer = (name: string) =>
  new Refusal("unavailable", `Database is newer than this service: it has migration ${name}`);
/** `fault` is a sentence about the database file. */
export const fileFaulty = (fault: string) => new Refusal("unavailable", fault);
export const internalError = () => new Refusal("internal", "Internal server error");

export const bodyTooLarge = (limit: number) => new Refusal("too_large", `Request body must be at most ${limit} bytes`);
export const bodyTooSlow = (seconds: number) =>
  new Refusal("timeout", `Request body must arrive within ${seconds} seconds`);
export const bodyTooManyChunks = () => invalid("Request body must arrive in larger chunks");
export const bodyNotUtf8 = () => invalid("Request body must be UTF-8");
export const bodyEncoded = () => new Refusal("unsupported", "Request body must be sent without Content-Encoding");
export const bodyIncomplete = () => invalid("Request body must be complete");

/** `whole` names the text or value: `Request body`. */
export const notJson = (whole: string) => invalid(`${whole} must be valid JSON`);
export const wrongWhole = (whole: string, expected: string) => invalid(`${whole} must be ${expected}`);
/** Refuses the value of a field. `field` is its path: `messages[0].role`. */
export const invalidField = (field: string, message: string, expected?: string, code?: string) =>
  new Refusal("invalid", message, code, { field: withoutKeys(field), expected });
/** Copies a refusal as one of a field, in other words if the form that has the field uses others. */
export const refusalAt = (field: string, { kind, message, code, expected }: Refusal, words = message): Refusal =>
  new Refusal(kind, words, code, { field, expected });
export const missingField = (field: string, expected?: string) =>
  invalidField(field, `Missing required field ${field}`, expected);
export const givenTwice = (name: string) => invalidField(name, `Parameter ${name} must be given once`, "given once");
export const wrongField = (field: string, expected: string) =>
  invalidField(field, `Field ${field} must be ${expected}`, expected);

/** `allowed` lists the known fields: `name, expiresAt`. */
export const unknownField = (field: string, allowed: string) =>
  invalidField(field, `Unknown field ${field}. Allowed: ${allowed}`, undefined, "unknown_field");
export const fieldInUrl = (name: string) =>
  invalidField(name, `${name} is taken from the URL; remove it from the body or query`);
export const revisionInBody = () =>
  invalidField("ifRevision", "ifRevision is taken from the If-Match header; remove it");

/** `API key` → `api_key`, `Version 3 of prompt` → `version`. A record is a diagnosis in the API. */
const codeOf = (noun: string) =>
  noun.toLowerCase().replace(/^record$/, "diagnosis").replace(/ \d.*/, "").replaceAll(" ", "_");

/** A management request names something that does not exist: `Workspace ws_1 not found`. */
export const notFound = (noun: string, id: string, field?: string) =>
  new Refusal("not_found", `${noun} ${id} not found`, `${codeOf(noun)}_not_found`, { field, id });
/** The current state does not allow what a management request asks for. */
export const conflict = (message: string, code = "conflict", field?: string, expected?: string) =>
  new Refusal("conflict", message, code, { field, expected });
/** Remedies at the end of a message. A command names its option in their place. */
export const bySetting = (field: string) => `set ${field}`;
export const byLeavingOut = (field: string) => `leave out ${field}`;
export const promptNameTaken = (name: string) =>
  conflict(`The workspace has another prompt named ${name}`, "prompt_name_taken", "name");
export const deploymentNameTaken = (name: string) =>
  conflict(`The prompt has another deployment named ${name}`, "deployment_name_taken", "name");
/** A name was given without its workspace, and several workspaces have it. */
export const ambiguousReference = (noun: string, reference: string) =>
  conflict(
    `Several workspaces have the ${noun} ${reference}. Give the workspace too: ${bySetting("workspaceId")}`,
    "ambiguous_reference",
    "workspaceId",
  );
const mostNamed = 20; // in a message

/** Names in a message: the first ones, and how many more there are. */
export const listed = (names: readonly string[], separator = ", "): string =>
  names.length <= mostNamed
    ? names.join(separator)
    : `${names.slice(0, mostNamed).join(separator)}${separator}and ${names.length - mostNamed} more`;

/** A change names a revision that is no longer the current one. */
export const movedOn = (moved: readonly string[]) =>
  new Refusal("outdated", `Changed since it was planned: ${listed(moved, "; ")}. Plan again`, "release_set_outdated");
export const outdated = (noun: string, id: string) =>
  new Refusal("outdated", `${noun} ${id} has changed: read it again and repeat`, `${codeOf(noun)}_outdated`);
/** A management request names something that was deleted. */
export const deleted = (noun: string, id: string) =>
  new Refusal("gone", `${noun} ${id} was deleted`, `${codeOf(noun)}_deleted`, { id });
export const archived = (noun: string, name: string) =>
  conflict(`${noun} ${name} is archived. Unarchive it first`, `${codeOf(noun)}_archived`);
/** A change of a prompt would change a deployment too, which needs an approval. `instead` is the first step to take. */
export const approvalRequired = (reference: string, instead: string) =>
  conflict(`Changes of ${reference} need an approval. ${instead}, or switch the rule off`, "approval_required");
/** A push would make a version live that omits variables of the live version. */
export const variablesRemoved = (reference: string, names: string[]) =>
  conflict(
    `This removes variables that are live in ${reference}: ${listed(names)}. To publish anyway, ${bySetting("force")}`,
    "variables_removed",
    "force",
  );
/** A new prompt has the same title or content as another one, `name`. `shared` is which of them. */
export const promptNotUnique = (name: string, shared: "title" | "content") =>
  conflict(
    `Prompt ${name} has the same ${shared}. To push to it, give its name; to create another one, ${
      byLeavingOut("ifUnique")
    }`,
    "prompt_not_unique",
    "ifUnique",
  );
/** A deployment name without its prompt exists in several prompts. */
export const ambiguousDeployment = (references: string[]) =>
  conflict(
    `Several deployments have that name: ${listed(references)}. Give the prompt too`,
    "ambiguous_reference",
    "deploy",
  );
export const invalidAdminToken = () => new Refusal("unauthorized", "Invalid admin token", "invalid_token");
/** `purpose` says for which part of a request, if the role is not needed for all of it: `to archive support/chat`. */
export const roleRequired = (role: string, purpose?: string, field?: string) =>
  new Refusal(
    "forbidden",
    `This needs the role ${role}${purpose === undefined ? "" : ` ${purpose}`}`,
    "role_required",
    { field },
  );
/** The role suffices for one workspace, but none is named. */
export const roleOverAllRequired = (role: string) =>
  roleRequired(role, `for all workspaces: for one alone, ${bySetting("workspaceId")}`, "workspaceId");
export const workspaceRequired = () =>
  new Refusal(
    "forbidden",
    `This token is for one workspace: for that one alone, ${bySetting("workspaceId")}`,
    "all_workspaces_required",
    { field: "workspaceId" },
  );
export const allWorkspacesRequired = () =>
  new Refusal("forbidden", "This needs a token for all workspaces", "all_workspaces_required");
export const actorGiven = () =>
  invalidField("actor", "actor is the name of the management token; remove it", undefined, "actor_given");
export const tooManyFailures = () =>
  new Refusal("rate_limited", "Too many requests with invalid tokens: try again later", "too_many_failures");
/** `fault` continues the sentence: `it has expired`. */
export const signInRefused = (fault: string) =>
  new Refusal("unauthorized", `The sign-in with the company's account is not valid: ${fault}`, "invalid_sign_in");
/** `fault` is the reason why the identity provider is unreachable. */
export const providerAway = (fault: string) =>
  new Refusal("unavailable", `The identity provider cannot be reached: ${fault}`, "provider_away");
export const crossSite = (hint = "") =>
  new Refusal("forbidden", `This request came from a page of another site${hint}`, "cross_site");
export const feedbackForbidden = () => new Refusal("forbidden", "This key may not give feedback", "feedback_forbidden");
export const invalidFeedbackToken = () =>
  new Refusal("unauthorized", "Invalid feedback token", "invalid_feedback_token");
export const feedbackTokenExpired = () =>
  new Refusal("unauthorized", "This feedback token has expired", "feedback_token_expired");
/** `what` continues the sentence: `the record`. */
export const feedbackTokenForOthers = (what: string) =>
  new Refusal("forbidden", `This feedback token is not for ${what}`, "feedback_token_for_others");
export const tooMuchFeedback = () =>
  new Refusal("rate_limited", "The workspace gives too much feedback at once: try again later", "too_much_feedback");
export const tooMuchWaits = () =>
  new Refusal("rate_limited", "Too much feedback waits for records that have not arrived", "too_much_feedback");
export const tooManySessions = (limit: number) =>
  invalidField("sessionId", `At most ${limit} sessions in one request: name their records instead`);
export const searchesOverloaded = () => new Refusal("overloaded", "Too many searches for sessions are running");
export const searchTimedOut = (sessionId: string, ms: number) =>
  new Refusal("overloaded", `The search for session ${sessionId} timed out after ${ms / 1000} s: try again`);
/** A name of feedback has other values, of the given kind. `field` has the value or its kind. */
export const feedbackKindDiffers = (name: string, kind: string, field = "value") =>
  conflict(`Feedback ${name} has values of the kind ${kind} in this workspace`, "feedback_kind_differs", field);
export const feedbackUndeclared = (name: string, field = "name") =>
  invalidField(
    field,
    `The workspace has declared which feedback it takes, and not ${name}`,
    undefined,
    "feedback_undeclared",
  );
/** `allowed` continues the sentence: `from 0 to 1`. */
export const feedbackNotAllowed = (name: string, allowed: string) =>
  invalidField("value", `Feedback ${name} must be ${allowed}`, allowed, "feedback_not_allowed");
/** `what` is what there would be too many of: `names of feedback on a record`. */
export const feedbackFull = (limit: number, what: string) =>
  conflict(`There may be at most ${limit} ${what}`, "feedback_full");

export const invalidRevision = () => invalid('If-Match header must be an ETag such as "3"');
export const noRevision = () => invalid("If-Match header is only allowed when changing a deployment");
/** Something outside the service failed. Operators read this message, clients never do. */
export const unusable = (message: string) => new Refusal("internal", message);
