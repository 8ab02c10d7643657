// Defines operations of management. Each contains everything for its HTTP route, its OpenAPI description and its
// command, local or remote.
import type { Clock, Page } from "../../common/domain.ts";
import {
  actorGiven,
  allWorkspacesRequired,
  contended,
  roleOverAllRequired,
  roleRequired,
  workspaceRequired,
} from "../../common/errors.ts";
import type { DeploymentId, TokenId, WorkspaceId } from "../../common/ids.ts";
import { roles } from "../../support/roles.ts";
import type { Role } from "../../support/roles.ts";
import type { Shares } from "../../common/shares.ts";
import type { Slots } from "../../support/slots.ts";
import type { Database, Statement } from "../../database/database.ts";
import type { KeptTallies } from "../../tallies/kept-tallies.ts";
import { checkObject } from "../../schema/parse.ts";
import type { Unchecked } from "../../schema/parse.ts";
import { exactly, listOf, option, orNull } from "../../schema/struct.ts";
import type { Members, Schema, Struct } from "../../schema/struct.ts";
import type { ExportFormat } from "./export.ts";
import { openCommit, overtaken } from "./commit.ts";
import type { Cause, Change, Commit } from "./commit.ts";
import { namedIn, refuseHidden } from "./hidden.ts";
import { resolveReferences } from "./references.ts";
import { withField } from "./refusal-fields.ts";
import * as v from "./values.ts";

/** Ways to reach management. Code that embeds the service calls it without a token. */
export const sources = ["api", "command line", "console", "embedded", "mcp"] as const;
export type Source = (typeof sources)[number];

export { roles };
export type { Role };

/** The least role that may change a protected deployment. */
export const protectedRole: Role = "publisher";

/** The authenticated caller of an operation. */
export type Caller = {
  source: Source;
  /** Name in the audit log: that of the token, or the user of the command line. It may be empty. */
  actor: string;
  role: Role;
  /** The only workspace that the caller may see. Undefined for a caller who may see all. */
  workspaceId?: WorkspaceId | undefined;
  /** The token that authenticated the caller. Its name is the actor, regardless of the input. */
  tokenId?: TokenId | undefined;
  /** The person that the caller is, or that owns its token: an address, or the token that made it. */
  owner?: string | undefined;
  requestId?: string | undefined;
};

/** True if a caller has at least this role. */
export const hasRole = ({ role }: Pick<Caller, "role">, least: Role): boolean =>
  roles.indexOf(role) >= roles.indexOf(least);

/** Throws if a caller's role is too low. `purpose` is the part of the request that needs it, if not all does. */
export function requireRole(caller: Pick<Caller, "role">, least: Role, purpose?: string): void {
  if (!hasRole(caller, least)) throw roleRequired(least, purpose);
}

/** Throws if a caller may not change protected deployments. `reference` is of the one that a request changes. */
export const requireProtectedRole = (caller: Pick<Caller, "role">, reference: string): void =>
  requireRole(caller, protectedRole, `to change ${reference}, which is protected`);

/** Owner of a caller's share of the service's capacity: their workspace, or the caller if they may see all. */
export const ownerOf = ({ workspaceId, tokenId, owner }: Caller): string => workspaceId ?? tokenId ?? owner ?? "";

/** True if a caller is a token or a person, whose name is always the actor. Others may name the actor. */
export const isNamed = ({ tokenId, owner }: Caller): boolean => (tokenId ?? owner) !== undefined;

/** Dependencies of operations. */
export type Store = {
  database: Database;
  clock: Clock;
  /** Receives the progress of long work: a text for people, and the share that is done, from 0 to 1, if it is known. */
  report?: ((progress: string, share?: number) => void) | undefined;
  /** Changes by one process enter one after the other: they do not overtake each other. */
  changes?: Slots | undefined;
  /** Room for requests that wait for events. */
  waiters?: Shares | undefined;
  /** Counts of the log that this process keeps. Without them, statistics read all that they count. */
  kept?: KeptTallies | undefined;
  /** Reason why nothing may be sent to a URL; undefined if allowed. Default: by its text (`support/outbound-url.ts`). */
  urlFault?: ((url: string) => string | undefined) | undefined;
  /** Called once a webhook was created here, which may be the first one. */
  onWebhook?: (() => void) | undefined;
  /** The ids that the caller of one request has been found to see. Without it, each operation checks its own. */
  visible?: Set<string> | undefined;
  /** Secrets besides keys and tokens that the audit log must not have: the admin token. */
  secrets?: readonly string[] | undefined;
};

