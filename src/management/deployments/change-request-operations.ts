// Operations on change requests. A person other than its maker approves a request, which applies it.
import { conflict, notFound } from "../../common/errors.ts";
import type { Page, PageRequest } from "../../common/domain.ts";
import type { ChangeRequestId } from "../../common/ids.ts";
import type { Row } from "../../database/database.ts";
import { defaultPageSize, readPage } from "../../database/page.ts";
import { readerOf } from "../../database/row.ts";
import { described, exactly, oneOf, option } from "../../schema/struct.ts";
import type { Members } from "../../schema/struct.ts";
import { hashOf } from "./approvals.ts";
import { toEntry } from "../kernel/audit-chain.ts";
import {
  ChangeRequest,
  changeRequestTable,
  isRevoked,
  makerOf,
  planDecision,
  shownAt,
  states,
} from "./change-requests.ts";
import type { Requestable } from "./change-requests.ts";
import * as changes from "./deployment-changes.ts";
import { requireDeployment } from "./deployments.ts";
import type { DeploymentResult } from "./deployments.ts";
import { listOperation } from "../kernel/declare.ts";
import { changeInfo, hasRole, operation, pageOf, protectedRole, requireRole } from "../kernel/operation.ts";
import type { AnyOperation, Management } from "../kernel/operation.ts";
import { originIn } from "../kernel/origin.ts";
import type { Origin } from "../kernel/origin.ts";
import { isSamePerson } from "../kernel/people.ts";
import { setRollout } from "./rollout-operations.ts";
import * as v from "../kernel/values.ts";

/** Operations that approvals perform. */
const performed: Record<Requestable, AnyOperation> = {
  promoteDeployment: changes.promoteDeployment,
  setRollout,
  activateDeployment: changes.activateDeployment,
  renameDeployment: changes.renameDeployment,
  archiveDeployment: changes.archiveDeployment,
  unarchiveDeployment: changes.unarchiveDeployment,
  protectDeployment: changes.protectDeployment,
  unprotectDeployment: changes.unprotectDeployment,
};

/** The operation that an approval of a request performs. The approver needs its role. */
export const operationOf = ({ operation }: Pick<ChangeRequest, "operation">): AnyOperation => performed[operation];

/** True if an operation takes an approval where a deployment needs one. */
export const isRequestable = ({ id }: Pick<AnyOperation, "id">): boolean => Object.hasOwn(performed, id);

const filter = {
  workspaceId: option(v.workspaceId, "Only those of this workspace"),
  deployId: option(v.deploymentReference, "Only those of this deployment, by its id or reference"),
  state: option(oneOf(...states), "Only those in this state"),
  waiting: option(v.boolean, "Only those that the caller may approve"),
};

export const listChangeRequests = listOperation({
  id: "listChangeRequests",
  summary: "List change requests, newest first",
  path: "/changes",
  conflicts: true,
  command: `change list [--deploy REF] [--state ${states.join("|")}] [--waiting]`,
  input: { ...filter, ...v.page },
  output: pageOf(ChangeRequest),
  isScoped: true,
  run: (management, { limit, cursor, ...filter }) => listRequests(management, filter, { limit, cursor }),
});

async function listRequests(
  management: Management,
  { workspaceId = management.caller.workspaceId, deployId, state, waiting = false }: Members<typeof filter>,
  page: PageRequest,
): Promise<Page<ChangeRequest>> {
  const { database, clock } = management, now = clock();
  const ids = waiting ? JSON.stringify(await findWaiting(management, { workspaceId, deployId }, page, now)) : null;
  const query = ({ cursor, rows }: { cursor: string | null; rows: number }) =>
    changeRequestTable.where(
      `(:workspaceId is null or workspace_id = :workspaceId) and (:deployId is null or deploy_id = :deployId)
        and (:state is null or iif(state = 'open' and expires_at <= :now, 'expired', state) = :state)
        and (:ids is null or id in (select value from json_each(:ids)))
        and workspace_id not in (select id from deleted_workspaces)
        and id < coalesce(:cursor, '~') order by id desc limit :rows`,
      { workspaceId: workspaceId ?? null, deployId: deployId ?? null, state: state ?? null, now, ids, cursor, rows },
    );
  return await readPage(database, page, query, (row) => shownAt(changeRequestTable.toItem(row), now), ({ id }) => id);
}

const sliceRows = 1_000;

/** The ids of the first requests on a page that a caller may approve, and of one more. A deployment has at most one. */
async function findWaiting(
  { database, caller }: Management,
  { workspaceId, deployId }: Pick<Members<typeof filter>, "workspaceId" | "deployId">,
  { limit = defaultPageSize, cursor: start = "~" }: PageRequest,
  now: number,
): Promise<string[]> {
  if (!hasRole(caller, protectedRole)) return [];
  const ids: string[] = [];
  for (let cursor: string | undefined = start; cursor !== undefined && ids.length <= limit;) {
    const rows: Row[] = await database.read({
      sql: `select id, owner, token_id, operation from change_requests
        where state = 'open' and expires_at > :now and (:workspaceId is null or workspace_id = :workspaceId)
          and (:deployId is null or deployment_id = :deployId) and id < :cursor
          and coalesce(token_id, '') not in (select id from management_tokens where revoked_at is not null)
          and workspace_id not in (select id from deleted_workspaces)
        order by id desc limit ${sliceRows}`,
      args: { now, workspaceId: workspaceId ?? null, deployId: deployId ?? null, cursor },
    });
    const requests = rows.map(toWaiting);
    const others = requests.filter((each) => !isSamePerson(caller, each) && hasRole(caller, operationOf(each).role));
    ids.push(...others.map(({ id }) => id));
    cursor = rows.length < sliceRows ? undefined : requests.at(-1)!.id;
  }
  return ids.slice(0, limit + 1);
}

