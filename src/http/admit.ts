// Asking the ledger, and noting for the log who asked for what.
import type { Read, Recorded, Refused, Served, Submit } from "../ledger/admission.ts";
import { noteValidity } from "./authorization.ts";
import type { Asked, Context } from "./context.ts";
import { noteCaller } from "./notes.ts";

/** Has the ledger decide a request. */
export const admit = <A extends Read | Submit>(
  { notes }: Asked,
  { ledger, telemetry, validKeys }: Context,
  admission: A,
): Promise<Refused | (A extends Read ? Served : Recorded)> =>
  ledger.admit(admission).then((decision) => {
    const { caller, groupSize } = decision.audit;
    notes.groupSize = groupSize;
    noteCaller(notes, caller);
    noteValidity(validKeys, admission.keyHash, caller);
    if (decision.outcome === "quota_exhausted") telemetry.quotaRefusals();
    return decision;
  });
