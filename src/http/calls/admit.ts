// Passes a call to the ledger, over HTTP or without, and records its caller for the log.
import { invalidApiKey } from "../../common/errors.ts";
import type { DeploymentRef } from "../../common/reference.ts";
import type { Check, Checked, Read, Recorded, Refused, Served, Submit } from "../../ledger/admission.ts";
import { parse } from "../../schema/parse.ts";
import { DiagnosisRequest } from "../../schema/submits.ts";
import { cacheValidity, headerOf, readAuthorized, readKeyHash } from "../authorization.ts";
import type { ValidKey } from "../authorization.ts";
import type { CallContext, Context, RequestContext } from "../context.ts";
import { toIdempotencyKey } from "./idempotency.ts";
import { setCaller } from "../log-context.ts";
import { toSubmitted } from "./record.ts";

/** Checks the key of a request, at no cost. Refuses an invalid key. */
export async function checkKey(
  { request, logContext }: RequestContext,
  context: Context,
  operation: Check["operation"],
): Promise<Checked> {
  const keyHash = await readKeyHash(headerOf(request), context);
  const checked = await context.ledger.check(keyHash, operation, context.validKeys.get(keyHash));
  if (checked === undefined) throw invalidApiKey();
  setCaller(logContext, checked.audit.caller);
  return checked;
}

/** Lets the ledger decide a request. */
export const admit = <A extends Read | Submit>(
  { logContext }: CallContext,
  { ledger, telemetry, validKeys }: Context,
  admission: A,
): Promise<Refused | (A extends Read ? Served : Recorded)> =>
  ledger.admit(admission).then((decision) => {
    const { caller, deployId, groupSize } = decision.audit;
    logContext.groupSize = groupSize;
    if (deployId !== undefined) logContext.deployId = deployId;
    setCaller(logContext, caller);
    cacheValidity(validKeys, admission.keyHash, caller);
    if (decision.outcome === "quota_exhausted") telemetry.quotaRefusals();
    return decision;
  });

/** Decides a read. `readDeployId` refuses an invalid id. */
export async function admitRead(
  ctx: CallContext,
  context: Context,
  keyHash: string,
  readDeployId: () => DeploymentRef,
): Promise<Refused | Served> {
  const deployId = await readAuthorized(ctx, context, keyHash, readDeployId);
  const workspaceId = context.validKeys.get(keyHash);
  return await admit(ctx, context, { operation: "read", keyHash, workspaceId, deployId, isGone: ctx.isGone });
}

/** A submit as it was sent: `text` is the JSON of its record. */
type SubmitInput = { deployId: DeploymentRef; text: string; idempotencyKey: string | undefined };

/** Decides a submit. `readInput` refuses an invalid id, and a record that is too large. */
export async function admitSubmit(
  ctx: CallContext,
  context: Context,
  key: ValidKey,
  readInput: () => SubmitInput | Promise<SubmitInput>,
): Promise<Refused | Recorded> {
  const submit = await readAuthorized(ctx, context, key.keyHash, async () => {
    const { deployId, text, idempotencyKey } = await readInput();
    const submitted = toSubmitted(parse(DiagnosisRequest, text));
    const idempotency = await toIdempotencyKey(idempotencyKey, deployId, submitted);
    return { deployId, ...submitted, idempotency };
  });
  return await admit(ctx, context, { operation: "submit", ...key, isGone: ctx.isGone, ...submit });
}
