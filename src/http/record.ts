// Makes a record of a submit's body.
import { isSameNumber, stringifyMembers } from "../common/json-text.ts";
import type { NewDiagnosis } from "../ledger/admission.ts";
import type { DiagnosisRequest } from "../schema/submits.ts";

export type Submitted = { record: NewDiagnosis; promptVersion: number | undefined };

/**
 * Stores scalars that the specification types as values (1.0 is the integer 1). Everything else is stored as the text that
 * was sent, even a number that a double would round.
 */
export function toSubmitted({ value, members }: { value: DiagnosisRequest; members: Map<string, string> }): Submitted {
  const { sessionId, status, latency, startAt, endAt, promptVersion } = value;
  for (const [name, scalar] of Object.entries({ sessionId, status, latency, startAt, endAt })) {
    const isRounded = typeof scalar === "number" && !isSameNumber(members.get(name)!, scalar);
    if (scalar !== undefined && !isRounded) members.set(name, JSON.stringify(scalar));
  }
  // It has a column of its own.
  members.delete("promptVersion");
  const measures = [latency ?? null, ...findTokens(value.additional_properties ?? {})].map(String).join();
  return { record: { sessionId, status, measures, document: stringifyMembers(members) }, promptVersion };
}

/**
 * The numbers of prompt and completion tokens, null if absent. They are `prompt_tokens` and `completion_tokens` in the
 * additional properties, or in the first object there that has either.
 */
function findTokens(properties: Record<string, unknown>): [prompt: number | null, completion: number | null] {
  for (const holder of [properties, ...Object.values(properties)]) {
    if (typeof holder !== "object" || holder === null) continue;
    const { prompt_tokens: prompt, completion_tokens: completion } = holder as Record<string, unknown>;
    if (isTokens(prompt) || isTokens(completion)) {
      return [isTokens(prompt) ? prompt : null, isTokens(completion) ? completion : null];
    }
  }
  return [null, null];
}

const isTokens = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
