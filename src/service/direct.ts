// The data plane without HTTP, for code that embeds the service: the same rules and the same ledger.
import { bodyTooLarge, invalidDeployId, notJson, withDetails } from "../common/errors.ts";
import type { QuotaDetails, Refusal } from "../common/errors.ts";
import type { DiagnosisItem, ServedPrompt } from "../schema/shapes.ts";
import type { Refused } from "../ledger/admission.ts";
import { isDeployId } from "../schema/values.ts";
import { admitRead, admitSubmit } from "../http/calls/admit.ts";
import { findKey, readKeyHash } from "../http/authorization.ts";
import type { CallContext, Context } from "../http/context.ts";
import type { Run } from "../http/face.ts";
import { findRefusal } from "../http/in-flight.ts";
import type { InFlight } from "../http/in-flight.ts";
import { pick } from "../http/calls/prompts.ts";
import { asRefusal, detailsOf, refusalOf } from "../http/respond.ts";

/** API key, and the deployment: its id, or `NAME@DEPLOYMENT`. */
export type Target = { key: string; deployId: string };

/** A record, as the body of a submit. `Omit` would keep only the index signature of further members. */
export type DiagnosisRecord = {
  [Name in keyof DiagnosisItem as Name extends "deployId" | "idempotencyKey" ? never : Name]: DiagnosisItem[Name];
};

/**
 * Target of a read. During a rollout, the service picks a version by `rolloutKey`, such as a user id, like the query
 * parameter `key`. Without it, or if it is empty, the prompt is the live version.
 */
export type ReadTarget = Target & { rolloutKey?: string | undefined };

/** The prompt as in a response, and the quota, of which `limit - used` is left. */
export type ReadResult = ServedPrompt & {
  /** The rollout that chose the version, to be recorded as `rollout`. */
  rollout?: { id: string; isCandidate: boolean };
  quota: QuotaDetails;
};
/** The id of the record, and the quota. */
export type RecordResult = { id: string; quota: QuotaDetails };

export const runIn = (inFlight: InFlight): Run => async (work) => {
  const end = inFlight.begin();
  try {
    const refusal = findRefusal(inFlight);
    if (refusal !== undefined) throw refusal;
    return await work();
  } catch (error) {
    throw asRefusal(error);
  } finally {
    end();
  }
};

/** GET /v1/prompts without HTTP. */
export async function readPromptOf(
  context: Context,
  { key, deployId, rolloutKey }: ReadTarget,
): Promise<ReadResult> {
  const keyHash = await readKeyHash(`Bearer ${key}`, context);
  const decision = await admitRead(newCall(), context, keyHash, () => checkDeployId(deployId));
  if (decision.outcome !== "read") throw refusalFor(decision);
  const { text } = await pick(decision, false, rolloutKey);
  return { ...JSON.parse(text), quota: detailsOf(decision.quota) };
}

/** POST /v1/diagnosis without HTTP. */
export async function recordDiagnosisOf(
  context: Context,
  { key, deployId, idempotencyKey }: Target & { idempotencyKey?: string | undefined },
  record: DiagnosisRecord,
): Promise<RecordResult> {
  const ctx = newCall();
  const decision = await admitSubmit(ctx, context, await findKey(ctx, context, `Bearer ${key}`), () => ({
    deployId: checkDeployId(deployId),
    text: toText(record, context.bodyLimit.bytes),
    idempotencyKey,
  }));
  if (decision.outcome !== "recorded") throw refusalFor(decision);
  return { id: decision.recordId, quota: detailsOf(decision.quota) };
}

const newCall = (): CallContext => ({ logContext: {}, isGone: undefined, isKeyValid: false });

function checkDeployId(deployId: unknown) {
  if (!isDeployId(deployId)) throw invalidDeployId();
  return deployId;
}

function toText(record: unknown, limit: number): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(record);
  } catch (error) {
    throw Object.assign(notJson("Record"), { cause: error });
  }
  if (text === undefined) throw notJson("Record");
  if (3 * text.length > limit && new TextEncoder().encode(text).length > limit) throw bodyTooLarge(limit);
  return text;
}

const refusalFor = (decision: Refused): Refusal =>
  withDetails(refusalOf(decision), "quota" in decision ? { details: detailsOf(decision.quota) } : {});
