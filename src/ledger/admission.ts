// What the ledger is asked, what it decides, and how the requests of a group are put into batches.
import type { DeploymentId, KeyId, RecordId, WorkspaceId } from "../common/ids.ts";
import type { JsonText } from "../common/json-text.ts";
import type { DeploymentRef } from "../common/reference.ts";
import type { QuotaState } from "../schema/serving.ts";

/** A record to store. `document` is the JSON object that is read back, `measures` what stands in the column of that name. */
export type NewDiagnosis = { sessionId: string; status: number; measures: string; document: string };

/** A key under which a client may repeat a submit, and what tells its request from others. */
export type IdempotencyKey = { key: string; fingerprint: string };

/** What every request of the ledger has. */
type Asking = {
  keyHash: string;
  /** The key's workspace, where it was valid when it was last looked up; an idempotency key needs it. */
  workspaceId?: WorkspaceId | undefined;
  /** Tells whether the client has closed its connection, if the runtime can tell. */
  isGone?: (() => boolean) | undefined;
};

export type Read = Asking & { operation: "read"; deployId: DeploymentRef };
export type Submit = Asking & {
  operation: "submit";
  deployId: DeploymentRef;
  record: NewDiagnosis;
  /** The version of the prompt that the record is for; the live one without it. */
  promptVersion?: number | undefined;
  idempotency?: IdempotencyKey | undefined;
  /** The same object for submits that may share a batch. Without it all that are alike may; records of one body must not. */
  run?: object | undefined;
};
/** Asks whose key it is, what its workspace has used, and for which versions are live if so; never accepted. */
export type Check = Asking & { operation: "check" | "revisions"; deployId: "" };
export type Admission = Read | Submit | Check;

/** For the log: whose key it is, where it is valid, the deployment found, and how many requests were decided together. */
export type Audit = { caller: Caller | undefined; deployId: DeploymentId | undefined; groupSize: number };
export type Caller = { workspaceId: WorkspaceId; keyId: KeyId };

/** A workspace's quota in one month. `used` counts accepted requests; `resetsAt` is the end of the month in Unix ms. */
export type Quota = { limit: number; used: number; resetsAt: number; upgradeUrl: string | null };

/** Why a request was not accepted. It has left nothing in the database. */
export type Refused =
  & { audit: Audit }
  & (
    | {
      outcome:
        | "key_invalid"
        | "key_reused"
        | "read_forbidden"
        | "submit_forbidden"
        | "deployment_not_found"
        | "version_not_found";
    }
    | { outcome: "quota_exhausted"; quota: Quota }
  );
/** `prompt` is the prompt as the specification serves it. */
export type Served = { outcome: "read"; prompt: JsonText; quota: Quota; audit: Audit };
export type Recorded = { outcome: "recorded"; recordId: RecordId; quota: Quota; audit: Audit };
/** `revisions` is JSON text, where it was asked for: the deployments by their ids. */
export type Checked = { outcome: "checked"; usage: QuotaState; revisions: string | null; audit: Audit };
export type Decision = Served | Recorded | Checked | Refused;

export const idempotencyOf = (admission: Admission): IdempotencyKey | undefined =>
  admission.operation === "submit" ? admission.idempotency : undefined;

const promptVersionOf = (admission: Admission): number | undefined =>
  admission.operation === "submit" ? admission.promptVersion : undefined;

/** Like requests: one row counts and logs them. Their slots in the group follow each other, beginning with `firstSlot`. */
export type CallBatch = Pick<Admission, "keyHash" | "deployId" | "operation"> & {
  firstSlot: number;
  /** Undefined without one. A request with a key is a batch of its own, since it may be a repeat. */
  idempotencyKey: string | undefined;
  promptVersion: number | undefined;
  admissions: Admission[];
};

/** What like requests have in common. */
function likenessOf(admission: Admission): string | object {
  const { operation, keyHash, deployId } = admission;
  if (operation !== "submit") return `${operation} ${keyHash} ${deployId}`;
  const { idempotency, run, promptVersion = "" } = admission;
  return idempotency === undefined ? run ?? `${operation} ${keyHash} ${promptVersion} ${deployId}` : admission;
}

/** Puts the requests of a group into batches, in the order in which the first of each arrived. */
export function toBatches(admissions: Admission[]): CallBatch[] {
  const alike = new Map<string | object, Admission[]>();
  for (const admission of admissions) {
    const name = likenessOf(admission);
    const found = alike.get(name);
    if (found === undefined) alike.set(name, [admission]);
    else found.push(admission);
  }
  let firstSlot = 0;
  return Array.from(alike.values(), (admissions) => {
    const [first] = admissions as [Admission];
    const { keyHash, deployId, operation } = first;
    const idempotencyKey = idempotencyOf(first)?.key;
    const promptVersion = promptVersionOf(first);
    const batch = { keyHash, deployId, operation, firstSlot, idempotencyKey, promptVersion, admissions };
    firstSlot += admissions.length;
    return batch;
  });
}

/** The submits of a group by slot, null where a slot has another request. */
export type SubmitSlots = (Submit | null)[];

export const toSubmitSlots = (batches: CallBatch[]): SubmitSlots =>
  batches.flatMap(({ admissions }) => admissions.map((one) => one.operation === "submit" ? one : null));
