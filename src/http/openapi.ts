// Describes the whole service in OpenAPI 3.1, from the schemas that check its requests. A face.
import { DiagnosisResponse, DiagnosisResults, QuotaState, Revisions, ServedPrompt } from "../schema/serving.ts";
import { DiagnosisBatch, DiagnosisItem, DiagnosisRequest } from "../schema/submit-schemas.ts";
import { refer } from "../schema/struct.ts";
import { overloaded } from "../common/errors.ts";
import { version } from "../common/version.ts";
import { answer, componentsWith, json, parameterNamed } from "./openapi-components.ts";
import { rateLimitHeaders, refusalsOf, securedBy, tags } from "./openapi-components.ts";
import type { Described, Part } from "./openapi-components.ts";
import { openApiPath } from "./face.ts";
import type { Face } from "./face.ts";
import { okText, refuse, statusOf } from "./respond.ts";
import { addReads, createRouter, routeOf } from "./router.ts";
import { checkBeside, checkOptions } from "./settings.ts";
import type { NoOptions } from "./settings.ts";

/** The HEAD method of a path, from its GET method. */
const headOf = ({ responses, ...get }: Described, operationId: string): Described => {
  const { content: _, ...ok } = responses[statusOf.ok] as Part;
  const summary = `${get.summary}: status and headers only`;
  return { ...get, method: "head", operationId, summary, responses: { ...responses, [statusOf.ok]: ok } };
};

const forApplications = { tags: ["Applications"], security: securedBy("apiKey") };

const readPrompt: Described = {
  ...forApplications,
  path: "/v1/prompts",
  method: "get",
  operationId: "readPrompt",
  summary: "Read the active prompt of a deployment",
  parameters: [
    parameterNamed("deployId"),
    parameterNamed("key"),
    parameterNamed("If-None-Match"),
    parameterNamed("Accept-Rollout"),
  ],
  responses: {
    [statusOf.ok]: answer("The prompt", ["ETag", ...rateLimitHeaders], json(refer(ServedPrompt))),
    [statusOf.not_modified]: answer("The client's copy is current", ["ETag", ...rateLimitHeaders]),
    ...refusalsOf("invalid", "unauthorized", "forbidden", "not_found", "quota_exhausted", "internal", "overloaded"),
  },
};

const record = {
  sessionId: "order-4711",
  status: 1,
  content: { input: "Where is it?", output: "Here." },
  latency: 840,
  additional_properties: { trace_id: "4bf92f35", token_usage: { prompt_tokens: 52, completion_tokens: 4 } },
};
const records = [{ deployId: "support/assistant@production", idempotencyKey: "4bf92f35", ...record }];

/** A body with an example. Examples are here, because the core has the schemas. */
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
  parameters: [parameterNamed("deployId"), parameterNamed("Idempotency-Key")],
  requestBody: bodyOf(DiagnosisRequest, record),
  responses: {
    [statusOf.created]: answer("The record is stored", rateLimitHeaders, json(refer(DiagnosisResponse))),
    ...refusalsOf("invalid", "unauthorized", "forbidden", "not_found", "timeout", "too_large", "key_reused"),
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
    ...refusalsOf("invalid", "unauthorized", "timeout", "too_large", "internal", "overloaded"),
  },
};

const readRevisions: Described = {
  ...forApplications,
  path: "/v1/revisions",
  method: "get",
  operationId: "readRevisions",
  summary: "Read which version of each deployment is live, at no cost, to read a prompt only when it has changed",
  parameters: [parameterNamed("If-None-Match")],
  responses: {
    [statusOf.ok]: answer("The deployments of the key's workspace", ["ETag"], json(refer(Revisions))),
    [statusOf.not_modified]: answer("Nothing has changed", ["ETag"]),
    ...refusalsOf("unauthorized", "forbidden", "internal", "overloaded"),
  },
};

const readQuota: Described = {
  ...forApplications,
  path: "/v1/usage",
  method: "get",
  operationId: "readQuota",
  summary: "Read the quota of the key's workspace and its use this month, at no cost",
  responses: {
    [statusOf.ok]: answer("The quota", [], json(refer(QuotaState))),
    ...refusalsOf("unauthorized", "internal", "overloaded"),
  },
};

