// A submit's body as a record to store.
import { isSameNumber, stringifyMembers } from "../common/json-text.ts";
import type { NewDiagnosis } from "../ledger/admission.ts";
import type { DiagnosisRequest } from "../schema/serving.ts";

export type Submitted = { record: NewDiagnosis; promptVersion: number | undefined };

/**
 * The record in a submit's body. Scalars that the specification types are kept as values (1.0 is the integer 1), all else as the text that was sent; so is
 * a number that a double would round.
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
 * The numbers of prompt and completion tokens, null where not given: those of `prompt_tokens` and `completion_tokens` in the
 * additional properties, or in the first object among them that has one.
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
