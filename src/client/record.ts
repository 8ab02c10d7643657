// Records: their content, their key and the mask.
import { toClientError } from "./errors.ts";
import type { DiagnosisItem } from "../schema/shapes.ts";
import { newUuid } from "./uuid.ts";

/** Removes or replaces what must stay in the program. null drops the record. */
export type Mask = (record: DiagnosisItem) => DiagnosisItem | null;

/** Content of a record. The service requires at least one of the two, as a string. */
export const contentOf = (...given: [input: unknown, output: unknown]): DiagnosisItem["content"] => {
  const [input, output] = given.map((value) =>
    typeof value === "string" ? value : JSON.stringify(value ?? undefined) as string | undefined
  );
  return { input, output: output ?? (input === undefined ? "" : undefined) };
};

/** Applies the mask and adds the key under which the record is stored once. Throws if the mask fails. */
export const maskRecord = (record: DiagnosisItem, mask: Mask | undefined, now: number): DiagnosisItem | null => {
  const keyed = { ...record, idempotencyKey: record.idempotencyKey ?? newUuid(now) };
  try {
    const masked = mask ? mask(keyed) : keyed;
    return masked && { idempotencyKey: keyed.idempotencyKey, ...masked };
  } catch (error) {
    throw toClientError(error, "mask_failed");
  }
};
