// Asking the ledger, and noting for the log who asked for what.
import type { Read, Recorded, Refused, Served, Submit } from "../store/admission.ts";
import type { Asked, Context } from "./context.ts";

/** Has the ledger decide a request. */
export async function admit<A extends Read | Submit>(
  { notes }: Asked,
  { ledger, telemetry }: Context,
  admission: A,
): Promise<Refused | (A extends Read ? Served : Recorded)> {
  const verdict = await ledger.admit(admission);
  const { caller, groupSize } = verdict.audit;
  Object.assign(notes, caller, { groupSize });
  if (verdict.outcome === "quota_exhausted") telemetry.quotaRefusals();
  return verdict;
}
