// Schemas of submits, for OpenAPI and the types of the client. They are separate from the rules, so that the core does
// not contain them.
import { described, named, object, refer, refined, shape } from "./struct.ts";
import type { Schema } from "./struct.ts";
import * as submits from "./submits.ts";

/** Adds descriptions to members. */
const withTexts = <S extends Schema>(schema: S, texts: Partial<Record<keyof S, string>>): S =>
  Object.fromEntries(
    Object.entries(schema).map(([name, struct]) => {
      const text = texts[name];
      return [name, text === undefined ? struct : described(struct, text)];
    }),
  ) as S;

const { DiagnosisContent: content, DiagnosisRequest: request, DiagnosisItem: item, maxItems } = submits;

export const DiagnosisContent = refined(
  object(withTexts(content.schema, { input: "The model's input", output: "The model's output" })),
  (value) => content.is(value),
  "an object with input or output",
  { anyOf: [{ required: ["input"] }, { required: ["output"] }] },
);

const texts = {
  sessionId: "The client's name for the session",
  status: "A code whose meaning the client defines",
  latency: "How long the model took, in milliseconds",
  startAt: "When the session began, in Unix milliseconds",
  endAt: "When the session ended, in Unix milliseconds",
  additional_properties: "Any JSON object, stored as sent, such as a trace id and token counts",
  promptVersion: "The version that was used, from `deploy.currentVersion`. The default is the live one",
  rollout: "The id of the rollout that chose `promptVersion`",
};

export const DiagnosisRequest = named(
  "DiagnosisRequest",
  described(
    object({ ...withTexts(request.schema, texts), content: DiagnosisContent }),
    "The outcome of a prompt. Further members are stored, and returned with the record",
  ),
);

export const DiagnosisItem = named(
  "DiagnosisItem",
  described(
    object({
      ...withTexts(item.schema, {
        ...texts,
        deployId: "The id of a deployment, or its reference NAME@DEPLOYMENT",
      }),
      idempotencyKey: described(item.schema.idempotencyKey, "The Idempotency-Key header of a single submit", {
        pattern: "^[ -~]{1,255}$",
      }),
      content: DiagnosisContent,
    }),
    "The body of a submit, with its query parameter and header as members",
  ),
);

const { records } = submits.DiagnosisBatch.schema;

export const DiagnosisBatch = shape("DiagnosisBatch", {
  records: refined(records, () => true, "", { minItems: 1, maxItems, items: refer(DiagnosisItem) }),
});
