// What the ledger is asked and what it answers, and how requests are put together into a group.
import type { Quota, Usage } from "../common/domain.ts";
import type { JsonText } from "../common/json-text.ts";

/** A record to store. `document` is the JSON object that is read back, `measures` what stands in the column of that name. */
export type NewDiagnosis = { sessionId: string; status: number; measures: string; document: string };

/** A key under which a client may repeat a submit, and what tells its request from others. */
export type IdempotencyKey = { key: string; fingerprint: string };

/** What every request of the ledger has. */
type Asking = {
  keyHash: string;
  /** The key's workspace, where it was valid when it was last looked up; an idempotency key needs it. */
  workspaceId?: string | undefined;
  deployId: string;
  /** Tells whether the client has closed its connection, if the runtime can tell. */
  isGone?: (() => boolean) | undefined;
};

export type Read = Asking & { operation: "read" };
export type Submit = Asking & {
  operation: "submit";
  record: NewDiagnosis;
  idempotency?: IdempotencyKey | undefined;
};
/** Asks for nothing but whose key it is, and what its workspace has used; never accepted. */
export type Check = Asking & { operation: "check"; deployId: "" };
export type Admission = Read | Submit | Check;

/** For the log: whose key it is, where it is valid, and how many requests were decided together. */
export type Audit = { caller: Caller | undefined; groupSize: number };
export type Caller = { workspaceId: string; keyId: string };

/** Why a request was not accepted. It has left nothing in the database. */
export type Refused =
  & { audit: Audit }
  & (
    | { outcome: "key_invalid" | "key_reused" | "deployment_not_found" }
    | { outcome: "quota_exhausted"; quota: Quota }
  );
/** `prompt` is the prompt as the specification serves it. */
export type Served = { outcome: "read"; prompt: JsonText; quota: Quota; audit: Audit };
export type Recorded = { outcome: "recorded"; recordId: string; quota: Quota; audit: Audit };
export type Checked = { outcome: "checked"; usage: Usage; audit: Audit };
export type Verdict = Served | Recorded | Checked | Refused;

/** Requests that are alike, and the place of the first of them in the group; the others follow. */
export type Run = { first: number; admissions: Admission[] };

export const idempotencyOf = (admission: Admission): IdempotencyKey | undefined =>
  admission.operation === "submit" ? admission.idempotency : undefined;

/**
 * Puts side by side what is alike, so that one row counts and logs it all. A request with an idempotency key is a run of
 * its own, since it may have been accepted before.
 */
export function findRuns(admissions: Admission[]): Run[] {
  const alike = new Map<string | Admission, Admission[]>();
  for (const admission of admissions) {
    const { operation, keyHash, deployId } = admission;
    const name = idempotencyOf(admission) !== undefined ? admission : `${operation} ${keyHash} ${deployId}`;
    const found = alike.get(name);
    if (found === undefined) alike.set(name, [admission]);
    else found.push(admission);
  }
  let first = 0;
  return Array.from(alike.values(), (admissions) => {
    const run = { first, admissions };
    first += admissions.length;
    return run;
  });
}