const status = { const: "ok" } as const;
const fine = { type: "object", required: ["status"], properties: { status } } as const;
const healthy = {
  type: "object",
  required: ["status", "version"],
  properties: {
    status,
    version: { type: "string" },
    commit: { type: "string", description: "The commit of the build, if it is known", pattern: "^[0-9a-f]{12}$" },
  },
} as const;

const rootMembers = ["name", "version", "description", "openapi"];
const root = {
  type: "object",
  required: rootMembers,
  properties: Object.fromEntries(rootMembers.map((name) => [name, { type: "string" }])),
} as const;

const readRoot: Described = {
  tags: ["Description"],
  security: [],
  path: "/",
  method: "get",
  operationId: "readRoot",
  summary: "Read the name and version of the service, and the link to its description",
  responses: {
    [statusOf.ok]: answer("JSON, or a page where `Accept` asks for HTML", [], {
      ...json(root),
      "text/html": { schema: { type: "string" } },
    }),
    ...refusalsOf("invalid"),
  },
};

// Strangers may ask for the description and not read it, and each such response costs memory.
const maxInFlight = 1_000; // requests, beyond which it is refused

const describe: Described = {
  tags: ["Description"],
  security: [],
  path: openApiPath,
  method: "get",
  operationId: "describe",
  summary: "Read this description",
  responses: {
    [statusOf.ok]: answer("OpenAPI 3.1", [], json({ type: "object" })),
    ...refusalsOf("invalid", "overloaded"),
  },
};

const checkHealth: Described = {
  tags: ["Health"],
  security: [],
  path: "/healthz",
  method: "get",
  operationId: "checkHealth",
  summary: "Check that the process answers",
  responses: {
    [statusOf.ok]: answer("It answers, and says what it runs", [], json(healthy)),
    ...refusalsOf("invalid"),
  },
};

const checkReadiness: Described = {
  ...checkHealth,
  path: "/readyz",
  operationId: "checkReadiness",
  summary: "Check that the service is ready for requests",
  responses: {
    [statusOf.ok]: answer("It is ready", [], json(fine)),
    ...refusalsOf("invalid", "unavailable"),
  },
};

const readMetrics: Described = {
  ...checkHealth,
  security: securedBy("adminToken"),
  path: "/metrics",
  operationId: "readMetrics",
  summary: "Read the metrics, in the text format of Prometheus",
  responses: {
    [statusOf.ok]: answer("The metrics", [], { "text/plain": { schema: { type: "string" } } }),
    ...refusalsOf("invalid", "unauthorized"),
  },
};

/** Groups methods by path. */
function pathsOf(all: Described[]): Part {
  const paths = new Map<string, Part>();
  for (const { path, method, ...more } of all) paths.set(path, { ...paths.get(path), [method]: more });
  return Object.fromEntries(paths);
}

type OpenApiFace = Face & { readonly name: "openapi()" };

/**
 * The description of the service that it is handed to, at `/openapi.json`.
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
  describe: () => ({ tags: {}, methods: [describe, headOf(describe, "probeDescription")], structs: [], responses: {} }),
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
      readPrompt,
      headOf(readPrompt, "probePrompt"),
      { ...submitDiagnosis, path: readPrompt.path, operationId: "submitDiagnosisToPrompts" },
      submitDiagnosis,
      submitDiagnoses,
      readRevisions,
      headOf(readRevisions, "probeRevisions"),
      readQuota,
      headOf(readQuota, "probeQuota"),
      readRoot,
      headOf(readRoot, "probeRoot"),
      checkHealth,
      headOf(checkHealth, "probeHealth"),
      checkReadiness,
      headOf(checkReadiness, "probeReadiness"),
      ...(hasMetrics ? [readMetrics, headOf(readMetrics, "probeMetrics")] : []),
      ...described.flatMap(({ methods }) => methods),
    ]),
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
