// The requests that the ledger decides, its decisions, and the batches of a group's requests.
import type { DeploymentId, KeyId, RecordId, RolloutId, WorkspaceId } from "../common/ids.ts";
import type { JsonText } from "../common/json-text.ts";
import type { DeploymentRef } from "../common/reference.ts";
import type { QuotaState } from "../schema/serving.ts";

/**
 * A record to store. `document` is the whole record as a JSON object, `measures` the value of the column of that name.
 */
export type NewDiagnosis = { sessionId: string; status: number; measures: string; document: string };

/** A key under which a client may repeat a submit. The fingerprint distinguishes a repeat from another request. */
export type IdempotencyKey = { key: string; fingerprint: string };

/** Members of all requests. */
type RequestBase = {
  keyHash: string;
  /** The key's workspace, if an earlier lookup found the key valid. A submit with an idempotency key must have it. */
  workspaceId?: WorkspaceId | undefined;
  /** True if the client has closed its connection. Undefined if the runtime cannot detect it. */
  isGone?: (() => boolean) | undefined;
};

/** Members that only a submit has. */
type Recordless = { [Name in "promptVersion" | "rollout" | "idempotency" | "run"]?: undefined };

export type Read = RequestBase & Recordless & { operation: "read"; deployId: DeploymentRef };
export type Submit = RequestBase & {
  operation: "submit";
  deployId: DeploymentRef;
  record: NewDiagnosis;
  /** The version of the prompt that the record is for. The default is the live one. */
  promptVersion?: number | undefined;
  /** The rollout that chose that version. */
  rollout?: string | undefined;
  idempotency?: IdempotencyKey | undefined;
  /**
   * Submits with the same object here may share a batch. Without it, all like submits may. Records of one request have
   * it, which keeps them in order.
   */
  run?: object | undefined;
};
/** Looks up a key, the quota of its workspace and, for `revisions`, the live versions. It is not counted or logged. */
export type Check = RequestBase & Recordless & { operation: "check" | "revisions"; deployId: "" };
export type Admission = Read | Submit | Check;

/**
 * Details for the request log. The caller is undefined if the key is invalid. `groupSize` requests were decided
 * together.
 */
export type Audit = { caller: Caller | undefined; deployId: DeploymentId | undefined; groupSize: number };
export type Caller = { workspaceId: WorkspaceId; keyId: KeyId };

/** A workspace's quota in one month. `used` counts accepted requests. `resetsAt` is the end of the month in Unix ms. */
export type Quota = { limit: number; used: number; resetsAt: number; upgradeUrl: string | null };

/** Reason why a request was not accepted. Nothing of it is stored. */
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
        | "version_not_found"
        | "rollout_not_found";
    }
    | { outcome: "quota_exhausted"; quota: Quota }
  );
/** `prompt` is the live version as the specification serves it. During a rollout, `rollout.prompt` is the candidate. */
export type Served = { outcome: "read"; prompt: JsonText; rollout?: ServedRollout; quota: Quota; audit: Audit };
/** An active rollout. `share` is in tenths of a percent, and `prompt` is the candidate. */
export type ServedRollout = {
  id: RolloutId;
  version: number;
  share: number;
  salt: string;
  prompt: JsonText;
  /** Cache of response texts, each built once. */
  texts: { both?: JsonText; base?: JsonText; candidate?: JsonText };
};
export type Recorded = { outcome: "recorded"; recordId: RecordId; quota: Quota; audit: Audit };
/** `revisions` is a JSON object of deployments by id, or null if the request was a `check` or the key may not read. */
export type Checked = { outcome: "checked"; usage: QuotaState; revisions: string | null; audit: Audit };
export type Decision = Served | Recorded | Checked | Refused;

/**
 * Like requests, which share one row of the call log. The first one holds their common members. Their slots in the
 * group are consecutive, from `firstSlot` on.
 */
export type CallBatch = { first: Admission; firstSlot: number; admissions: Admission[] };

/** Requests with the same batch key share a batch. One with an idempotency key is alone, since it may be a repeat. */
function batchKeyOf(admission: Admission): string | object {
  const { operation, keyHash, deployId, idempotency, run, promptVersion = "", rollout = "" } = admission;
  if (idempotency !== undefined) return admission;
  return run ?? `${operation} ${keyHash} ${promptVersion} ${rollout} ${deployId}`;
}

/** Puts the requests of a group into batches, in the order in which the first of each arrived. */
export function toBatches(admissions: Admission[]): CallBatch[] {
  const alike = new Map<string | object, Admission[]>();
  for (const admission of admissions) {
    const batchKey = batchKeyOf(admission);
    const found = alike.get(batchKey);
    if (found === undefined) alike.set(batchKey, [admission]);
    else found.push(admission);
  }
  let firstSlot = 0;
  return Array.from(alike.values(), (admissions) => {
    const [first] = admissions as [Admission];
    const batch = { first, firstSlot, admissions };
    firstSlot += admissions.length;
    return batch;
  });
}

/** The submits of a group by slot. A slot with another request is null. */
export type SubmitSlots = (Submit | null)[];

export const toSubmitSlots = (batches: CallBatch[]): SubmitSlots =>
  batches.flatMap(({ admissions }) => admissions.map((one) => one.operation === "submit" ? one : null));
