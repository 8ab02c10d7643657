// Passes a request to the ledger, and records its caller for the log.
import { invalidApiKey } from "../common/errors.ts";
import type { Check, Checked, Read, Recorded, Refused, Served, Submit } from "../ledger/admission.ts";
import { cacheValidity, readKeyHash } from "./authorization.ts";
import type { Context, RequestContext } from "./context.ts";
import { setCaller } from "./log-context.ts";

/** What the ledger says of the key of a request, which costs nothing. Refuses an invalid key. */
export async function checkKey(
  { request, logContext }: RequestContext,
  context: Context,
  operation: Check["operation"],
): Promise<Checked> {
  const keyHash = await readKeyHash(request, context);
  const checked = await context.ledger.check(keyHash, operation, context.validKeys.get(keyHash));
  if (checked === undefined) throw invalidApiKey();
  setCaller(logContext, checked.audit.caller);
  return checked;
}

/** Lets the ledger decide a request. */
export const admit = <A extends Read | Submit>(
  { logContext }: RequestContext,
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
