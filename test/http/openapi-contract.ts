// An OpenAPI document as a contract: makes requests as it describes them, and checks answers against it. Ajv checks its
// schemas, independently of the structs that the service checks with.
import { Ajv2020 } from "ajv/dist/2020.js";
import * as assert from "uvu/assert";
import type { Answer } from "../helpers.ts";

type Schema = Record<string, unknown>;
type Parameter = {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  description: string;
  schema: Schema;
};
type Content = Record<string, { schema: Schema }>;
type Described = { headers?: Record<string, { required: boolean; schema: Schema }>; content?: Content };
type Operation = {
  operationId: string;
  security: Record<string, unknown>[];
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, Described>;
};

export type OpenApi = {
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
};

/** A request to an operation: values of its parameters by name, and a body, which is sent as JSON. */
export type Sent = {
  path?: Record<string, string>;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: unknown;
  /** The URL that the request claims to have, if it differs from the one it is sent to. */
  url?: string;
};

/** Reads a document from a URL. */
export function readContract(document: OpenApi, foundAt: string) {
  // A schema may require a member that another one describes, as in one of several alternatives.
  const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true });
  const absolute = (part: unknown) =>
    JSON.parse(JSON.stringify(part).replaceAll('"#/components/schemas/', '"openapi#/$defs/'));
  ajv.addSchema({ $id: "openapi", $defs: absolute(document.components.schemas) });
  const checks = new Map<Schema, (value: unknown) => string | undefined>();

  /** Why a value does not fit a schema of the document. Undefined if it does. */
  function faultOf(schema: Schema, value: unknown): string | undefined {
    let check = checks.get(schema);
    if (check === undefined) {
      const validate = ajv.compile(absolute(schema));
      check = (value) => validate(value) ? undefined : ajv.errorsText(validate.errors);
      checks.set(schema, check);
    }
    return check(value);
  }

  /** The part that a reference names. */
  function resolve<T>(part: T): T {
    const { $ref } = part as { $ref?: string };
    if ($ref === undefined) return part;
    return $ref.slice(2).split("/").reduce((found, name) => (found as Schema)[name], document as unknown) as T;
  }

  const base = new URL(document.servers[0]!.url, foundAt).href.replace(/\/$/, "");

  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      ...described,
      path,
      method: method.toUpperCase(),
      parameters: (described.parameters ?? []).map(resolve),
      responses: Object.fromEntries(
        Object.entries(described.responses).map(([status, answer]) => [status, resolve(answer)]),
      ),
    }))
  );
  type Found = typeof operations[number];

  /** Converts a text to the type of a schema. */
  const valueOf = (schema: Schema, text: string): unknown =>
    schema.type === "integer" && /^-?\d+$/.test(text) || schema.type === "number" && /^\d+(\.\d+)?$/.test(text) ||
      schema.type === "boolean" && /^(true|false)$/.test(text)
      ? JSON.parse(text)
      : text;

  /** Fails if the document does not describe a request. */
  function checkSent({ parameters, requestBody }: Found, { path = {}, query = {}, headers = {}, body }: Sent): void {
    const given = { path, query, header: headers };
    const names = parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
    for (const [place, values] of Object.entries(given)) {
      for (const name of Object.keys(values)) {
        assert.ok(names.includes(`${place} ${name}`), `${place} ${name} is unknown`);
      }
    }
    for (const { name, in: place, required, schema } of parameters) {
      const text = given[place][name];
      if (text === undefined) assert.not.ok(required, `${place} ${name} is required`);
      else assert.is(faultOf(schema, valueOf(schema, text)), undefined, `${place} ${name}`);
    }
    if (body === undefined) return assert.not.ok(requestBody?.required, "A body is required");
    assert.ok(requestBody, "There is no body");
    assert.is(faultOf(requestBody.content["application/json"]!.schema, body), undefined);
  }

  function toRequest({ path, method }: Found, { body, ...sent }: Sent, headers: Record<string, string>): Request {
    const filled = path.replace(/{(\w+)}/g, (_, name) => encodeURIComponent(sent.path![name]!));
    const query = sent.query === undefined ? "" : `?${new URLSearchParams(sent.query)}`;
    const request = new Request(`${base}${filled}${query}`, {
      method,
      headers: { ...headers, ...sent.headers, ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      body: body instanceof ReadableStream || body instanceof Uint8Array
        ? body
        : body === undefined
        ? null
        : JSON.stringify(body),
      duplex: "half",
    } as RequestInit);
    return sent.url === undefined ? request : Object.defineProperty(request, "url", { value: sent.url });
  }

  /** The paths of the members that a schema describes. With values, only those that one of the values has. */
  function* membersOf(schema: Schema, where: string, values?: unknown[]): Generator<string> {
    const { properties = {}, items } = resolve(schema) as { properties?: Record<string, Schema>; items?: Schema };
    for (const [name, member] of Object.entries({ ...properties, ...(items === undefined ? {} : { "[]": items }) })) {
      const found = values?.flatMap((value) =>
        name === "[]" ? value : name in Object(value) ? [(value as Schema)[name]] : []
      );
      if (found?.length === 0) continue;
      yield `${where} ${name}`;
      yield* membersOf(member, `${where} ${name}`, found);
    }
  }

  const seen = new Set<string>();

  /** Described members that no answer to the operation has had. */
  const unseen = ({ operationId, method, responses }: Found): string[] =>
    Object.entries(responses).flatMap(([status, { content }]) => {
      const { schema } = content?.["application/json"] ?? {};
      return method === "HEAD" || schema === undefined ? [] : [...membersOf(schema, `${operationId} ${status}`)];
    }).filter((member) => !seen.has(member));

  /** Fails if the document does not describe an answer. */
  function checkAnswer({ operationId, method, responses }: Found, { status, headers, text, json }: Answer): void {
    const described = responses[status];
    assert.ok(described, `${status} is not described: ${text}`);
    const { content, headers: expected = {} } = described;
    for (const name of Object.keys(document.components.headers!)) {
      assert.is(headers.has(name), expected[name] !== undefined, `header ${name} with ${status}`);
    }
    for (const [name, header] of Object.entries(expected)) {
      const { schema } = resolve(header);
      assert.is(faultOf(schema, valueOf(schema, headers.get(name)!)), undefined, `${name}: ${headers.get(name)}`);
    }
    if (content === undefined || method === "HEAD") return assert.is(text, "");
    const [type] = headers.get("Content-Type")!.split(";");
    assert.ok(content[type!], `${type} is not described`);
    const { schema } = content[type!]!;
    const body = type === "application/json" ? json : text;
    assert.is(faultOf(schema, body), undefined, text);
    for (const member of membersOf(schema, `${operationId} ${status}`, [body])) seen.add(member);
  }

  return { operations, faultOf, checkSent, toRequest, checkAnswer, unseen };
}
