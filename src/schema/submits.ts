// The bodies that applications submit.
import { described, exactly, isObject, named, object, optional, predicate, refer, refined } from "./struct.ts";
import type { Infer } from "./struct.ts";
import * as v from "./values.ts";

export const DiagnosisContent = refined(
  object({
    input: optional(described(v.text, "The model's input")),
    output: optional(described(v.text, "The model's output")),
  }),
  ({ input, output }) => input !== undefined || output !== undefined,
  "an object with input or output",
  { anyOf: [{ required: ["input"] }, { required: ["output"] }] },
);

const diagnosis = {
  sessionId: described(v.clientName, "The client's name for the session"),
  status: described(v.integer, "A code whose meaning the client defines"),
  content: DiagnosisContent,
  latency: optional(described(v.duration, "How long the model took, in milliseconds")),
  startAt: optional(described(v.timestamp, "When the session began, in Unix milliseconds")),
  endAt: optional(described(v.timestamp, "When the session ended, in Unix milliseconds")),
  additional_properties: optional(
    described(v.anyObject, "Any JSON object, stored as sent, such as a trace id and token counts"),
  ),
  promptVersion: optional(
    described(v.positive, "The version that was used, from `deploy.currentVersion`. The default is the live one"),
  ),
};

/** The body of a submit. Members that are not named here are stored too. */
export const DiagnosisRequest = named(
  "DiagnosisRequest",
  described(object(diagnosis), "The outcome of a prompt. Further members are stored, and returned with the record"),
);
export type DiagnosisRequest = Infer<typeof DiagnosisRequest>;

/** One record of a batch. */
export const DiagnosisItem = named(
  "DiagnosisItem",
  described(
    object({
      deployId: described(v.deployId, "The id of a deployment, or its reference NAME@DEPLOYMENT"),
      idempotencyKey: optional(described(v.idempotencyKey, "The Idempotency-Key header of a single submit")),
      ...diagnosis,
    }),
    "The body of a submit, with its query parameter and header as members",
  ),
);
export type DiagnosisItem = Infer<typeof DiagnosisItem>;

const maxItems = 500;

export const DiagnosisBatch = named(
  "DiagnosisBatch",
  exactly({
    records: predicate<object[]>(
      `an array of 1 to ${maxItems} objects`,
      (value) => Array.isArray(value) && value.length >= 1 && value.length <= maxItems && value.every(isObject),
      { type: "array", minItems: 1, maxItems, items: refer(DiagnosisItem) },
    ),
  }),
);
