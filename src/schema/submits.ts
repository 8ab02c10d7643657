// The bodies that applications submit.
import { described, exactly, isObject, named, object, optional, predicate, refer, refined } from "./struct.ts";
import type { Infer } from "./struct.ts";
import * as v from "./values.ts";

export const DiagnosisContent = refined(
  object({
    input: optional(described(v.text, "What the model was given")),
    output: optional(described(v.text, "What it answered")),
  }),
  ({ input, output }) => input !== undefined || output !== undefined,
  "an object with input or output",
  { anyOf: [{ required: ["input"] }, { required: ["output"] }] },
);

const diagnosis = {
  sessionId: described(v.clientName, "The client's name for the session"),
  status: described(v.integer, "A code whose meaning is the client's"),
  content: DiagnosisContent,
  latency: optional(described(v.duration, "How long the model took, in milliseconds")),
  startAt: optional(described(v.timestamp, "When the session began, in Unix milliseconds")),
  endAt: optional(described(v.timestamp, "When the session ended, in Unix milliseconds")),
  additional_properties: optional(
    described(v.anyObject, "Any JSON, kept as it is sent, such as a trace's id and the numbers of tokens"),
  ),
  promptVersion: optional(
    described(v.positive, "The version that was read, `deploy.currentVersion`; the live one unless given"),
  ),
};

const diagnosisExample = {
  sessionId: "order-4711",
  status: 1,
  content: { input: "Where is it?", output: "Here." },
  latency: 840,
  additional_properties: { trace_id: "4bf92f35", token_usage: { prompt_tokens: 52, completion_tokens: 4 } },
};

/** The body of a submit. Members that are not named here are kept too. */
export const DiagnosisRequest = named(
  "DiagnosisRequest",
  described(
    object(diagnosis),
    "What came of a prompt. Further members are kept, and given back with the record",
    { examples: [diagnosisExample] },
  ),
);
export type DiagnosisRequest = Infer<typeof DiagnosisRequest>;

/** A record of many that are submitted together. */
export const DiagnosisItem = named(
  "DiagnosisItem",
  described(
    object({
      deployId: described(v.deployId, "The id of a deployment, or its reference NAME@DEPLOYMENT"),
      idempotencyKey: optional(described(v.idempotencyKey, "What Idempotency-Key is to a single submit")),
      ...diagnosis,
    }),
    "A submit's body, and what its query and headers say",
    { examples: [{ deployId: "support/assistant@production", idempotencyKey: "4bf92f35", ...diagnosisExample }] },
  ),
);
export type DiagnosisItem = Infer<typeof DiagnosisItem>;

const mostItems = 500;

export const DiagnosisBatch = named(
  "DiagnosisBatch",
  exactly({
    records: predicate<object[]>(
      `an array of 1 to ${mostItems} objects`,
      (value) => Array.isArray(value) && value.length >= 1 && value.length <= mostItems && value.every(isObject),
      { type: "array", minItems: 1, maxItems: mostItems, items: refer(DiagnosisItem) },
    ),
  }),
);
