// Describes the whole service in OpenAPI 3.1, from the schemas that check its requests. A face.
import { DiagnosisResponse, DiagnosisResults, QuotaState, Revisions, ServedPrompt } from "../schema/serving.ts";
import { DiagnosisBatch, DiagnosisItem, DiagnosisRequest } from "../schema/submit-schemas.ts";
import { object, oneOf, option, predicate, refer, schemaOf } from "../schema/struct.ts";
import { text } from "../schema/values.ts";
import { overloaded } from "../common/errors.ts";
import { version } from "../common/version.ts";
import { answer, componentsWith, json, parameterNamed } from "./openapi-components.ts";
import { rateLimitHeaders, refusalsOf, securedBy, tags } from "./openapi-components.ts";
import { openApiPath } from "../http/face.ts";
import type { Described, Face, Part } from "../http/face.ts";
import { okText, refuse, statusOf } from "../http/respond.ts";
import { addReads, createRouter, routeOf } from "../http/router.ts";
import { checkBeside, checkOptions } from "../http/settings.ts";
import type { NoOptions } from "../http/settings.ts";

/** A GET, and the HEAD of its path, which has no body. */
function readsOf(headId: string, { success, refused, ...get }: Read): Described[] {
  const { content: _, ...ok } = success, refusals = refusalsOf(...refused);
  const responses = { [statusOf.ok]: success, ...get.responses, ...refusals };
  const summary = `${get.summary}: status and headers only`;
  return [
    { ...get, method: "get", responses },
    { ...get, method: "head", operationId: headId, summary, responses: { ...responses, [statusOf.ok]: ok } },
  ];
}

/** A GET with its response on success, and its refusals. */
type Read = Part & {
  path: string;
  operationId: string;
  summary: string;
  success: Part;
  responses?: Part;
  refused: Parameters<typeof refusalsOf>;
};

const forApplications = { tags: ["Applications"], security: securedBy("apiKey") };
const forAll = (tag: keyof typeof tags) => ({ tags: [tag], security: [] });

const promptPath = "/v1/prompts";
const readPrompt = readsOf("probePrompt", {
  ...forApplications,
  path: promptPath,
  operationId: "readPrompt",
  summary: "Read the active prompt of a deployment",
  parameters: (["deployId", "key", "If-None-Match", "Accept-Rollout"] as const).map(parameterNamed),
  success: answer("The prompt", ["ETag", ...rateLimitHeaders], json(refer(ServedPrompt))),
  responses: {
    [statusOf.not_modified]: answer("The client's copy is current", ["ETag", ...rateLimitHeaders]),
  },
  refused: ["invalid", "unauthorized", "forbidden", "not_found", "quota_exhausted", "internal", "overloaded"],
});

const record = {
  sessionId: "order-4711",
  status: 1,
  content: { input: "Where is it?", output: "Here." },
  latency: 840,
  additional_properties: { trace_id: "4bf92f35", token_usage: { prompt_tokens: 52, completion_tokens: 4 } },
};
const records = [{ deployId: "support/assistant@production", idempotencyKey: "4bf92f35", ...record }];

/** A body with an example. Examples are here because schemas belong to the core. */
const bodyOf = (struct: object, value: object): Part => ({
  required: true,
  content: json(refer(struct), { record: { value } }),
});

const submitDiagnosis: Described = {
  ...forApplications,
  path: "/v1/diagnosis",
  method: "post",
  operationId: "submitDiagnosis",
  summary: "Submit a record of what a model answered to a prompt",
  parameters: (["deployId", "Idempotency-Key"] as const).map(parameterNamed),
  requestBody: bodyOf(DiagnosisRequest, record),
  responses: {
    [statusOf.created]: answer("The record is stored", rateLimitHeaders, json(refer(DiagnosisResponse))),
    ...refusalsOf(
      "invalid",
      "unauthorized",
      "forbidden",
      "not_found",
      "timeout",
      "too_large",
      "unsupported",
      "key_reused",
    ),
    ...refusalsOf("quota_exhausted", "internal", "overloaded"),
  },
};

const submitDiagnoses: Described = {
  ...forApplications,
  path: "/v1/diagnoses",
  method: "post",
  operationId: "submitDiagnoses",
  summary: "Submit many records at once. Each is accepted or refused, and counted, as if it came alone, in order",
  requestBody: bodyOf(DiagnosisBatch, { records }),
  responses: {
    [statusOf.ok]: answer(
      "The result of each record, in order. The headers are those after the last one",
      rateLimitHeaders,
      json(refer(DiagnosisResults)),
    ),
    ...refusalsOf("invalid", "unauthorized", "timeout", "too_large", "unsupported", "internal", "overloaded"),
  },
};

const readRevisions = readsOf("probeRevisions", {
  ...forApplications,
  path: "/v1/revisions",
  operationId: "readRevisions",
  summary: "Read which version of each deployment is live, at no cost, to read a prompt only when it has changed",
  parameters: [parameterNamed("If-None-Match")],
  success: answer("The deployments of the key's workspace", ["ETag"], json(refer(Revisions))),
  responses: { [statusOf.not_modified]: answer("Nothing has changed", ["ETag"]) },
  refused: ["unauthorized", "forbidden", "internal", "overloaded"],
});

const readQuota = readsOf("probeQuota", {
  ...forApplications,
  path: "/v1/usage",
  operationId: "readQuota",
  summary: "Read the quota of the key's workspace and its use this month, at no cost",
  success: answer("The quota", [], json(refer(QuotaState))),
  refused: ["unauthorized", "internal", "overloaded"],
});

