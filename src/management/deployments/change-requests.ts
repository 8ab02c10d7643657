// Change requests: changes of deployments that wait for another person's approval. The operations are in
// change-request-operations.ts. An approval performs the requested operation, so there is no second way to change a
// deployment.
import { bounds } from "../../support/bounds.ts";
import { conflict } from "../../common/errors.ts";
import { newId, withoutSecrets } from "../../common/ids.ts";
import type { ChangeRequestId, DeploymentId, PromptId, TokenId, WorkspaceId } from "../../common/ids.ts";
import type { Database, Statement } from "../../database/database.ts";
import { described, oneOf, orNull, shape } from "../../schema/struct.ts";
import type { Infer } from "../../schema/struct.ts";
import type { Change } from "../kernel/commit.ts";
import { sources } from "../kernel/operation.ts";
import type { Management } from "../kernel/operation.ts";
import { isSamePerson } from "../kernel/people.ts";
import { insertInto, tableOf, updateOf } from "../kernel/table.ts";
import * as v from "../kernel/values.ts";

const days = bounds.changeRequestDays;
const lifetime = days * 86_400_000; // ms

/** The operations that take an approval where a deployment needs one. */
const requestable = oneOf(
  "promoteDeployment",
  "setRollout",
  "activateDeployment",
  "renameDeployment",
  "archiveDeployment",
  "unarchiveDeployment",
  "protectDeployment",
  "unprotectDeployment",
);
export type Requestable = Infer<typeof requestable>;

export const states = ["open", "applied", "declined", "withdrawn", "expired", "stale"] as const;
export type State = (typeof states)[number];

export const ChangeRequest = shape("ChangeRequest", {
  id: v.textAs<ChangeRequestId>(),
  workspaceId: v.textAs<WorkspaceId>(),
  deployId: v.textAs<DeploymentId>(),
  reference: described(v.text, "The deployment as NAME@DEPLOYMENT, as it is called now"),
  promptId: v.textAs<PromptId>(),
  operation: described(requestable, "The operation that an approval performs"),
  input: described(v.anyObject, "The input of that operation"),
  fromState: described(v.text, "What changes, as it was when this was requested, in words"),
  toState: described(v.text, "The same as it will be, in words"),
  liveVersion: described(v.positive, "The version that was live when this was requested"),
  version: orNull(v.positive, "The version that it makes live or rolls out. Null if it is about no version"),
  contentHash: orNull(v.text, "SHA-256 of the content of that version. An approval refuses another content"),
  revision: described(
    v.positive,
    "The revision of the deployment that it is a change of. With another one it is stale",
  ),
  note: described(v.text, "The reason that was given. It may be empty"),
  source: described(oneOf(...sources), "How it was requested"),
  requestedBy: described(v.text, "The name of the token, or the user of the command line. It may be empty"),
  owner: orNull(v.text, "The person who requested it, such as ann@acme.com, or null if the token belongs to none"),
  tokenId: orNull(v.textAs<TokenId>(), "The token that requested it, or null"),
  createdAt: v.timestamp,
  expiresAt: described(v.timestamp, "From when on it cannot be approved, in Unix milliseconds"),
  state: described(
    oneOf(...states),
    "`stale`: the deployment has changed in another way. `expired`: nobody approved it in time",
  ),
  decidedBy: orNull(
    v.text,
    "Who approved, declined or withdrew it, or made another change; `upkeep` if it expired. Null while it is open",
  ),
  deciderOwner: orNull(v.text, "The person who did, such as bob@acme.com, or null"),
  decidedAt: described(v.moment, "When that was, in Unix milliseconds. Null while it is open"),
  reason: orNull(v.text, "Why it was declined, or what its approval was given with. Null without a reason"),
});
export type ChangeRequest = Infer<typeof ChangeRequest>;

export const changeRequestTable = tableOf(
  ChangeRequest,
  `select c.*, c.deployment_id as deploy_id, p.name || '@' || d.name as reference, d.prompt_id
  from change_requests c join deployments d on d.id = c.deployment_id join prompts p on p.id = d.prompt_id`,
);

/** A request as it is at a time. Its row is updated by the checks of the next minute after it has expired. */
export const shownAt = (request: ChangeRequest, now: number): ChangeRequest =>
  request.state === "open" && now >= request.expiresAt ? { ...request, state: "expired" } : request;

/** The request of a deployment that is open, or has expired. */
export async function findOpenRequest(database: Database, id: DeploymentId): Promise<ChangeRequest | undefined> {
  const open = changeRequestTable.where("deployment_id = ? and state = 'open'", [id]);
  return (await database.read(open)).map(changeRequestTable.toItem)[0];
}

