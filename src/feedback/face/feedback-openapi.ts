// Describes feedback in OpenAPI.
import * as errors from "../../common/errors.ts";
import type { ErrorKind } from "../../common/errors.ts";
import {
  FeedbackAnswer,
  feedbackAuthor,
  FeedbackBatch,
  FeedbackItem,
  feedbackName,
  FeedbackRequest,
  FeedbackResults,
  recordReference,
} from "../../schema/feedback.ts";
import { CodedError, MaybeCodedError } from "../../schema/serving.ts";
import { described, option, refer } from "../../schema/struct.ts";
import type { Described, FaceDescription, Part } from "../../http/face.ts";
import {
  answer,
  describeRefusals,
  json,
  parameter,
  refusedAnywhere,
  securedBy,
} from "../../faces/openapi-components.ts";
import type { RefusedKind } from "../../faces/openapi-components.ts";
import { statusOf } from "../../http/respond.ts";

/** The patterns of the routes. */
export const feedbackPaths = { many: "/v1/feedback", one: "/v1/diagnosis/:id/feedback/:name" };

const refused = {
  invalid: {
    when: "The path, a header or the body is invalid. The message names a field by its path",
    as: [
      errors.missingField("value"),
      errors.feedbackUndeclared("thumb"),
      errors.feedbackNotAllowed("score", "from 0 to 1"),
    ],
  },
  unauthorized: {
    when: "The API key or the token is missing, invalid or expired",
    as: [
      errors.missingAuthorization(),
      errors.invalidApiKey(),
      errors.invalidFeedbackToken(),
      errors.feedbackTokenExpired(),
    ],
    headers: ["WWW-Authenticate"],
  },
  forbidden: {
    when: "The key may not give feedback, or the token is for another record, name or author",
    as: [errors.feedbackForbidden(), errors.feedbackTokenForOthers("this record")],
  },
  not_found: { when: "The workspace has no such record", as: [errors.notFound("Record", "diag_01m7")] },
  conflict: {
    when: "The name has values of another kind, or there is too much feedback on the record",
    as: [errors.feedbackKindDiffers("thumb", "boolean"), errors.feedbackFull(50, "names of feedback on a record")],
  },
  rate_limited: {
    when: "The workspace gives too much feedback at once",
    as: [errors.tooMuchFeedback(), errors.tooMuchWaits()],
    headers: ["Retry-After"],
  },
  ...refusedAnywhere,
  too_large: { when: "The body is too large", as: [errors.bodyTooLarge(65_536)] },
  unavailable: {
    when: "The database is busy or unreachable, or the service is stopping or overloaded",
    as: [
      errors.databaseBusy(),
      errors.databaseAway(),
      errors.stopping(),
      errors.overloaded(),
      errors.searchesOverloaded(),
    ],
    headers: ["Retry-After"],
    struct: MaybeCodedError,
  },
} satisfies Partial<Record<ErrorKind, RefusedKind>>;

const { responses, refusalsOf } = describeRefusals(refused, CodedError, { prefix: "feedback_", hasCode: true });
const ofAny = ["invalid", "unauthorized", "forbidden", "rate_limited", "internal", "unavailable"] as const;
const withBody = ["timeout", "too_large", "unsupported"] as const;

const common = { tags: ["Feedback"], security: securedBy("apiKey") };
const body = (struct: object, value: object): Part => ({
  required: true,
  content: json(refer(struct), { feedback: { value } }),
});

const stored = (whole: object, about: string, ...kinds: (keyof typeof refused)[]): Part => ({
  [statusOf.ok]: answer(about, [], json(refer(whole))),
  ...refusalsOf(...ofAny, ...kinds),
});

const onOne = {
  ...common,
  path: feedbackPaths.one.replace(/:(\w+)/g, "{$1}"),
};
const inPath = [
  parameter("id", "path", described(recordReference, "The record's id, or the Idempotency-Key that it is sent under")),
  parameter("name", "path", described(feedbackName, "The name of the feedback")),
];
const waits = "`recordId` is null while it waits for its record";

const methods: Described[] = [
  {
    ...onOne,
    method: "put",
    operationId: "giveFeedback",
    summary: "Give feedback on a record, or replace what the author gave under that name. It costs no quota",
    parameters: inPath,
    requestBody: body(FeedbackRequest, { value: true, comment: "It knew the answer" }),
    responses: stored(FeedbackAnswer, `It is stored. ${waits}`, "not_found", "conflict", ...withBody),
  },
  {
    ...onOne,
    method: "delete",
    operationId: "withdrawFeedback",
    summary: "Withdraw feedback",
    parameters: [...inPath, parameter("author", "query", option(feedbackAuthor, "Whose feedback"))],
    responses: stored(FeedbackAnswer, "There is no such feedback any more", "not_found"),
  },
  {
    ...common,
    path: feedbackPaths.many,
    method: "post",
    operationId: "giveFeedbackOnMany",
    summary: "Give many pieces of feedback. Each is stored or refused as if it came alone",
    requestBody: body(FeedbackBatch, {
      feedback: [
        { record: "4bf92f35", name: "correctness", value: 0.8, source: "program", author: "judge-2" },
        { sessionId: "order-4711", deployId: "support/assistant@production", name: "thumb", value: true },
      ],
    }),
    responses: stored(FeedbackResults, "The result of each piece, in order", ...withBody),
  },
];

export const describeFeedback = (): FaceDescription => ({
  tags: { Feedback: "What people and programs thought of records. It uses no quota." },
  methods,
  structs: [FeedbackRequest, FeedbackAnswer, FeedbackBatch, FeedbackItem, FeedbackResults, CodedError, MaybeCodedError],
  responses,
});
