// Makes a record of a submit's body.
import { normalizeNumber, stringifyMembers } from "../common/json-text.ts";
import type { NewDiagnosis } from "../ledger/admission.ts";
import { measuresOf } from "../ledger/measures.ts";
import type { DiagnosisRequest } from "../schema/submits.ts";

export type Submitted = { record: NewDiagnosis; promptVersion: number | undefined };

const numbers = ["status", "latency", "startAt", "endAt"];

/**
 * Stores scalars that the specification types as values (1.0 is the integer 1). Everything else is stored as the text that
 * was sent, even a number that a double would round.
 */
export function toSubmitted({ value, members }: { value: DiagnosisRequest; members: Map<string, string> }): Submitted {
  const { sessionId, status, promptVersion } = value;
  members.set("sessionId", JSON.stringify(sessionId));
  for (const name of numbers) {
    const text = members.get(name);
    if (text !== undefined) members.set(name, normalizeNumber(text));
  }
  // The version has a column of its own.
  members.delete("promptVersion");
  const measures = measuresOf(value, members);
  return { record: { sessionId, status, measures, document: stringifyMembers(members) }, promptVersion };
}
