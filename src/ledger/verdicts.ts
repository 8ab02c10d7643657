// From what was found for the runs of a group to a verdict for each of its requests.
import { placedId } from "../common/ids.ts";
import { idempotencyOf } from "./admission.ts";
import type { Admission, Audit, Run, Verdict } from "./admission.ts";
import type { Serve } from "./prompt-cache.ts";
import type { Finding } from "./statements.ts";
import { usageOf } from "./usage.ts";

/** All attempts at a group judge it by the same moment, and commit it under the same id. */
export type Attempt = { commit: string; now: number; month: string; resetsAt: number };

/** A verdict for each request, but for those of which it is not known any more why they were not accepted. */
export function toVerdicts(runs: Run[], findings: Finding[], attempt: Attempt, serve: Serve): Map<Admission, Verdict> {
  const verdicts = new Map<Admission, Verdict>();
  const groupSize = runs.reduce((sum, { admissions }) => sum + admissions.length, 0);
  for (const [index, { first, admissions }] of runs.entries()) {
    const finding = findings[index]!;
    const [isKeyValid, , , , , , , , , workspaceId, keyId] = finding;
    const audit = { caller: isKeyValid === 1 ? { workspaceId, keyId } : undefined, groupSize };
    for (const [turn, admission] of admissions.entries()) {
      const verdict = toVerdict(admission, finding, turn, first + turn, attempt, serve, audit);
      if (verdict !== undefined) verdicts.set(admission, verdict);
    }
  }
  return verdicts;
}

/** `turn` is the request's place in its run, `place` that in the commit. */
function toVerdict(
  admission: Admission,
  [isKeyValid, isFound, limit, used, upgradeUrl, number, accepted, prompt, kept, , , reads]: Finding,
  turn: number,
  place: number,
  { commit, month, resetsAt }: Attempt,
  serve: Serve,
  audit: Audit,
): Verdict | undefined {
  const quota = { limit, used: number === null ? used : number + turn, resetsAt, upgradeUrl };
  if (isKeyValid === 0) return { outcome: "key_invalid", audit };
  if (admission.operation === "check") {
    return { outcome: "checked", usage: usageOf({ month, limit, reads, submits: used - reads }), audit };
  }
  if (kept !== null) {
    const [recordId, fingerprint] = kept;
    return fingerprint === idempotencyOf(admission)?.fingerprint
      ? { outcome: "recorded", recordId, quota, audit }
      : { outcome: "key_reused", audit };
  }
  if (isFound === 0) return { outcome: "deployment_not_found", audit };
  if (number === null || accepted === null) {
    // Quota is left, so this is a later attempt at a group that was committed, and something has changed in between.
    return used < limit ? undefined : { outcome: "quota_exhausted", quota, audit };
  }
  if (turn >= accepted) {
    const last = number + accepted - 1;
    return { outcome: "quota_exhausted", quota: { ...quota, limit: last, used: last }, audit };
  }
  return prompt === null
    ? { outcome: "recorded", recordId: placedId("diag", commit, place), quota, audit }
    : { outcome: "read", prompt: serve(admission.deployId, prompt), quota, audit };
}