/** Dependencies of operations, and their caller. */
export type Session = Store & {
  caller: Caller;
  /** True once the output is not needed any more. */
  isOver?: (() => boolean) | undefined;
};

/** Context of one call of an operation. An operation reads the current state, decides, and commits once. */
export type Management = Session & {
  commit: Commit;
  /** Author and reason of the change. */
  cause: Pick<Cause, "actor" | "note">;
  /** The approval under which the operation changes a deployment. */
  approval?: Approval | undefined;
};

/** An approved change of a deployment: additions to its entry, and the end of the change request. */
export type Approval = { deployId: DeploymentId; note: string; marks: object; change: Change; statement: Statement };

/** `DELETE` and `GET` take their input from the query, `PATCH` and `POST` from the body; ids are in the path. */
type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** Reasons to refuse. */
export type OperationRefusal = "not_found" | "conflict" | "outdated" | "gone";

/** `etag`: the output has a revision, which is its ETag. `if-match`: a request may name the revision that it changes. */
type Revision = "etag" | "if-match";

export type Operation<Input extends object, Output, Id extends string = string> = {
  /** Its unique name, in the OpenAPI description and in code: `createWorkspace`. */
  id: Id;
  summary: string;
  method: Method;
  /** Below `/admin/v1`, with input members in braces: `/workspaces/{workspaceId}`. */
  path: string;
  /** The least role that may call it. */
  role: Role;
  /** The least role that may call it for all workspaces: without the `workspaceId` that its input may have. */
  roleOverAll?: Role;
  /** True if it requires `protectedRole` to change a protected deployment. */
  guardsProtected?: true;
  /** True if, with input that names nothing, it applies to a bound caller's workspace. Others refuse such a caller. */
  isScoped?: true;
  /** The usage line of its command. Undefined if it has none, or the command line defines its own. */
  command?: string;
  input: Struct<object, Schema>;
  output: Struct<Output, unknown>;
  /** The kind of its successes. Undefined for an output with 200. */
  answers?: "created" | "found or created" | "export";
  /** The formats of an export. The first one is the default. */
  formats?: readonly ExportFormat[];
  /** Its use of revisions. The input member for `if-match` is `ifRevision`. */
  revision?: readonly Revision[];
  /** Set if its output is a page of a list, or has one. Its command lists all items, or the newest. */
  paged?: "all" | "newest";
  /** The path of what the operation has created. Undefined if it has created nothing. */
  locate?(output: Output): string | undefined;
  /** Change requests that were opened, or are open already, instead of making the change. */
  requests?(output: NoInfer<Output>): readonly string[];
  /** Set if it answers 409: a state does not allow it, or several things have the name that it is given. */
  conflicts?: true;
  /** Why else it may refuse, besides invalid input, and that what its input names does not exist. */
  refusals?: Exclude<OperationRefusal, "conflict">[];
  /** True if it scans much of the log, in slices. Few such operations run at once; none for a disconnected client. */
  isLong?: true;
  /** Largest body of its request in bytes, if above the service's limit. */
  maxBodyBytes?: number;
  /** True if it may name resources of a workspace that is being deleted. */
  seesDeleted?: true;
  /** Ids in its output that are of the workspace of its input, so that its caller may see them. */
  shows?(output: NoInfer<Output>): readonly string[];
  run(management: Management, input: Input): Promise<Output>;
};

/** Any operation. */
export type AnyOperation = Omit<Operation<object, unknown>, "output"> & { output: object };

/** A GET changes nothing, so viewers may call it. Any other operation declares a role. */
type Guard = { method: "GET"; role?: "viewer" } | { method: Exclude<Method, "GET">; role: Role };

/** Defines an operation. Its input has only the members of a schema. The result of `run` must fit `output`. */
export const operation = <const Id extends string, S extends Schema, Output>(
  { input, role = "viewer", ...declared }:
    & Omit<Operation<Members<S>, Output, Id>, "input" | "method" | "role">
    & Guard
    & { input: S },
): Operation<Members<S>, Output, Id> => ({ ...declared, role, input: exactly<Schema>(input) });

type Performed<Output> = Pick<
  Operation<never, Output>,
  "input" | "role" | "roleOverAll" | "isScoped" | "isLong" | "seesDeleted" | "shows" | "run"
>;

/** True if an operation changes nothing. Viewers may call all of these, and no others. */
const isRead = ({ role }: Pick<AnyOperation, "role">): boolean => role === "viewer";