const { id, owner, tokenId, operation: requested } = ChangeRequest.schema;
const toWaiting = readerOf(exactly({ id, owner, tokenId, operation: requested }));

const ofRequest = { id: v.changeRequestId };

export const getChangeRequest = operation({
  id: "getChangeRequest",
  summary: "Show a change request",
  method: "GET",
  path: "/changes/{id}",
  revision: ["etag"],
  command: "change show ID",
  input: ofRequest,
  output: ChangeRequest,
  run: (management, { id }) => requireRequest(management, id),
});

async function requireRequest({ database, clock }: Management, id: ChangeRequestId): Promise<ChangeRequest> {
  const request = await changeRequestTable.find(database, id);
  if (request === undefined) throw notFound("Change request", id);
  return shownAt(request, clock());
}

async function requireOpen(management: Management, id: ChangeRequestId): Promise<ChangeRequest> {
  const request = await requireRequest(management, id), { state } = request;
  if (state === "open") return request;
  throw conflict(`Change request ${id} is ${state}`, "change_request_closed");
}

/** Commit of a repository that a request came from. */
async function originOf({ database }: Management, id: ChangeRequestId): Promise<Origin | null> {
  const sql = "select * from audit_log where target_id = ? and action = 'change.requested'";
  const [row] = await database.read({ sql, args: [id] });
  return row === undefined ? null : originIn(JSON.parse(toEntry(row).after ?? "{}") as Record<string, unknown>);
}

export const approveChangeRequest = operation({
  id: "approveChangeRequest",
  summary: "Approve and apply the change request of another person. It also takes the role of the requested change",
  method: "POST",
  path: "/changes/{id}/approve",
  revision: ["etag"],
  conflicts: true,
  role: protectedRole,
  command: "change approve ID",
  input: { ...ofRequest, ...changeInfo },
  output: ChangeRequest,
  async run(management, { id, note }) {
    const request = await requireOpen(management, id);
    const { deployId, promptId, version, input, requestedBy } = request;
    const { role, run } = operationOf(request);
    requireRole(management.caller, role, `to approve ${id}`);
    await requireOther(management, request);
    const deployment = await requireDeployment(management, deployId);
    const hash = version === null ? null : await hashOf(management, promptId, version);
    if (deployment.revision !== request.revision || hash !== request.contentHash) {
      throw conflict(
        `Deployment ${deployment.reference} has changed since ${id} was requested`,
        "change_request_stale",
      );
    }
    const { request: applied, change, statement } = planDecision(management, request, "applied", note || null);
    const origin = await originOf(management, id);
    const marks = { request: id, requestedBy, approvedBy: applied.decidedBy, ...origin === null ? {} : { origin } };
    const approval = { deployId, note: request.note, marks, change, statement };
    const inner = { id: deployId, ...input, ...startOf(management, request) };
    const { changed, reference } = await run({ ...management, approval }, inner) as DeploymentResult;
    if (!changed) throw conflict(`Deployment ${reference} is already as ${id} would make it`, "change_request_stale");
    return { ...applied, reference };
  },
});

/** A rollout has its own note and actor. */
const startOf = ({ cause: { actor } }: Management, { operation, note }: ChangeRequest): object =>
  operation === "setRollout" ? { note, actor } : {};

/** Throws if a caller may have made a request, or if its token was revoked since. */
async function requireOther({ caller, database }: Management, request: ChangeRequest): Promise<void> {
  const { id } = request;
  if (isSamePerson(caller, request)) {
    throw conflict(
      `${makerOf(request)} requested ${id}. Somebody else must approve it, with a token of their own`,
      "own_change_request",
    );
  }
  if (await isRevoked(database, request)) {
    throw conflict(`The token that requested ${id} was revoked. Request the change again`, "change_request_revoked");
  }
}

export const declineChangeRequest = operation({
  id: "declineChangeRequest",
  summary: "Decline a change request, with a reason",
  method: "POST",
  path: "/changes/{id}/decline",
  revision: ["etag"],
  conflicts: true,
  role: "publisher",
  command: "change decline ID --reason TEXT",
  input: {
    ...ofRequest,
    reason: described(v.reason, "The reason, which the requester sees"),
    actor: changeInfo.actor,
  },
  output: ChangeRequest,
  run: async (management, { id, reason }) =>
    await decide(management, await requireOpen(management, id), "declined", reason),
});

export const withdrawChangeRequest = operation({
  id: "withdrawChangeRequest",
  summary: "Withdraw your own change request",
  method: "POST",
  path: "/changes/{id}/withdraw",
  revision: ["etag"],
  conflicts: true,
  role: "publisher",
  command: "change withdraw ID",
  input: { ...ofRequest, actor: changeInfo.actor },
  output: ChangeRequest,
  async run(management, { id }) {
    const request = await requireOpen(management, id);
    if (!isSamePerson(management.caller, request)) {
      throw conflict(`Only ${makerOf(request)} may withdraw ${id}. Decline it instead`, "change_request_of_another");
    }
    return await decide(management, request, "withdrawn");
  },
});

async function decide(
  management: Management,
  before: ChangeRequest,
  state: "declined" | "withdrawn",
  reason?: string,
): Promise<ChangeRequest> {
  const { request, change, statement } = planDecision(management, before, state, reason);
  await management.commit([change], [statement]);
  return request;
}

export const changeRequestOperations = [
  listChangeRequests,
  getChangeRequest,
  approveChangeRequest,
  declineChangeRequest,
  withdrawChangeRequest,
];
