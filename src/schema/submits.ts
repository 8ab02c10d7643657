// Validation of submits. The core contains only these rules: submit-schemas.ts describes them.
import { exactly, isObject, object, optional, predicate, refined } from "./struct.ts";
import type { Infer } from "./struct.ts";
import * as v from "./values.ts";

export const DiagnosisContent = refined(
  object({ input: optional(v.text), output: optional(v.text) }),
  ({ input, output }) => input !== undefined || output !== undefined,
  "an object with input or output",
);

/** The body of a submit. Members that are not named here are stored too. */
export const DiagnosisRequest = object({
  sessionId: v.clientName,
  status: v.integer,
  content: DiagnosisContent,
  latency: optional(v.duration),
  startAt: optional(v.timestamp),
  endAt: optional(v.timestamp),
  additional_properties: optional(v.anyObject),
  promptVersion: optional(v.positive),
  rollout: optional(v.clientName),
});
export type DiagnosisRequest = Infer<typeof DiagnosisRequest>;

/** One record of a batch: the body of a submit, with its query parameter and header as members. */
export const DiagnosisItem = object({
  deployId: v.deployId,
  idempotencyKey: optional(v.idempotencyKey),
  ...DiagnosisRequest.schema,
});
export type DiagnosisItem = Infer<typeof DiagnosisItem>;

export const maxItems = 500;

export const DiagnosisBatch = exactly({
  records: predicate<object[]>(
    `an array of 1 to ${maxItems} objects`,
    (value) => Array.isArray(value) && value.length >= 1 && value.length <= maxItems && value.every(isObject),
    { type: "array" },
  ),
});
