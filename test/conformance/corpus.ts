// Generated requests of applications as they go over the wire. All are HTTP, whatever they ask for.
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { goodBody } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { authorization, deepOrTooDeep, headerText, method, object, path, queryText, wrongBody } from "./malformed.ts";
import type { Message } from "./exchange.ts";

/** A request in parts; header lines are latin1, as bytes are. */
export type Head = { method: string; target: string; headers: string[]; body?: string | Uint8Array };

/** The bytes of a request; those of its body follow in one piece unless the headers say otherwise. */
export function toMessage({ method, target, headers, body }: Head): Message {
  const bytes = Buffer.from(body ?? "");
  const isChunked = headers.some((line) => /^transfer-encoding/i.test(line));
  const framing = body === undefined || isChunked ? [] : [`Content-Length: ${bytes.length}`];
  const lines = [`${method} ${target} HTTP/1.1`, "Host: ledger.test", ...framing, ...headers, "", ""];
  return { bytes: Buffer.concat([Buffer.from(lines.join("\r\n"), "latin1"), bytes]), isHead: method === "HEAD" };
}

/** A body of a submit; `properties` are its additional_properties as they must come back, space for space. */
export type SubmitBody = { body: string | Uint8Array; properties?: string };

/** Bodies of submits, of which every fifth holds arbitrary properties. */
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

// This one may not stand in a header.
const withoutDelete = (text: string) => text.replaceAll("\x7f", "");

/** What may stand in a header. */
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

export type Asking = Head & {
  /** Everything it needs to be accepted is there. */
  isSound: boolean;
  /** Its quota is used. */
  isExhausted: boolean;
};

/** Requests for a tenant's prompt and submits to it, with something wrong in most of them. */
export const heads = (sound: Tenant, exhausted: Tenant): fc.Arbitrary<Asking> =>
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
    const asking = { method, target, isSound, isExhausted: tenant === exhausted };
    const lines = [...keys.map((key) => `Authorization: ${key}`), ...headers];
    if (method !== "POST") return { ...asking, headers: lines };
    const body = JSON.stringify({ ...goodBody, sessionId: `session-${number}` });
    if (chunks === undefined) return { ...asking, headers: lines, body };
    return { ...asking, headers: [...lines, "Transfer-Encoding: chunked"], body: inChunks(body, chunks) };
  });

export const mostly = <T>(usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 3, arbitrary: usual }, { weight: 1, arbitrary: other });

export const seldom = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 7, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

/** As a URL has them: what cannot stand there is encoded. */
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
