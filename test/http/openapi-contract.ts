// An OpenAPI document as a contract: makes requests of what it describes, and holds answers against it. The judge of its
// schemas is Ajv, which knows nothing of the structs that the service checks with.
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
  components: Record<string, Record<string, unknown>>;
};

/** What is asked of an operation: values of its parameters by name, and a body, which is sent as JSON. */
export type Asked = {
  path?: Record<string, string>;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: unknown;
  /** What the request says of its URL, where that is not the one it is sent to. */
  url?: string;
};

/** Reads a document that was found at a URL. */
export function readContract(document: OpenApi, foundAt: string) {
  // A member may be required where it is not described, as in one of several alternatives.
  const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true });
  const absolute = (part: unknown) =>
    JSON.parse(JSON.stringify(part).replaceAll('"#/components/schemas/', '"openapi#/$defs/'));
  ajv.addSchema({ $id: "openapi", $defs: absolute(document.components.schemas) });
  const checks = new Map<Schema, (value: unknown) => string | undefined>();

  /** Why a value does not fit a schema of the document; undefined where it does. */
  function faultOf(schema: Schema, value: unknown): string | undefined {
    let check = checks.get(schema);
    if (check === undefined) {
      const validate = ajv.compile(absolute(schema));
      check = (value) => validate(value) ? undefined : ajv.errorsText(validate.errors);
      checks.set(schema, check);
    }
    return check(value);
  }

  /** What stands where a part refers to. */
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

  /** Text as the value that a schema is for. */
  const valueOf = (schema: Schema, text: string): unknown =>
    schema.type === "integer" && /^-?\d+$/.test(text) || schema.type === "boolean" && /^(true|false)$/.test(text)
      ? JSON.parse(text)
      : text;

  /** Fails where a request is not one that the document describes. */
  function checkAsked({ parameters, requestBody }: Found, { path = {}, query = {}, headers = {}, body }: Asked): void {
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

  function toRequest({ path, method }: Found, { body, ...asked }: Asked, headers: Record<string, string>): Request {
    const filled = path.replace(/{(\w+)}/g, (_, name) => encodeURIComponent(asked.path![name]!));
    const query = asked.query === undefined ? "" : `?${new URLSearchParams(asked.query)}`;
    const request = new Request(`${base}${filled}${query}`, {
      method,
      headers: { ...headers, ...asked.headers, ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      body: body instanceof ReadableStream ? body : body === undefined ? null : JSON.stringify(body),
      duplex: "half",
    } as RequestInit);
    return asked.url === undefined ? request : Object.defineProperty(request, "url", { value: asked.url });
  }

  /** Where the members are that a schema describes; those that one of the values has, where values are given. */
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

  /** Members that are described, and that no answer to the operation has had. */
  const unseen = ({ operationId, method, responses }: Found): string[] =>
    Object.entries(responses).flatMap(([status, { content }]) => {
      const { schema } = content?.["application/json"] ?? {};
      return method === "HEAD" || schema === undefined ? [] : [...membersOf(schema, `${operationId} ${status}`)];
    }).filter((member) => !seen.has(member));

  /** Fails where an answer is not one that the document describes. */
  function checkAnswer({ operationId, method, responses }: Found, { status, headers, text, json }: Answer): void {
    const described = responses[status];
    assert.ok(described, `${status} is not described: ${text}`);
    const { content, headers: told = {} } = described;
    for (const name of Object.keys(document.components.headers!)) {
      assert.is(headers.has(name), told[name] !== undefined, `header ${name} with ${status}`);
    }
    for (const [name, header] of Object.entries(told)) {
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

  return { operations, faultOf, checkAsked, toRequest, checkAnswer, unseen };
}
