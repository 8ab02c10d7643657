// Passes a request to the ledger, and records its caller for the log.
import type { Read, Recorded, Refused, Served, Submit } from "../ledger/admission.ts";
import { cacheValidity } from "./authorization.ts";
import type { Context, RequestContext } from "./context.ts";
import { setCaller } from "./log-context.ts";

/** Lets the ledger decide a request. */
export const admit = <A extends Read | Submit>(
  { logContext }: RequestContext,
  { ledger, telemetry, validKeys }: Context,
  admission: A,
): Promise<Refused | (A extends Read ? Served : Recorded)> =>
  ledger.admit(admission).then((decision) => {
    const { caller, groupSize } = decision.audit;
    logContext.groupSize = groupSize;
    setCaller(logContext, caller);
    cacheValidity(validKeys, admission.keyHash, caller);
    if (decision.outcome === "quota_exhausted") telemetry.quotaRefusals();
    return decision;
  });
