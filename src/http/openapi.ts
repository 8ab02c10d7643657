// The description of the whole service, OpenAPI 3.1, made from what routes and checks it.
import { operations } from "../operations/operations.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { DiagnosisRequest, DiagnosisResponse, QuotaState, ServedPrompt } from "../schema/serving.ts";
import { exactly, refer, schemaOf } from "../schema/struct.ts";
import { adminPath, pathMembers } from "./admin.ts";
import { answer, componentsWith, json, parameter, parameterNamed } from "./openapi-components.ts";
import { rateLimitHeaders, refusalsOf, securedBy, tags } from "./openapi-components.ts";
import type { HeaderName, Part } from "./openapi-components.ts";
import { statusOf } from "./respond.ts";

/** A method of a path. */
type Described = Part & { path: string; method: string; operationId: string; summary: string; responses: Part };

/** The answer to a read with its body left out. */
const headOf = ({ responses, ...get }: Described, operationId: string): Described => {
  const { content: _, ...ok } = responses[statusOf.ok] as Part;
  const summary = `${get.summary}: status and headers alone`;
  return { ...get, method: "head", operationId, summary, responses: { ...responses, [statusOf.ok]: ok } };
};

const forApplications = { tags: ["Applications"], security: securedBy("apiKey") };

const readPrompt: Described = {
  ...forApplications,
  path: "/v1/prompts",
  method: "get",
  operationId: "readPrompt",
  summary: "Read the active prompt of a deployment",
  parameters: [parameterNamed("deployId"), parameterNamed("If-None-Match")],
  responses: {
    [statusOf.ok]: answer("The prompt", ["ETag", ...rateLimitHeaders], json(refer(ServedPrompt))),
    [statusOf.not_modified]: answer("The client has the prompt already", ["ETag", ...rateLimitHeaders]),
    ...refusalsOf("invalid", "unauthorized", "not_found", "quota_exhausted", "internal", "overloaded"),
  },
};

const submitDiagnosis: Described = {
  ...forApplications,
  path: "/v1/diagnosis",
  method: "post",
  operationId: "submitDiagnosis",
  summary: "Record what came of a prompt",
  parameters: [parameterNamed("deployId"), parameterNamed("Idempotency-Key")],
  requestBody: { required: true, content: json(refer(DiagnosisRequest)) },
  responses: {
    [statusOf.created]: answer("The record is stored", rateLimitHeaders, json(refer(DiagnosisResponse))),
    ...refusalsOf("invalid", "unauthorized", "not_found", "timeout", "too_large", "key_reused", "quota_exhausted"),
    ...refusalsOf("internal", "overloaded"),
  },
};

const readQuota: Described = {
  ...forApplications,
  path: "/v1/usage",
  method: "get",
  operationId: "readQuota",
  summary: "Read what the key's workspace has used of its quota this month",
  responses: {
    [statusOf.ok]: answer("The quota", [], json(refer(QuotaState))),
    ...refusalsOf("unauthorized", "internal"),
  },
};

const describe: Described = {
  tags: ["Description"],
  security: [],
  path: "/openapi.json",
  method: "get",
  operationId: "describe",
  summary: "Read this description",
  responses: {
    [statusOf.ok]: answer("OpenAPI 3.1", [], json({ type: "object" })),
    ...refusalsOf("invalid"),
  },
};

/** What an id in the path of an operation names, by what stands before it. */
const nouns: Record<string, string> = {
  workspaces: "workspace",
  keys: "key",
  prompts: "prompt",
  deployments: "deployment",
  diagnoses: "record",
};

function pathParameter({ path, input: { schema } }: AnyOperation, name: string): Part {
  const [, before = ""] = new RegExp(`(\\w+)/{${name}}`).exec(path) ?? [];
  return parameter(name, "path", schema[name]!, `The id of the ${nouns[before]}`);
}

function manage(operation: AnyOperation): Described {
  const { id, tag, summary, method, path, input: { schema }, refusals } = operation;
  const inPath = pathMembers(operation);
  const elsewhere = [...inPath, "ifRevision"];
  const members = Object.entries(schema).filter(([name]) => !elsewhere.includes(name));
  const hasBody = method === "POST" || method === "PATCH";
  return {
    tags: [tag],
    security: securedBy("adminToken"),
    path: adminPath + path,
    method: method.toLowerCase(),
    operationId: id,
    summary,
    parameters: [
      ...inPath.map((name) => pathParameter(operation, name)),
      ...(hasBody ? [] : members.map(([name, struct]) => parameter(name, "query", struct))),
      ...("ifRevision" in schema ? [parameterNamed("If-Match")] : []),
    ],
    ...(hasBody && members.length > 0 ? { requestBody: bodyOf(Object.fromEntries(members)) } : {}),
    responses: {
      ...successesOf(operation),
      ...refusalsOf("invalid", "unauthorized", ...refusals, "internal"),
      ...(hasBody ? refusalsOf("timeout", "too_large") : {}),
    },
  };
}

function bodyOf(members: AnyOperation["input"]["schema"]): Part {
  const schema = schemaOf(exactly(members));
  return { required: "required" in schema, content: json(schema) };
}

/** What is made has a place of its own; where it may be there already, the answer tells by its status. */
function successesOf({ id, method, output, locate }: AnyOperation): Part {
  const { type, properties = {} } = schemaOf(output);
  const headers: HeaderName[] = "revision" in (properties as object) ? ["ETag"] : [];
  const content = type === "string" ? exported : json(refer(output));
  const made = answer("It is made", ["Location", ...headers], content);
  if (locate !== undefined && id.startsWith("create")) return { [statusOf.created]: made };
  const done = method === "GET" ? "What was asked for" : "It is done";
  if (locate === undefined) return { [statusOf.ok]: answer(done, headers, content) };
  return { [statusOf.created]: made, [statusOf.ok]: answer("It was there already", headers, content) };
}

const exported: Part = {
  "application/x-ndjson": { schema: { type: "string", description: "A Diagnosis per line" } },
  "text/csv": { schema: { type: "string", description: "A line of column names, and one per record" } },
};

/** Puts the methods of a path together. */
function pathsOf(all: Described[]): Part {
  const paths = new Map<string, Part>();
  for (const { path, method, ...more } of all) paths.set(path, { ...paths.get(path), [method]: more });
  return Object.fromEntries(paths);
}

export const openapi = {
  openapi: "3.1.0",
  info: {
    title: "promptledger",
    version: "1.0.0",
    description:
      "Serves the active prompt of a deployment, records what came of it, and keeps an exact ledger of both.\n\n" +
      'Whatever is refused is answered with `{"error": "…"}`, which says why. Another path than those described is ' +
      `answered with ${statusOf.not_found}, another method with ${statusOf.method_not_allowed} and \`Allow\`. Times are ` +
      "Unix milliseconds unless seconds are told of.",
    license: { name: "MIT", identifier: "MIT" },
  },
  // Relative to where this is read, since the service may be mounted under a path that it knows nothing of.
  servers: [{ url: ".", description: "The service that gave this description" }],
  tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
  paths: pathsOf([
    readPrompt,
    headOf(readPrompt, "probePrompt"),
    { ...submitDiagnosis, path: readPrompt.path, operationId: "submitDiagnosisToPrompts" },
    submitDiagnosis,
    readQuota,
    headOf(readQuota, "probeQuota"),
    describe,
    headOf(describe, "probeDescription"),
    ...operations.map(manage),
  ]),
  components: componentsWith([
    ...[ServedPrompt, DiagnosisRequest, DiagnosisResponse, QuotaState],
    ...operations.flatMap(({ input, output }) => [input, output]),
  ]),
};