/** True if the input of an operation may name who makes the change. */
export const namesActor = ({ input: { schema } }: Pick<AnyOperation, "input">): boolean =>
  schema.actor !== undefined && actors.has(schema.actor);

/**
 * Checks the caller and the input, and runs an operation. Ids of hidden resources are refused here, so operations need
 * not check them.
 */
export async function perform<Output>(
  operation: Performed<Output>,
  session: Session,
  unchecked: Unchecked,
): Promise<Output> {
  const { caller, changes } = session;
  requireRole(caller, operation.role);
  const given = checkObject(operation.input, unchecked);
  if (isRead(operation)) return await runOnce(operation, session, given);
  if (isNamed(caller) && "actor" in given) throw actorGiven();
  // Long work commits first and then goes on for seconds: no other change should wait for it.
  const leave = operation.isLong ? undefined : await changes?.enter(ownerOf(caller));
  try {
    return await runUntilFirst(operation, session, given);
  } finally {
    leave?.();
  }
}

const maxAttempts = 20;
const maxPauseMs = 200;

/** Runs a change again while other processes, or long work, make theirs first. */
async function runUntilFirst<Output>(operation: Performed<Output>, session: Session, given: object): Promise<Output> {
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    try {
      return await runOnce(operation, session, given);
    } catch (error) {
      if (error !== overtaken) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(2 ** attempt, maxPauseMs)));
    }
  }
  throw contended();
}

async function runOnce<Output>(operation: Performed<Output>, session: Session, given: object): Promise<Output> {
  const { input, roleOverAll, isScoped, seesDeleted, shows, run } = operation;
  const { database, clock, caller, secrets, visible } = session;
  const bound = caller.workspaceId;
  const cause = causeOf(caller, given);
  const open = () => openCommit(database, clock, cause, secrets);
  const commit = isRead(operation) ? refuseCommit : await open();
  const { members, lookedUp, check: areInWorkspace } = await resolveReferences(database, input.schema, given, bound);
  const named = namedIn(input.schema, members);
  if (named.length === 0 && bound !== undefined && !isScoped) {
    throw roleOverAll === undefined ? allWorkspacesRequired() : workspaceRequired();
  }
  if (named.length === 0 && roleOverAll !== undefined && !hasRole(caller, roleOverAll)) {
    throw roleOverAllRequired(roleOverAll);
  }
  const others = named.filter(({ id }) => !lookedUp.has(id));
  const check = inOrder(areInWorkspace, refuseHidden(database, others, { seesDeleted, bound, visible }));
  if (!isRead(operation) || operation.isLong) await check;
  // A short read sets out with the check, which saves a round trip to a server. What it finds is dropped if the check refuses.
  const output = (async () => await run({ ...session, commit, cause }, members as never))();
  output.catch(() => {});
  await check;
  lookedUp.forEach((id) => visible?.add(id));
  try {
    const result = await output;
    shows?.(result).forEach((id) => visible?.add(id));
    return result;
  } catch (error) {
    throw withField(error, members);
  }
}

/** Waits for both. If both reject, for the reason of the first. */
async function inOrder(first: Promise<unknown>, second: Promise<unknown>): Promise<void> {
  second.catch(() => {});
  await first;
  await second;
}

function refuseCommit(): never {
  throw new TypeError("An operation that viewers may call changes nothing");
}

/** Data about a caller for the audit log. */
const causeOf = (
  { source, actor: name, tokenId, requestId }: Caller,
  { actor = name, note = "", origin }: { actor?: string; note?: string; origin?: object },
): Cause => ({
  ...{ source, actor, note, tokenId: tokenId ?? null, requestId: requestId ?? null, origin },
});

/** The struct of a page of a list. */
export const pageOf = <T>(item: Struct<T, unknown>): Struct<Page<T>, unknown> =>
  exactly({
    items: listOf(item),
    nextCursor: orNull(v.cursor, "The cursor of the next page, or null on the last page"),
  });

const actors = new WeakSet<object>();

/** The member of an input that names who makes a change. */
export function actorOf(description: string): Struct<string | undefined, null> {
  const struct = option(v.label, description);
  actors.add(struct);
  return struct;
}

/** Input members of operations that change a deployment. The audit log stores them. */
export const changeInfo = {
  actor: actorOf("Who makes the change, for the audit log"),
  note: option(v.note, "The reason for the change, for the audit log"),
};