/** True if the token that made a request was revoked since. Such a request cannot be approved. */
export async function isRevoked(database: Database, { tokenId }: Pick<ChangeRequest, "tokenId">): Promise<boolean> {
  const sql = "select 1 from management_tokens where id = ? and revoked_at is not null";
  return tokenId !== null && (await database.read({ sql, args: [tokenId] })).length > 0;
}

/** Name for the holder of the admin token, the database or the embedding code. */
export const operator = "the operator";

/** Name of a request's maker in messages. */
export const makerOf = ({ owner, requestedBy }: ChangeRequest): string => owner ?? (requestedBy || operator);

/** A change of a request, with its entry. */
export type Decision = { change: Change; statement: Statement; request: ChangeRequest };

/** Plans the end of a request. */
export function planDecision(
  { caller, clock, cause, secrets }: Management,
  before: ChangeRequest,
  state: Exclude<State, "open">,
  reason: string | null = null,
): Decision {
  const mask = (text: string) => withoutSecrets(text.toWellFormed(), secrets);
  const decided = {
    ...{ state, decidedBy: mask(cause.actor), deciderOwner: caller.owner ?? null, decidedAt: clock() },
    reason: reason && mask(reason),
  };
  const { id, workspaceId, fromState, toState } = before, request = { ...before, ...decided };
  const note = state === "expired"
    ? `Nobody approved ${fromState} → ${toState} within ${days} days`
    : reason ?? undefined;
  return {
    request,
    change: { action: `change.${state}`, id, workspaceId, before, after: request, note },
    statement: updateOf("change_requests", id, decided),
  };
}

/** Content of a request. */
export type Wanted =
  & Pick<
    ChangeRequest,
    "deployId" | "reference" | "promptId" | "operation" | "input" | "fromState" | "toState" | "liveVersion" | "version"
  >
  & { contentHash: string | null; workspaceId: WorkspaceId; revision: number };

/**
 * Plans a request. A caller has one for a deployment: another one, or one with another reason, replaces it, and the
 * same one changes nothing, unless its token was revoked. Throws if another person has one, because only its maker may
 * withdraw it.
 */
export async function planRequest(
  management: Management,
  wanted: Wanted,
  open: ChangeRequest | undefined,
): Promise<{ changes: Change[]; statements: Statement[]; request: ChangeRequest }> {
  const { caller, clock, cause, secrets, database } = management, now = clock();
  const mask = (text: string) => withoutSecrets(text.toWellFormed(), secrets);
  const hasExpired = open !== undefined && now >= open.expiresAt;
  if (open !== undefined && !hasExpired) {
    if (!isSamePerson(caller, open)) throw requestOpen(open);
    if (isSame(open, wanted, mask(cause.note)) && !await isRevoked(database, open)) {
      return { changes: [], statements: [], request: open };
    }
  }
  const ended = open && planDecision(management, open, hasExpired ? "expired" : "withdrawn");
  const { deployId, reference, promptId, ...rest } = wanted;
  const id: ChangeRequestId = newId("change", now);
  const { owner = null, tokenId = null, source } = caller;
  const made = { note: mask(cause.note), source, requestedBy: mask(cause.actor), owner, tokenId };
  const stored = { id, ...rest, ...made, createdAt: now, expiresAt: now + lifetime, state: "open" as const };
  const request = {
    ...{ ...stored, deployId, reference, promptId },
    ...{ decidedBy: null, deciderOwner: null, decidedAt: null, reason: null },
  };
  const { workspaceId } = wanted;
  const change = { action: "change.requested", id, workspaceId, after: { ...stored, deployId } };
  const inserted = insertInto("change_requests", {
    ...stored,
    deploymentId: deployId,
    input: JSON.stringify(stored.input),
  });
  return {
    request,
    changes: [...ended ? [ended.change] : [], change],
    statements: [...ended ? [ended.statement] : [], inserted],
  };
}

/** True if a request has this content, and this reason, if one is given. */
const isSame = ({ operation, input, note }: ChangeRequest, wanted: Wanted, reason: string): boolean =>
  operation === wanted.operation && JSON.stringify(input) === JSON.stringify(wanted.input) &&
  (reason === "" || reason === note);

const requestOpen = (open: ChangeRequest) =>
  conflict(
    `${makerOf(open)} has already requested a change of ${open.reference}, ${open.id}: ${open.fromState} → ` +
      `${open.toState}. Approve or decline that one first`,
    "change_request_open",
  );
