// Fields of a request's log line beyond its response: ids, never a key, a body or a prompt.
import type { LogLevel } from "../common/log.ts";
import type { ErrorKind } from "../common/errors.ts";
import type { Caller } from "../ledger/admission.ts";

export type LogContext = {
  workspaceId?: string;
  keyId?: string;
  deployId?: string;
  /** The management token that authenticated the request. */
  tokenId?: string;
  /** Number of requests in the transaction. */
  groupSize?: number;
  /** Error of a part of the request. */
  failure?: unknown;
};

/** Adds the ids of the key and its workspace, if they are known. */
export const setCaller = (logContext: LogContext, caller: Caller | undefined): void =>
  void Object.assign(logContext, caller);

type Member = "workspaceId" | "keyId" | "deployId";

const members: Record<string, Member> = { ws: "workspaceId", key: "keyId", dep: "deployId" };

/** Adds an id that a client sent, if it has the form of an id. Any other text might be a secret. */
export function setId(logContext: LogContext, id: string): void {
  const member = members[id.split("_")[0]!];
  if (member !== undefined && /^[a-z]+_[0-9a-z]{26}$/.test(id)) logContext[member] = id;
}

/** The level at which a refusal is logged: the more it concerns the operator, the higher. */
export function levelOf(error: ErrorKind | undefined): LogLevel {
  if (error === "internal") return "error";
  return error === "overloaded" || error === "unavailable" ? "warn" : "info";
}
