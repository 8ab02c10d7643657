// Makes a record of a submit's body.
import { normalizeNumber, stringifyMembers } from "../../common/json-text.ts";
import type { Submit } from "../../ledger/admission.ts";
import { measuresOf } from "../../ledger/measures.ts";
import type { DiagnosisRequest } from "../../schema/submits.ts";

export type Submitted = Pick<Submit, "record"> & Required<Pick<Submit, "promptVersion" | "rollout">>;

const numbers = ["status", "latency", "startAt", "endAt"];

/**
 * Stores scalars that the specification types as values (1.0 is the integer 1). Everything else is stored as the text
 * that was sent, even a number that a double would round.
 */
export function toSubmitted({ value, members }: { value: DiagnosisRequest; members: Map<string, string> }): Submitted {
  const { sessionId, status, promptVersion, rollout } = value;
  members.set("sessionId", JSON.stringify(sessionId));
  for (const name of numbers) {
    const text = members.get(name);
    if (text !== undefined) members.set(name, normalizeNumber(text));
  }
  // These have their own columns.
  members.delete("promptVersion");
  members.delete("rollout");
  const measures = measuresOf(value, members);
  return { record: { sessionId, status, measures, document: stringifyMembers(members) }, promptVersion, rollout };
}
