// The responses to applications, and the content of prompts. The core uses only the types, since none of it checks a
// request.
import {
  described,
  eitherOf,
  exactly,
  isObject,
  listOf,
  named,
  object,
  option,
  orNull,
  predicate,
  rawJson,
  schemaOf,
  shape,
} from "./struct.ts";
import type { Infer } from "./struct.ts";
import * as v from "./values.ts";

/** The outcome of each record, in the order of the request. */
export const DiagnosisResults = shape("DiagnosisResults", {
  results: listOf(exactly({
    status: described(v.positive, "The status that a single submit would get: 201, or that of the error"),
    id: option(v.text, "The id of the record, if it is stored"),
    error: option(v.text, "Why it was refused, for people"),
    code: option(v.text, "Why it was refused, for programs"),
  })),
});

/** Live version of each deployment. */
export const Revisions = shape("Revisions", {
  deployments: predicate<Record<string, unknown>>("an object", isObject, {
    type: "object",
    description: "The deployments of the key's workspace by id, except archived ones",
    additionalProperties: schemaOf(exactly({
      reference: described(v.text, "The names of its prompt and its own, as `NAME@DEPLOYMENT`"),
      revision: described(v.positive, "How often it has changed"),
      version: described(v.positive, "The version of the prompt that is live"),
      isActive: described(v.boolean, "Whether it accepts requests"),
      rollout: orNull(
        exactly({
          id: v.text,
          percent: described(v.numeric, "The share of the keys that gets the candidate"),
        }),
        "The rollout in progress, or null",
      ),
    })),
  }),
});

const parts = listOf(v.anyObject);
const MessageContent = predicate<string | Record<string, unknown>[]>(
  "a string or an array of objects",
  (value) => typeof value === "string" || parts.is(value),
  { oneOf: [{ type: "string" }, { type: "array", items: { type: "object" } }] },
);

/** A message of a prompt. Members that are not named here are stored and served too. */
const Message = named(
  "Message",
  described(
    object({
      role: described(v.filledText, "The role of its author, such as system or user"),
      content: described(MessageContent, "A text, or parts in the format of the model's provider"),
    }),
    "A message of a prompt. Further members are stored and served",
  ),
);
export const Messages = rawJson(described(listOf(Message), "In the order in which the model gets them"));
export type Messages = Infer<typeof Messages>;
export const LlmConfig = rawJson(
  described(
    v.anyObject,
    "Any JSON object, stored as sent. By convention it has provider, model, temperature and so on",
  ),
);
export type LlmConfig = Infer<typeof LlmConfig>;

export const DiagnosisResponse = shape("DiagnosisResponse", {
  id: described(v.text, "The id of the record"),
  status: predicate<"success">("success", (value) => value === "success", { const: "success" }),
  message: v.text,
});

const served = {
  id: v.text,
  title: v.text,
  description: v.text,
  messages: Messages,
  deploy: exactly({
    id: v.text,
    name: v.text,
    currentVersion: described(v.positive, "The version of the prompt that is served"),
    isActive: described(v.boolean, "Always true: no other deployment is served"),
  }),
  workspace: exactly({ id: v.text, name: v.text }),
  llmConfig: LlmConfig,
};

/** An active rollout, for a client that picks a version for each call. */
export const ServedRollout = shape("ServedRollout", {
  id: described(v.text, "The id of the rollout, to be sent as `rollout` with records"),
  version: described(v.positive, "The candidate"),
  percent: described(v.numeric, "The share of the keys that gets the candidate, in steps of 0.1 %"),
  salt: described(
    v.text,
    "A key gets the candidate if the first 48 bits of SHA-256 over `DEPLOYMENT.SALT.KEY`, as an integer, are less than " +
      "2^48 * percent / 100",
  ),
  prompt: described(exactly(served), "The candidate, with the members of the prompt"),
});

/** The rollout, where the service picked a version by a key. */
const pickedRollout = exactly({
  id: described(v.text, "The id of the rollout, to be sent as `rollout` with records"),
  isCandidate: described(v.boolean, "Whether the prompt is the candidate and not the live version"),
});

export const ServedPrompt = named(
  "ServedPrompt",
  described(
    exactly({
      ...served,
      rollout: option(
        eitherOf(ServedRollout, pickedRollout),
        "The rollout in progress, if the request has `Accept-Rollout: 1`. With a `key` instead, whether the candidate was picked",
      ),
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
        llmConfig: { provider: "openai", model: "gpt-6-luna", reasoning_effort: "low" },
      }],
    },
  ),
);

const error = described(v.text, "Why the request was refused, for people");

export const ErrorResponse = shape("ErrorResponse", { error });

/** Response of a face to a refused request. */
export const CodedError = shape("ManagementError", {
  error,
  code: described(v.text, "Why, for programs, such as deployment_not_found"),
  field: option(v.text, "The path of the member of the input at fault, if there is one, such as messages[0].role"),
  expected: option(v.text, "The values that it may have, such as an integer"),
});

/** Response where a face may not have been reached. */
export const MaybeCodedError = shape("MaybeCodedError", {
  error,
  code: option(v.text, "Why, for programs. Absent if the service is stopping or overloaded"),
});

export const RateLimitErrorResponse = shape("RateLimitErrorResponse", {
  error,
  details: exactly({
    limit: described(v.count, "The workspace's limit of accepted requests per month"),
    used: described(v.count, "Requests accepted this month"),
    resetTime: described(v.seconds, "When the next month begins, in Unix seconds"),
    upgradeUrl: described(v.webUrl, "Where to get a higher limit, or null"),
  }),
});

/** A workspace's quota, and its use in a month. */
export const quotaState = {
  month: v.month,
  limit: described(v.count, "The workspace's current limit of accepted requests per month"),
  used: described(v.count, "Accepted requests: reads and submits"),
  remaining: described(v.count, "What is left of the limit"),
  reads: described(v.count, "Prompts served"),
  submits: described(v.count, "Records stored"),
  resetTime: described(v.seconds, "When the month ends, in Unix seconds"),
};
export const QuotaState = shape("QuotaState", quotaState);
export type QuotaState = Infer<typeof QuotaState>;
