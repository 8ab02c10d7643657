// What applications get, and the content of prompts. Nothing of it checks a request of theirs, so the core goes without.
import {
  described,
  exactly,
  isObject,
  listOf,
  named,
  object,
  optional,
  predicate,
  rawJson,
  schemaOf,
} from "./struct.ts";
import type { Infer } from "./struct.ts";
import * as v from "./values.ts";

/** What became of each record, in their order. */
export const DiagnosisResults = named(
  "DiagnosisResults",
  exactly({
    results: listOf(exactly({
      status: described(v.positive, "What a single submit is answered with: 201, or why it was refused"),
      id: optional(described(v.text, "The id of the record, where it is stored")),
      error: optional(described(v.text, "Why it was refused, for people")),
      code: optional(described(v.text, "Why it was refused, for programs")),
    })),
  }),
);

/** Which version of each deployment is live. */
export const Revisions = named(
  "Revisions",
  exactly({
    deployments: predicate<Record<string, unknown>>("an object", isObject, {
      type: "object",
      description: "The deployments of the key's workspace by their ids, but for archived ones",
      additionalProperties: schemaOf(exactly({
        reference: described(v.text, "The name of its prompt, `@` and its own name"),
        revision: described(v.positive, "How often it has changed"),
        version: described(v.positive, "The version of the prompt that is live"),
        isActive: described(v.isTrue, "Whether it is open to requests"),
      })),
    }),
  }),
);

const parts = listOf(v.anyObject);
const MessageContent = predicate<string | Record<string, unknown>[]>(
  "a string or an array of objects",
  (value) => typeof value === "string" || parts.is(value),
  { oneOf: [{ type: "string" }, { type: "array", items: { type: "object" } }] },
);

/** The messages of a prompt. Members of a message that are not named here are kept and served. */
const Message = named(
  "Message",
  described(
    object({
      role: described(v.filledText, "Who says it, such as system or user"),
      content: described(MessageContent, "A text, or parts as the model's provider has them"),
    }),
    "A message of a prompt. Further members are kept and served",
  ),
);
export const Messages = rawJson(described(listOf(Message), "In the order in which the model is to have them"));
export const LlmConfig = rawJson(
  described(v.anyObject, "Any JSON, kept as it is sent; by convention provider, model, temperature and their like"),
);

export const DiagnosisResponse = named(
  "DiagnosisResponse",
  exactly({
    id: described(v.text, "The id of the record"),
    status: predicate<"success">("success", (value) => value === "success", { const: "success" }),
    message: v.text,
  }),
);

export const ServedPrompt = named(
  "ServedPrompt",
  described(
    exactly({
      id: v.text,
      title: v.text,
      description: v.text,
      messages: Messages,
      deploy: exactly({
        id: v.text,
        name: v.text,
        currentVersion: described(v.positive, "The version of the prompt that is served"),
        isActive: described(v.isTrue, "Always true: no other deployment is served"),
      }),
      workspace: exactly({ id: v.text, name: v.text }),
      llmConfig: LlmConfig,
    }),
    "The active prompt of a deployment",
    {
      examples: [{
        id: "prompt_01m7",
        title: "Support assistant",
        description: "Answers customers",
        messages: [{ role: "system", content: "You are a friendly assistant of {{shop}}." }],
        deploy: { id: "dep_01m7", name: "production", currentVersion: 1, isActive: true },
        workspace: { id: "ws_01m7", name: "Demo" },
        llmConfig: { provider: "openai", model: "gpt-4o", temperature: 0.2 },
      }],
    },
  ),
);

const error = described(v.text, "Why the request was refused, for people");

export const ErrorResponse = named("ErrorResponse", exactly({ error }));

export const RateLimitErrorResponse = named(
  "RateLimitErrorResponse",
  exactly({
    error,
    details: exactly({
      limit: described(v.count, "Accepted requests that the workspace has a month"),
      used: described(v.count, "Accepted requests of this month"),
      resetTime: described(v.seconds, "When the next month begins, in Unix seconds"),
      upgradeUrl: described(v.webUrl, "Where a higher limit is to be had; null where nowhere"),
    }),
  }),
);

/** What a workspace may use in a month, and has used. */
export const quotaState = {
  month: v.month,
  limit: described(v.count, "Accepted requests that the workspace has a month, today"),
  used: described(v.count, "Accepted requests: reads and submits"),
  remaining: described(v.count, "What is left of the limit"),
  reads: described(v.count, "Prompts served"),
  submits: described(v.count, "Records stored"),
  resetTime: described(v.seconds, "When the month ends, in Unix seconds"),
};
export const QuotaState = named("QuotaState", exactly(quotaState));
export type QuotaState = Infer<typeof QuotaState>;