const status = oneOf("ok");
const commit = predicate("12 hexadecimal digits", () => true, { type: "string", pattern: "^[0-9a-f]{12}$" });
const healthy = object({ status, version: text, commit: option(commit, "The commit of the build, if it is known") });

const readRoot = readsOf("probeRoot", {
  ...forAll("Description"),
  path: "/",
  operationId: "readRoot",
  summary: "Read the name and version of the service, and the link to its description",
  success: answer("JSON, or a page where `Accept` asks for HTML", [], {
    ...json(schemaOf(object({ name: text, version: text, description: text, openapi: text }))),
    "text/html": { schema: { type: "string" } },
  }),
  refused: ["invalid"],
});

// Anyone may request the description and not read it, and each such response costs memory.
const maxInFlight = 1_000; // requests, beyond which it is refused

const describe = readsOf("probeDescription", {
  ...forAll("Description"),
  path: openApiPath,
  operationId: "describe",
  summary: "Read this description",
  success: answer("OpenAPI 3.1", [], json({ type: "object" })),
  refused: ["invalid", "overloaded"],
});

const checkHealth = readsOf("probeHealth", {
  ...forAll("Health"),
  path: "/healthz",
  operationId: "checkHealth",
  summary: "Check that the process answers",
  success: answer("It answers, and says what it runs", [], json(schemaOf(healthy))),
  refused: ["invalid"],
});

const checkReadiness = readsOf("probeReadiness", {
  ...forAll("Health"),
  path: "/readyz",
  operationId: "checkReadiness",
  summary: "Check that the service is ready for requests",
  success: answer("It is ready", [], json(schemaOf(object({ status })))),
  refused: ["invalid", "unavailable"],
});

const readMetrics = readsOf("probeMetrics", {
  ...forAll("Health"),
  security: securedBy("adminToken"),
  path: "/metrics",
  operationId: "readMetrics",
  summary: "Read the metrics, in the text format of Prometheus",
  success: answer("The metrics", [], { "text/plain": { schema: { type: "string" } } }),
  refused: ["invalid", "unauthorized"],
});

/** Groups methods by path. */
function pathsOf(all: Described[]): Part {
  const paths = new Map<string, Part>();
  for (const { path, method, ...more } of all) paths.set(path, { ...paths.get(path), [method]: more });
  return Object.fromEntries(paths);
}

type OpenApiFace = Face & { readonly name: "openapi()" };

/**
 * OpenAPI description of the service that has this face, at `/openapi.json`.
 *
 * @example
 * const service = createService({ database: "file:ledger.db", faces: [openapi()] });
 */
export function openapi(options: NoOptions = {}): OpenApiFace {
  checkOptions("openapi", options, {});
  return face;
}

const face: OpenApiFace = {
  path: openApiPath,
  name: "openapi()",
  secrets: [],
  mount(basePath, faces) {
    checkBeside(face, faces);
    const bytesOf = new WeakMap<readonly Face[], Uint8Array>();
    return ({ faces, hasMetrics }) => {
      const router = createRouter(basePath);
      addReads(router, {
        // deno-lint-ignore require-await -- a handler returns a promise
        [openApiPath]: async (_, { inFlight }) => {
          if (inFlight.count() > maxInFlight) return refuse(overloaded());
          const bytes = bytesOf.get(faces) ??
            new TextEncoder().encode(JSON.stringify(describeService(faces, hasMetrics)));
          bytesOf.set(faces, bytes);
          return okText(bytes, {});
        },
      });
      return routeOf(router);
    };
  },
  describe: () => ({ tags: {}, methods: describe, structs: [], responses: {} }),
};

/** Describes a service, with its faces. */
function describeService(faces: readonly Face[], hasMetrics: boolean) {
  const described = faces.map((face) => face.describe());
  const allTags = Object.assign({}, tags, ...described.map(({ tags }) => tags)) as Record<string, string>;
  return {
    openapi: "3.1.0",
    info: {
      title: "promptledger",
      version,
      description:
        "Serves the active prompt of a deployment, records the outcome, and keeps an exact ledger of both.\n\n" +
        'A refused request gets `{"error": "…"}`, which says what is wrong. An unknown path gets ' +
        `${statusOf.not_found}, an unknown method ${statusOf.method_not_allowed} and \`Allow\`. Times are Unix milliseconds ` +
        "unless stated otherwise. The log line of a request has its `X-Request-Id` and the ids of its `traceparent`.",
      license: { name: "MIT", identifier: "MIT" },
    },
    // Relative to the URL of this description, because the service may be mounted under a path that it does not know.
    servers: [{ url: ".", description: "The service that returned this description" }],
    tags: Object.entries(allTags).map(([name, description]) => ({ name, description })),
    paths: pathsOf([
      ...readPrompt,
      { ...submitDiagnosis, path: promptPath, operationId: "submitDiagnosisToPrompts" },
      submitDiagnosis,
      submitDiagnoses,
      ...[readRevisions, readQuota, readRoot, checkHealth, checkReadiness, hasMetrics ? readMetrics : []].flat(),
      ...described.flatMap(({ methods }) => methods),
    ]),
    webhooks: Object.assign({}, ...described.map(({ webhooks }) => webhooks)) as Part,
    components: componentsWith(
      [
        ...[ServedPrompt, DiagnosisRequest, DiagnosisResponse, DiagnosisBatch, DiagnosisItem, DiagnosisResults],
        ...[Revisions, QuotaState],
        ...described.flatMap(({ structs }) => structs),
      ],
      Object.assign({}, ...described.map(({ responses }) => responses)) as Part,
    ),
  };
}
