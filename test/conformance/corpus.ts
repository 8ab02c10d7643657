// Generates requests of applications as bytes. All are valid HTTP.
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { goodBody } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { authorization, deepOrTooDeep, headerText, method, object, path, queryText, wrongBody } from "./malformed.ts";
import type { Message } from "./exchange.ts";

/** A request in parts. Header lines are latin1. */
export type Head = { method: string; target: string; headers: string[]; body?: string | Uint8Array };

/** Encodes a request. The body has a Content-Length unless the headers say that it is chunked. */
export function toMessage({ method, target, headers, body }: Head): Message {
  const bytes = Buffer.from(body ?? "");
  const isChunked = headers.some((line) => /^transfer-encoding/i.test(line));
  const framing = body === undefined || isChunked ? [] : [`Content-Length: ${bytes.length}`];
  const lines = [`${method} ${target} HTTP/1.1`, "Host: ledger.test", ...framing, ...headers, "", ""];
  return { bytes: Buffer.concat([Buffer.from(lines.join("\r\n"), "latin1"), bytes]), isHead: method === "HEAD" };
}

/** A body of a submit. `properties` are its additional_properties as they must be returned, with their spaces. */
type SubmitBody = { body: string | Uint8Array; properties?: string };

/** Bodies of submits. Every fifth has arbitrary properties. */
export const bodies: fc.Arbitrary<SubmitBody> = fc.oneof(
  { weight: 4, arbitrary: wrongBody.map((body) => ({ body })) },
  {
    weight: 1,
    arbitrary: fc.oneof({ weight: 19, arbitrary: object }, { weight: 1, arbitrary: deepOrTooDeep }).map((sent) => ({
      body: `${JSON.stringify(goodBody).slice(0, -1)},"additional_properties":${sent.text}}`,
      properties: sent.back,
    })),
  },
);

// A header must not contain it.
const withoutDelete = (text: string) => text.replaceAll("\x7f", "");

/** Text that a header may contain. */
export const text = headerText.map(withoutDelete);
const header = fc.oneof(
  fc.tuple(
    fc.constantFrom(
      ...["Content-Type", "Content-Encoding", "If-None-Match", "If-Match", "X-Request-Id", "traceparent", "Cookie"],
      ...["Origin", "Range", "User-Agent", "X-Forwarded-Host", "X-HTTP-Method-Override", "Idempotency-Key"],
    ),
    text,
  ).map(([name, text]) => `${name}: ${text}`),
  fc.constantFrom(
    ...[
      "Content-Encoding: gzip",
      "Content-Type: application/json; charset=utf-16",
      "Content-Type: multipart/form-data",
    ],
    ...["If-None-Match: *", 'If-None-Match: W/"1", "2"', "Expect: 100-continue", "Idempotency-Key: "],
    ...['Idempotency-Key: "', 'Idempotency-Key: "a" "b"', `Idempotency-Key: ${"k".repeat(256)}`],
    ...[`X-Request-Id: ${"r".repeat(129)}`, "traceparent: 00-0-0-00", "Access-Control-Request-Method: POST"],
  ),
);

export type Attempt = Head & {
  /** Whether it has everything that it needs to be accepted. */
  isSound: boolean;
  /** Whether its quota is exhausted. */
  isExhausted: boolean;
};

/** Reads of a tenant's prompt and submits to it, most of them wrong. */
export const heads = (sound: Tenant, exhausted: Tenant): fc.Arbitrary<Attempt> =>
  fc.record({
    tenant: fc.oneof({ weight: 5, arbitrary: fc.constant(sound) }, { weight: 1, arbitrary: fc.constant(exhausted) }),
    method: mostly(fc.constantFrom("GET", "HEAD", "POST"), method),
    path: mostly(fc.constant("/v1/prompts"), path),
    query: mostly(fc.constant(undefined), queries),
    authorizations: mostly(fc.constant(undefined), fc.array(authorization.map(withoutDelete), { maxLength: 2 })),
    headers: fc.array(header, { maxLength: 3 }),
    chunks: seldom(fc.integer({ min: 1, max: 100 })),
    number: fc.nat(),
  }).map(({ tenant, method, path, query, authorizations, headers, chunks, number }) => {
    const target = `${path}?${query ?? `deployId=${tenant.deployId}`}`;
    const keys = authorizations ?? [`Bearer ${tenant.key}`];
    const isRoute = /^\/v1\/prompts\/?$/.test(path) && /^(GET|HEAD|POST)$/.test(method) ||
      path === "/v1/diagnosis" && method === "POST";
    const isSound = isRoute && query === undefined && authorizations === undefined;
    const attempt = { method, target, isSound, isExhausted: tenant === exhausted };
    const lines = [...keys.map((key) => `Authorization: ${key}`), ...headers];
    if (method !== "POST") return { ...attempt, headers: lines };
    const body = JSON.stringify({ ...goodBody, sessionId: `session-${number}` });
    if (chunks === undefined) return { ...attempt, headers: lines, body };
    return { ...attempt, headers: [...lines, "Transfer-Encoding: chunked"], body: inChunks(body, chunks) };
  });

export const mostly = <T>(usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 3, arbitrary: usual }, { weight: 1, arbitrary: other });

export const seldom = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 7, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

/** Queries, percent-encoded as in a URL. */
export const queries = fc.oneof(
  queryText.map((query) => new URL(`http://ledger.test/?${query}`).search.slice(1)),
  fc.constantFrom(
    "",
    "deployId=",
    "deployId=1&deployId=2",
    `deployId=${"d".repeat(129)}`,
    "deployId=%00",
    "%64eployId=1",
  ),
  fc.integer({ min: 1, max: 8_000 }).map((length) => `deployId=${"d".repeat(length)}`),
);

function inChunks(body: string, size: number): string {
  const parts = body.match(new RegExp(`.{1,${size}}`, "gs")) ?? [];
  return [...parts.map((part) => `${part.length.toString(16)};a="b"\r\n${part}\r\n`), "0\r\n\r\n"].join(
    "",
  );
}
